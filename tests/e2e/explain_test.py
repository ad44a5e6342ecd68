# SPDX-License-Identifier: Apache-2.0
"""`explain` gives the exact reason why a task does not run."""

import json
import unittest

import cluster
from cluster import wait_until


class Explain(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def explain(self, task):
        """The explanation as an object, and as a sentence."""
        sentence = self.cluster.ctl("explain", task).decode()
        return json.loads(self.cluster.ctl("--json", "explain", task)), sentence

    def reason(self, task):
        return self.explain(task)[0]["reason"]

    def start_busy_worker(self):
        """A worker w whose only slot is taken, and the task that takes it."""
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 9", "--lease", "1h")
        wait_until(self.path.exists, 10, "the handler runs")
        return task

    def test_deferred_task_names_its_time(self):
        task = self.cluster.enqueue("echo", "x", "--delay", "1h")

        fields, sentence = self.explain(task)

        self.assertEqual(fields["reason"], "deferred")
        self.assertIn("until", sentence)

    def test_gated_task_names_the_one_before_it(self):
        first = self.cluster.enqueue("echo", "1", "--group", "g")
        second = self.cluster.enqueue("echo", "2", "--group", "g")
        third = self.cluster.enqueue("echo", "3", "--group", "g")

        for task in (second, third):
            fields, sentence = self.explain(task)
            self.assertEqual((fields["reason"], fields["blocker"]), ("gated", first))
            self.assertIn(first, sentence)

    def test_task_behind_a_dead_one_names_it(self):
        self.cluster.start_worker("w")
        options = ("--group", "g", "--on-dead", "block", "--max-attempts", "1")
        dead = self.cluster.enqueue("fail", "1", *options)
        wait_until(lambda: self.cluster.status(dead)["state"] == "dead", 10, "it is dead")
        behind = self.cluster.enqueue("fail", "2", *options)

        fields, sentence = self.explain(behind)

        self.assertEqual((fields["reason"], fields["blocker"]), ("blocked", dead))
        self.assertIn(dead, sentence)

    def test_waiting_retry_names_its_time(self):
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("fail", "x", "--retry", "fixed", "--retry-base", "1h")
        wait_until(lambda: self.cluster.status(task)["state"] == "scheduled", 10, "it failed")

        fields, sentence = self.explain(task)

        self.assertEqual(fields["reason"], "retry_waiting")
        self.assertIn("retry 2 of 5", sentence)
        self.assertIn("told to fail", sentence)

    def test_paused_queue(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "echo", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "echo")
        task = self.cluster.enqueue("echo", "x")

        self.assertEqual(self.reason(task), "queue_paused")
        self.cluster.ctl("queue", "resume", "echo")

        self.assertEqual(self.cluster.result(task), "x")

    def test_queue_that_nobody_claims_from(self):
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("nobody", "x")

        self.assertEqual(self.reason(task), "no_worker")

    def test_busy_workers(self):
        self.start_busy_worker()
        task = self.cluster.enqueue("echo", "x")

        self.assertEqual(self.reason(task), "no_free_slots")

    def test_queue_whose_own_slots_of_a_worker_are_taken(self):
        self.cluster.start_worker(
            "w", "--slots", "4", "--prefetch", "0", "--queue", "sleep=slots:1")
        self.cluster.enqueue("sleep", f"{self.path} 60000 9", "--lease", "1h")
        wait_until(self.path.exists, 10, "the handler runs")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 9")

        # It may have been on its way to the worker and back.
        wait_until(lambda: self.reason(task) == "no_free_slots", 10, "it waits for a slot")

        self.assertIn("no free slots at its 1 worker", self.explain(task)[1])
        self.assertIn("sleep", self.cluster.ctl("workers").decode())

    def test_leased_task_names_its_worker(self):
        task = self.start_busy_worker()

        fields, sentence = self.explain(task)

        self.assertEqual((fields["reason"], fields["worker"]), ("leased", "w"))
        self.assertGreater(fields["lease_left_ms"], 3000 * 1000)
        self.assertIn("w", sentence)

    def test_dead_task_says_what_it_died_of(self):
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("fail", "x", "--max-attempts", "1")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 10, "it is dead")

        fields, sentence = self.explain(task)

        self.assertEqual(fields["reason"], "dead")
        self.assertIn("told to fail", sentence)

    def test_settings_of_the_queue_are_shown(self):
        self.cluster.ctl("queue", "set", "echo", "--max-attempts", "7", "--lease", "33s")
        task = self.cluster.enqueue("echo", "x")

        fields, text = self.explain(task)

        settings = fields["queue_settings"]
        self.assertEqual((settings["max_attempts"], settings["lease_ms"]), (7, 33000))
        self.assertIn("33s", text)

    def test_ended_task_is_explained_without_settings(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "echo", "--max-attempts", "7")
        task = self.cluster.enqueue("echo", "x")
        wait_until(lambda: self.cluster.status(task)["state"] == "completed", 10, "it ends")

        fields, text = self.explain(task)

        self.assertEqual(fields["reason"], "completed")
        self.assertNotIn("queue_settings", fields)
        self.assertNotIn("max-attempts", text)

    def test_unknown_task(self):
        task = self.cluster.enqueue("echo", "x")
        self.cluster.ctl("queue", "purge", "echo", "--yes")

        said = self.cluster.ctl_error("explain", task)

        self.assertIn("unknown_task", said)


if __name__ == "__main__":
    unittest.main()
