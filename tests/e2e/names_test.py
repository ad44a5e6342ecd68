# SPDX-License-Identifier: Apache-2.0
"""Only one connected worker per name: which one keeps it, which one takes it over, and what happens
to the leases."""

import unittest

import cluster
from cluster import wait_until


class OneName(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def starts(self, pid):
        text = self.path.read_text() if self.path.exists() else ""
        return [line for line in text.splitlines() if line.split()[1] == str(pid)]

    def test_living_worker_keeps_its_name(self):
        first = self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("echo", "ready"))

        second = self.cluster.start("second", [
            cluster.BIN / "codeq-worker", "--coordinator", self.cluster.address, "--name", "w",
            "--handlers", cluster.HANDLERS])
        wait_until(lambda: "name_in_use" in second.text(), 10, "the second one is refused")

        self.assertTrue(first.is_running())
        self.assertEqual(self.cluster.result(self.cluster.enqueue("echo", "still")), "still")
        self.assertNotIn("connected to coordinator", second.text())

    def test_hung_worker_loses_its_name_and_its_leases_and_ends(self):
        first = self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", "--lease", "1h")
        wait_until(lambda: self.starts(first.pid), 10, "the first one runs the task")
        first.suspend()

        second = self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        wait_until(lambda: self.starts(second.pid), 10, "the task does not wait for its lease")
        self.assertEqual(self.cluster.result(task), "2")
        first.go_on()
        first.popen.wait(10)

        self.assertIn("superseded", first.text())
        self.assertTrue(second.is_running())
        self.assertEqual(self.cluster.status(task)["attempt"], 2)
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], 1)

    def test_task_that_kills_a_supervised_worker_ends_dead(self):
        task = self.cluster.enqueue("crash", "", "--lease", "1h", "--max-attempts", "3",
                                    "--retry", "fixed", "--retry-base", "10ms")

        worker = self.cluster.start_worker("w", "--slots", "1")
        starts = 1
        while self.cluster.status(task)["state"] != "dead" and starts < 20:
            if not worker.is_running():
                worker = self.cluster.start_worker("w", "--slots", "1")
                starts += 1

        status = self.cluster.status(task)
        self.assertEqual((status["state"], status["attempt"]), ("dead", 3))
        self.assertIn("lease_expired", status["error_text"])


if __name__ == "__main__":
    unittest.main()
