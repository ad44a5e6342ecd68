# SPDX-License-Identifier: Apache-2.0
"""Timelines of tasks, over the end of the task and of the coordinator."""

import json
import unittest

import cluster
from cluster import wait_until

RETRY = ("--retry", "fixed", "--retry-base", "10ms")


class Events(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def timeline(self, task):
        return json.loads(self.cluster.ctl("--json", "events", task))

    def lines(self, task):
        return self.cluster.ctl("events", task).decode().splitlines()

    def told(self, task):
        """The kinds of the events, in order."""
        return [event["event"] for event in self.timeline(task)["events"]]

    def wait_for_state(self, task, state):
        wait_until(lambda: self.cluster.status(task)["state"] == state, 20, f"it is {state}")

    def restart(self):
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()

    def fail_twice(self):
        """A task that is dead after two failures at worker w, which was stopped afterwards."""
        worker = self.cluster.start_worker("w")
        task = self.cluster.enqueue("fail", "x", "--max-attempts", "2", *RETRY)
        self.wait_for_state(task, "dead")
        worker.terminate(20)
        return task

    def test_task_that_just_completes(self):
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("echo", "hello")
        self.cluster.result(task)

        events = self.timeline(task)["events"]

        enqueued, granted, completed = events
        self.assertEqual([event["event"] for event in events],
                         ["enqueued", "granted", "completed"])
        self.assertEqual([granted["worker"], completed["worker"]], ["w", "w"])
        self.assertEqual(completed["text"], "hello")
        self.assertEqual(self.lines(task)[-1], "now completed")

    def test_failures_have_their_attempts_workers_and_texts(self):
        task = self.fail_twice()

        timeline = self.timeline(task)

        enqueued, *attempts = timeline["events"]
        self.assertEqual(enqueued["event"], "enqueued")
        self.assertEqual(
            [(event["event"], event["attempt"], event["worker"]) for event in attempts],
            [("granted", 1, "w"), ("failed", 1, "w"), ("granted", 2, "w"), ("failed", 2, "w")])
        self.assertEqual([attempts[1]["text"], attempts[3]["text"]], ["told to fail"] * 2)
        self.assertEqual([attempts[1]["state"], attempts[3]["state"]], ["scheduled", "dead"])
        self.assertEqual((timeline["state"], timeline["dropped"]), ("dead", 0))
        times = [event["at_ms"] for event in timeline["events"]]
        self.assertEqual(times, sorted(times))
        tokens = [int(event["token"]) for event in attempts]
        self.assertLess(tokens[0], tokens[2])
        last = self.lines(task)[-2]
        self.assertIn("failed by worker w, attempt 2, then dead: told to fail", last)

    def test_life_of_a_task_is_the_same_after_the_coordinator_was_killed(self):
        worker = self.cluster.start_worker("victim", "--slots", "1")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 9", "--lease", "1s")
        wait_until(self.path.exists, 20, "the handler runs")
        worker.kill()
        wait_until(lambda: "lost" in self.told(task), 20, "the lease ends")
        self.cluster.ctl("force", "fail", task, "--text", "by hand")
        self.cluster.ctl("redrive", task)
        self.cluster.ctl("cancel", task)
        before = self.timeline(task)

        self.restart()

        self.assertEqual(self.timeline(task), before)
        self.assertEqual(
            self.told(task),
            ["enqueued", "granted", "lost", "forced_to_fail", "redriven", "cancelled"])
        lost, forced, redriven, cancelled = before["events"][2:]
        self.assertEqual((lost["by"], lost["worker"]), ("coordinator", "victim"))
        self.assertIn("lease_expired", lost["text"])
        self.assertEqual((forced["by"], forced["text"]), ("operator", "by hand"))
        self.assertEqual((redriven["by"], redriven["state"]), ("operator", "ready"))
        self.assertEqual(cancelled["by"], "operator")
        self.assertEqual(before["state"], "cancelled")

    def test_checkpoint_that_closes_the_task_changes_nothing(self):
        task = self.fail_twice()
        self.cluster.ctl("redrive", task)
        self.cluster.ctl("force", "complete", task, "--text", "done")
        before = self.timeline(task)

        status, _ = self.cluster.coordinator.terminate(20)
        self.cluster.start_coordinator()

        self.assertEqual(status, 0)
        self.assertEqual(self.timeline(task), before)
        self.assertEqual(self.told(task)[-2:], ["redriven", "forced_to_complete"])

    def test_running_task_ends_with_its_lease(self):
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 9", "--lease", "1h")
        wait_until(self.path.exists, 20, "the handler runs")

        timeline = self.timeline(task)

        self.assertEqual(self.told(task), ["enqueued", "granted"])
        self.assertEqual(timeline["events"][1]["worker"], "w")
        self.assertEqual(timeline["state"], "leased")

    def test_waiting_task_names_its_time(self):
        task = self.cluster.enqueue("echo", "x", "--delay", "1h", "--key", "k")
        self.cluster.enqueue("echo", "y", "--delay", "2h", "--key", "k", "--on-duplicate", "defer")

        timeline = self.timeline(task)

        self.assertEqual(self.told(task), ["enqueued", "rescheduled"])
        self.assertEqual(timeline["events"][1]["by"], "producer")
        self.assertEqual(timeline["events"][1]["until_ms"], timeline["until_ms"])
        self.assertIn("now scheduled until", self.lines(task)[-1])

    def test_long_history_keeps_the_latest_and_says_how_many_went(self):
        task = self.cluster.enqueue("nobody", "x")
        for _ in range(17):
            self.cluster.ctl("force", "fail", task)
            self.cluster.ctl("redrive", task)
        self.cluster.ctl("cancel", task)
        self.restart()

        timeline = self.timeline(task)

        self.assertEqual(timeline["dropped"], 3)
        self.assertEqual(len(timeline["events"]), 1 + 32)
        self.assertEqual(self.told(task)[-2:], ["redriven", "cancelled"])
        self.assertEqual(
            self.lines(task)[1], "(earlier events that are not kept: 3)")

    def test_purge_takes_the_timeline_along(self):
        task = self.fail_twice()

        self.cluster.ctl("purge", task)

        self.assertIn("unknown_task", self.cluster.ctl_error("events", task))
        self.restart()
        self.assertIn("unknown_task", self.cluster.ctl_error("events", task))

    def test_unknown_task(self):
        task = self.cluster.enqueue("echo", "x")
        self.cluster.ctl("queue", "purge", "echo", "--yes")

        self.cluster.ctl("events", task, status=1)
        said = self.cluster.ctl_error("events", task)

        self.assertIn("unknown_task", said)


if __name__ == "__main__":
    unittest.main()
