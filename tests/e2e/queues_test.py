# SPDX-License-Identifier: Apache-2.0
"""Operators change queues, tenants, dead tasks and leases of others."""

import json
import unittest

import cluster
from cluster import wait_until


class OperatorTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def state(self, task):
        return self.cluster.status(task)["state"]

    def kill_task(self, payload="x", *options):
        task = self.cluster.enqueue("fail", payload, "--max-attempts", "1", *options)
        wait_until(lambda: self.state(task) == "dead", 10, "it is dead")
        return task

    def start_sleeper(self, *options):
        """A task that a handler of w holds under a long lease."""
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", "--lease", "1h", *options)
        wait_until(self.path.exists, 10, "the handler runs")
        return task

    def start_count(self):
        return self.path.read_bytes().count(b"\n")


class Queues(OperatorTest):
    def test_paused_queue_keeps_its_tasks_over_a_restart(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "echo", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "echo")
        task = self.cluster.enqueue("echo", "x")
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()
        self.cluster.result(self.cluster.enqueue("sleep", f"{self.path} 0 0"))
        self.assertEqual(self.state(task), "ready")

        self.cluster.ctl("queue", "resume", "echo")

        self.assertEqual(self.cluster.result(task), "x")

    def test_settings_give_defaults_to_tasks_that_name_none(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "fail", "--max-attempts", "1")

        task = self.cluster.enqueue("fail", "x")
        own = self.cluster.enqueue("fail", "x", "--max-attempts", "7")

        self.assertEqual(self.cluster.status(task)["max_attempts"], 1)
        self.assertEqual(self.cluster.status(own)["max_attempts"], 7)

    def test_purge_removes_that_queue_only_and_stops_its_handlers(self):
        running = self.start_sleeper()
        waiting = self.cluster.enqueue("sleep", f"{self.path} 0 0")
        other = self.cluster.enqueue("echo", "x", "--delay", "1h")

        self.cluster.ctl("queue", "purge", "sleep", "--yes")

        for task in (running, waiting):
            self.cluster.ctl("get", task, status=1)
        self.assertEqual(self.state(other), "scheduled")
        # The slot is free again, and no heartbeat of the cancelled handler has revived its task.
        self.cluster.result(self.cluster.enqueue("echo", "y"))
        self.cluster.ctl("get", running, status=1)
        stats = self.cluster.queue_stats("sleep")
        self.assertEqual((stats["ready"], stats["leased"]), (0, 0))

    def test_tenant_is_purged_alone(self):
        mine = self.cluster.enqueue("echo", "x", "--tenant", "mine")
        theirs = self.cluster.enqueue("echo", "x")

        self.cluster.ctl("tenant", "purge", "mine", "--yes")

        self.cluster.ctl("get", mine, status=1)
        self.assertEqual(self.state(theirs), "ready")

    def test_list_shows_the_tasks_of_a_state(self):
        later = {self.cluster.enqueue("echo", "x", "--delay", "1h") for _ in range(6)}
        self.cluster.enqueue("echo", "x")

        listed = self.json("list", "--queue", "echo", "--state", "scheduled")

        self.assertEqual({task["id"] for task in listed["tasks"]}, later)


class Order(cluster.ClusterTest):
    def test_priority_then_enqueue_order_within_a_shard(self):
        self.cluster.start_coordinator("--shards", "1")
        path = self.cluster.path("starts")
        self.cluster.ctl("queue", "set", "sleep", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "sleep")
        priorities = (0, 5, 9, 0, 9, 5)
        tasks = [self.cluster.enqueue("sleep", f"{path} 0 0", "--priority", str(priority))
                 for priority in priorities]
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        self.cluster.ctl("queue", "resume", "sleep")
        for task in tasks:
            self.cluster.result(task)

        started = [line.split()[4] for line in path.read_text().splitlines()]
        self.assertEqual([tasks.index(task) for task in started], [2, 4, 1, 5, 0, 3])


