# SPDX-License-Identifier: Apache-2.0
"""Two tenants that use the same names: neither can see or change the other's tasks."""

import json
import unittest

import cluster
from cluster import wait_until

THEIRS = ("--tenant", "theirs")


class Tenants(cluster.ClusterTest):
    """The tenants are `default` and `theirs`; the workers belong to `default`."""

    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def listed(self, *arguments):
        return {task["id"] for task in self.json(*arguments)["tasks"]}

    def bury(self, *tenant):
        task = self.cluster.enqueue("fail", "x", *tenant)
        self.cluster.ctl("force", "fail", task)
        return task

    def test_lists_show_one_tenant(self):
        mine = self.cluster.enqueue("echo", "x", "--delay", "1h")
        theirs = self.cluster.enqueue("echo", "x", "--delay", "1h", *THEIRS)
        my_dead, their_dead = self.bury(), self.bury(*THEIRS)

        self.assertEqual(self.listed("list"), {mine, my_dead})
        self.assertEqual(self.listed("list", *THEIRS), {theirs, their_dead})
        self.assertEqual(self.listed("list", "--queue", "echo", *THEIRS), {theirs})
        self.assertEqual(self.listed("dead", "list"), {my_dead})
        self.assertEqual(self.listed("dead", "list", *THEIRS), {their_dead})
        self.assertEqual(self.listed("list", "--tenant", "nobody"), set())

    def test_name_that_the_default_tenant_lacks_is_refused_with_advice(self):
        self.cluster.enqueue("print", "x", *THEIRS)

        for verb in (("queue", "pause", "print"), ("explain", "--queue", "print")):
            self.assertEqual(
                "codeqctl: unknown_queue: tenant default has no queue `print`; --tenant NAME "
                "chooses another tenant\n", self.cluster.ctl_error(*verb))
        self.assertNotIn("--tenant NAME", self.cluster.ctl_error(
            "queue", "pause", "nosuch", *THEIRS))

    def test_key_of_one_is_unknown_to_the_other(self):
        key = ("--queue", "echo", "--key", "X")
        theirs = self.cluster.enqueue("echo", "x", "--key", "X", "--delay", "1h", *THEIRS)

        for command in ("get", "promote", "cancel"):
            self.cluster.ctl(command, *key, status=1)
        mine = self.json("enqueue", "echo", "y", "--key", "X", "--on-duplicate", "reject",
                         "--delay", "1h")

        self.assertEqual(mine["outcomes"], ["created"])
        self.assertEqual(self.json("get", *key)["id"], mine["ids"][0])
        self.assertEqual(self.json("get", *key, *THEIRS)["id"], theirs)
        self.assertEqual(self.cluster.status(theirs)["state"], "scheduled")

    def test_worker_is_not_given_the_tasks_of_another_tenant(self):
        theirs = [self.cluster.enqueue("echo", "x", "--priority", "9", *THEIRS) for _ in range(8)]
        self.cluster.start_worker("w")
        later = self.cluster.enqueue("echo", "x", "--delay", "1s", *THEIRS)

        # Every shard has a task of the other tenant that a faulty grant would take.
        for number in range(8):
            self.assertEqual(
                self.cluster.result(self.cluster.enqueue("echo", f"{number}")), f"{number}")
        wait_until(lambda: self.cluster.status(later)["state"] == "ready", 10, "it is due")

        self.assertEqual(self.cluster.result(self.cluster.enqueue("echo", "last")), "last")
        for task in (*theirs, later):
            status = self.cluster.status(task)
            self.assertEqual((status["state"], status["attempt"], status["token"]),
                             ("ready", 0, "0"))

    def test_worker_of_a_tenant_runs_its_tasks_only(self):
        self.cluster.start_worker("w", *THEIRS)
        mine = self.cluster.enqueue("echo", "mine")
        theirs = self.cluster.enqueue("echo", "theirs", *THEIRS)

        self.assertEqual(self.cluster.result(theirs), "theirs")

        self.assertEqual(self.cluster.status(mine)["state"], "ready")

    def test_changes_of_many_tasks_are_of_one_tenant(self):
        my_dead, their_dead = self.bury(), self.bury(*THEIRS)
        mine = self.cluster.enqueue("fail", "x", "--delay", "1h")

        self.assertEqual(self.json("dead", "redrive", "--queue", "fail", *THEIRS)["changed"], 1)
        self.assertEqual(self.cluster.status(my_dead)["state"], "dead")
        self.assertEqual(self.json("dead", "purge", "--yes", *THEIRS)["changed"], 0)
        self.assertEqual(self.json("queue", "purge", "fail", "--yes", *THEIRS)["changed"], 1)

        self.cluster.ctl("get", their_dead, status=1)
        self.assertEqual(self.listed("list"), {mine, my_dead})
        self.cluster.enqueue("fail", "x", *THEIRS)
        self.cluster.ctl("tenant", "purge", "theirs", "--yes")
        self.assertEqual(self.listed("list", *THEIRS), set())
        self.assertEqual(self.listed("list"), {mine, my_dead})

    def test_settings_and_pauses_are_of_one_tenant(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "echo", "--max-attempts", "7", *THEIRS)
        self.cluster.ctl("queue", "pause", "echo", *THEIRS)

        mine = self.cluster.enqueue("echo", "x")

        self.assertEqual(self.cluster.result(mine), "x")
        self.assertEqual(self.cluster.status(mine)["max_attempts"], 5)
        self.assertFalse(self.json("queue", "show", "echo")["paused"])
        self.assertTrue(self.json("queue", "show", "echo", *THEIRS)["paused"])


if __name__ == "__main__":
    unittest.main()
