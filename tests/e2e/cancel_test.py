# SPDX-License-Identifier: Apache-2.0
"""Operators cancel, promote and redrive tasks in every state."""

import json
import unittest

import cluster
from cluster import wait_until


class Cancel(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def cancel(self, task):
        answer = json.loads(self.cluster.ctl("--json", "cancel", task))
        return answer["outcome"], answer["state"]

    def state(self, task):
        return self.cluster.status(task)["state"]

    def test_waiting_tasks_end_at_once_and_are_never_delivered(self):
        ready = self.cluster.enqueue("echo", "ready")
        later = self.cluster.enqueue("echo", "later", "--delay", "1h")

        self.assertEqual(self.cancel(ready), ("changed", "cancelled"))
        self.assertEqual(self.cancel(later), ("changed", "cancelled"))
        self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("echo", "after"))

        self.assertEqual([self.state(ready), self.state(later)], ["cancelled"] * 2)
        self.assertEqual(self.cluster.queue_stats("echo")["completed"], 1)

    def test_ended_and_unknown_tasks_stay_as_they_are(self):
        self.cluster.start_worker("w")
        done = self.cluster.enqueue("echo", "done")
        self.cluster.result(done)

        self.assertEqual(self.cancel(done), ("unchanged", "completed"))
        self.cluster.ctl("cancel", "00000080-0000-0fff-3c20-000000000000", status=2)

    def test_running_program_is_stopped(self):
        started = self.cluster.path("started")
        self.cluster.start_worker(
            "w", "--exec", f"slow=sh -c 'touch {started}; sleep 60'", handlers=())
        task = self.cluster.enqueue("slow", "", "--lease", "1h")
        wait_until(started.exists, 10, "the program runs")

        self.assertEqual(self.cancel(task), ("requested", "leased"))
        wait_until(lambda: self.state(task) == "cancelled", 9, "the program is stopped")

    def test_cancelled_task_of_a_dead_worker_is_not_delivered_again(self):
        starts = self.cluster.path("starts")
        worker = self.cluster.start_worker("w", "--slots", "1")
        task = self.cluster.enqueue("sleep", f"{starts} 60000 1", "--lease", "2s")
        wait_until(starts.exists, 10, "the handler runs")
        worker.suspend()

        self.assertEqual(self.cancel(task), ("requested", "leased"))
        worker.kill()
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()
        self.cluster.start_worker("v", "--slots", "1")
        wait_until(lambda: self.state(task) == "cancelled", 15, "the lease runs out")

        self.assertEqual(starts.read_bytes().count(b"\n"), 1)


class Promote(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")

    def promote(self, task, status=0):
        answer = json.loads(self.cluster.ctl("--json", "promote", task, status=status))
        return answer["outcome"], answer["state"]

    def test_producer_s_delay_is_lifted_only_when_it_allows_that(self):
        guarded = self.cluster.enqueue("echo", "a", "--delay", "1h")
        allowed = self.cluster.enqueue("echo", "b", "--delay", "1h", "--allow-promotion")

        self.assertEqual(self.promote(guarded, 1), ("guarded", "scheduled"))
        self.assertIn("because it was enqueued without", self.cluster.ctl_error(
            "promote", guarded))
        self.assertEqual(self.promote(allowed), ("changed", "ready"))

        self.assertEqual(self.cluster.result(allowed), "b")
        self.assertEqual(self.cluster.status(guarded)["state"], "scheduled")

    def test_retry_that_waits_is_promoted(self):
        self.cluster.start_worker("v", "--exec", 'once=sh -c "test $CODEQ_ATTEMPT = 2"',
                                  handlers=())
        task = self.cluster.enqueue("once", "", "--retry", "fixed", "--retry-base", "1h")
        wait_until(lambda: self.cluster.status(task)["state"] == "scheduled", 10, "it waits")

        self.assertEqual(self.promote(task), ("changed", "ready"))

        self.cluster.result(task)
        self.assertEqual(self.cluster.status(task)["attempt"], 2)


class Redrive(cluster.ClusterTest):
    def test_dead_task_gets_its_attempts_again(self):
        self.cluster.start_coordinator()
        flag = self.cluster.path("flag")
        self.cluster.start_worker("w", "--exec", f'gate=sh -c "test -e {flag}"', handlers=())
        task = self.cluster.enqueue("gate", "", "--max-attempts", "1")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 10, "it is dead")
        flag.touch()

        answer = json.loads(self.cluster.ctl("--json", "redrive", task))

        self.assertEqual((answer["outcome"], answer["state"]), ("changed", "ready"))
        self.assertEqual(self.cluster.result(task), "")
        self.assertEqual(self.cluster.status(task)["attempt"], 1)
        self.assertEqual(json.loads(self.cluster.ctl("--json", "redrive", task))["outcome"],
                         "unchanged")


if __name__ == "__main__":
    unittest.main()
