# SPDX-License-Identifier: Apache-2.0
"""Tasks start at their time: never early, and not late."""

import time
import unittest

import cluster
from cluster import MachineNoise, wait_until

LATE_MAX = 0.05


class Times(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        self.cluster.result(self.cluster.enqueue("echo", "connected"))

    def starts(self):
        """Monotonic seconds of each start."""
        text = self.path.read_text() if self.path.exists() else ""
        return [int(line.split()[0]) / 1000 for line in text.splitlines()
                if len(line.split()) == 5]

    def test_deferred_task_starts_at_its_time(self):
        with MachineNoise(self.cluster.path("noise")) as noise:
            before = time.monotonic()
            task = self.cluster.enqueue("sleep", f"{self.path} 0 0", "--delay", "1s")
            after = time.monotonic()
            self.cluster.result(task)

        (start,) = self.starts()
        print(f"started {start - before - 1:.3f} to {start - after - 1:.3f} s after its time, "
              f"machine {noise.worst:.3f} s late")
        # The log has whole milliseconds, truncated.
        self.assertGreaterEqual(start - before, 0.999)
        # The grant is a synced write of its own.
        self.assertLess(start - after, 1 + LATE_MAX + 2 * noise.worst)

    def test_run_timeout_ends_an_attempt_that_beats_well(self):
        task = self.cluster.enqueue(
            "sleep", f"{self.path} 60000 1", "--lease", "1h", "--run-timeout", "2s", "--retry",
            "fixed", "--retry-base", "10ms")
        wait_until(lambda: len(self.starts()) == 2, 20, "the second attempt")

        first, second = self.starts()
        self.assertGreaterEqual(second - first, 1.9)
        self.assertEqual(self.cluster.result(task), "2")

    def test_silent_handler_is_ended_by_its_progress_timeout(self):
        task = self.cluster.enqueue(
            "sleep", f"{self.path} 60000 9", "--lease", "1h", "--progress-timeout", "1s",
            "--max-attempts", "1")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 20, "the attempt ends")

        self.assertIn("progress_timeout", self.cluster.status(task)["error_text"])


if __name__ == "__main__":
    unittest.main()