class Leases(OperatorTest):
    def lease_left(self, *options):
        """Remaining seconds of a lease at its beginning; frees the worker's only slot again."""
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", *options)
        wait_until(lambda: self.state(task) == "leased", 10, "it is handed out")
        left = self.json("explain", task)["lease_left_ms"] / 1000
        self.cluster.ctl("force", "complete", task)
        return left

    def test_lease_is_the_task_s_own_else_the_queue_s(self):
        self.cluster.ctl("queue", "set", "sleep", "--lease", "50m")
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")

        self.assertAlmostEqual(self.lease_left(), 3000, delta=60)
        self.assertAlmostEqual(self.lease_left("--lease", "20m"), 1200, delta=60)


class Dead(OperatorTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_worker("w")

    def test_dead_tasks_are_listed_redriven_and_purged(self):
        dead = [self.kill_task(f"{number}") for number in range(6)]

        listed = self.json("dead", "list", "--queue", "fail")
        self.assertEqual({task["id"] for task in listed["tasks"]}, set(dead))
        redriven = self.json("dead", "redrive", "--queue", "fail", "--limit", "4")
        self.assertEqual(redriven["changed"], 4)
        wait_until(lambda: all(self.state(task) == "dead" for task in dead), 10, "they die again")
        purged = self.json("dead", "purge", "--queue", "fail", "--yes")

        self.assertEqual(purged["changed"], 6)
        for task in dead:
            self.cluster.ctl("get", task, status=1)

    def test_redrive_is_refused_when_another_task_has_the_key(self):
        dead = self.kill_task("x", "--key", "K")
        self.cluster.enqueue("fail", "y", "--key", "K", "--on-duplicate", "defer", "--delay", "1h")

        answer = json.loads(self.cluster.ctl("--json", "redrive", dead, status=1))

        self.assertEqual((answer["outcome"], answer["state"]), ("key_taken", "dead"))


class Force(OperatorTest):
    def test_revoked_lease_goes_to_the_next_worker(self):
        task = self.start_sleeper()
        token = int(self.cluster.status(task)["token"])

        self.cluster.ctl("force", "revoke", task)

        wait_until(lambda: self.start_count() == 2, 10, "it is handed out again")
        self.assertGreater(int(self.cluster.status(task)["token"]), token)
        self.assertEqual(self.cluster.status(task)["attempt"], 1)

    def test_completed_by_force(self):
        task = self.start_sleeper()

        self.cluster.ctl("force", "complete", task, "--text", "by hand")

        self.assertEqual(self.cluster.result(task), "by hand")
        self.cluster.result(self.cluster.enqueue("echo", "the slot is free"))
        self.assertEqual(self.cluster.result(task), "by hand")

    def test_failed_by_force(self):
        task = self.start_sleeper()

        self.cluster.ctl("force", "fail", task, "--text", "no good")

        self.assertEqual(self.state(task), "dead")
        self.assertIn("no good", self.cluster.status(task)["error_text"])


class Groups(OperatorTest):
    def test_group_runs_in_order_one_at_a_time_over_two_workers(self):
        for name in ("a", "b"):
            self.cluster.start_worker(name, "--slots", "4")
        tasks = [self.cluster.enqueue("sleep", f"{self.path} 100 9", "--group", "g", "--priority",
                                      str(number % 10)) for number in range(12)]
        for task in tasks:
            self.cluster.result(task)

        rows = [line.split() for line in self.path.read_text().splitlines()]
        self.assertEqual([row[4] for row in rows], tasks)
        times = [int(row[0]) for row in rows]
        self.assertTrue(all(b - a >= 100 for a, b in zip(times, times[1:])), times)

    def test_dead_head_is_skipped_or_blocks(self):
        self.cluster.start_worker("w")
        options = ("--max-attempts", "1", "--on-dead")
        self.kill_task("1", "--group", "skipping", "--on-dead", "skip")
        second = self.cluster.enqueue("fail", "2", "--group", "skipping", *options, "skip")
        wait_until(lambda: self.state(second) == "dead", 10, "the next one runs")

        head = self.kill_task("1", "--group", "blocking", "--on-dead", "block")
        behind = self.cluster.enqueue("fail", "2", "--group", "blocking", *options, "block")
        self.assertEqual(self.state(behind), "gated")
        blocking = self.json("dead", "list", "--blocking")["tasks"]
        self.assertEqual([(task["id"], task["group"]) for task in blocking], [(head, "blocking")])
        self.cluster.ctl("purge", head)

        wait_until(lambda: self.state(behind) == "dead", 10, "the gate opens")


if __name__ == "__main__":
    unittest.main()
