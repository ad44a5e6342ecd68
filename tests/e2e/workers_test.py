# SPDX-License-Identifier: Apache-2.0
"""Workers that crash, stop or hang: their tasks are redelivered in time. Only one connected worker
has a name."""

import time
import unittest

import cluster
from cluster import wait_until

LEASE = 2.0
SLACK = 0.1
TASKS = 8


class WorkerGone(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def starts(self, pid=None):
        """(monotonic seconds, pid, attempt, token, id) of each start; of one process if `pid` is
        given."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        rows = [line.split() for line in lines]
        found = [(int(row[0]) / 1000, int(row[1]), int(row[2]), int(row[3]), row[4])
                 for row in rows if len(row) == 5]
        return [row for row in found if pid in (None, row[1])]

    def hold_tasks(self, seconds=60):
        """Starts a worker w1 that runs four tasks and has four more waiting, and an idle worker w2.
        First attempts take `seconds`, long enough for a slow machine; a waiting task that comes
        back uncharged is a first attempt again."""
        self.first = self.cluster.start_worker("w1", "--slots", "4", "--prefetch", "4")
        payload = f"{self.path} {seconds * 1000} 1"
        self.tasks = [self.cluster.enqueue("sleep", payload, "--lease", "2s")
                      for _ in range(TASKS)]
        wait_until(lambda: len(self.starts()) == 4, 10, "w1 runs four tasks")
        wait_until(lambda: self.cluster.queue_stats("sleep")["leased"] == TASKS, 10,
                   "w1 holds eight tasks")
        self.second = self.cluster.start_worker("w2", "--slots", "8")
        # w1 has no free slot, so a result shows that w2 is connected.
        self.cluster.result(self.cluster.enqueue("echo", "ready"))

    def test_killed_worker_s_tasks_come_back_within_the_lease(self):
        self.hold_tasks(seconds=10)

        with cluster.MachineNoise(self.cluster.path("noise")) as noise:
            killed = time.monotonic()
            self.first.kill()
            wait_until(lambda: len(self.starts(self.second.pid)) == TASKS, 20, "all come back")

        last = max(row[0] for row in self.starts(self.second.pid))
        print(f"redelivered within {last - killed:.3f} s of the kill, lease {LEASE} s, "
              f"machine {noise.worst:.3f} s late")
        # Two records are written one after the other: the lost leases, then the new grants.
        self.assertLess(last - killed, LEASE + SLACK + 2 * noise.worst)
        for task in self.tasks:
            self.cluster.result(task)
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], TASKS)

    def test_running_tasks_are_charged_and_waiting_ones_are_not(self):
        self.hold_tasks()
        ran = {row[4] for row in self.starts()}
        # The heartbeats that report which tasks have not started are due before the lease ends.
        time.sleep(LEASE)

        self.first.kill()
        wait_until(lambda: len(self.starts(self.second.pid)) == TASKS, 20, "all come back")

        attempts = {row[4]: row[2] for row in self.starts(self.second.pid)}
        self.assertEqual({task: 2 if task in ran else 1 for task in self.tasks}, attempts)

    def test_worker_that_hangs_loses_its_tasks_and_its_late_results_are_refused(self):
        self.hold_tasks(seconds=6)

        self.first.suspend()
        wait_until(lambda: len(self.starts(self.second.pid)) == TASKS, 20, "all come back")
        results = {task: self.cluster.result(task) for task in self.tasks}
        self.first.go_on()
        self.cluster.result(self.cluster.enqueue("echo", "still there"))

        self.assertTrue(self.first.is_running())
        self.assertEqual(results, {task: self.cluster.result(task) for task in self.tasks})
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], TASKS)

    def test_stopped_worker_gives_back_what_it_did_not_start(self):
        self.hold_tasks(seconds=4)

        status, _ = self.first.terminate(20)

        self.assertEqual(status, 0)
        for task in self.tasks:
            self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), TASKS)

    def test_stopped_worker_keeps_its_result_until_the_coordinator_is_back(self):
        worker = self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("sleep", f"{self.path} 2000 1")
        wait_until(self.starts, 10, "the handler runs")
        self.cluster.coordinator.kill()

        worker.popen.terminate()
        # Longer than the handler runs, and than reports wait after a drain that is over.
        time.sleep(5)
        self.assertTrue(worker.is_running())
        self.cluster.start_coordinator()

        self.assertEqual(worker.wait(20), 0)
        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 1)

    def test_task_that_kills_its_workers_ends_dead(self):
        task = self.cluster.enqueue("crash", "", "--lease", "1s", "--max-attempts", "2",
                                    "--retry", "fixed", "--retry-base", "10ms")

        for attempt in (1, 2):
            worker = self.cluster.start_worker(f"victim{attempt}", "--slots", "1")
            wait_until(lambda: not worker.is_running(), 10, "the handler crashes its worker")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 10, "the task is dead")

        self.assertEqual(self.cluster.status(task)["attempt"], 2)

    def lose_worker(self, name):
        worker = self.cluster.start_worker(name, "--slots", "1")
        wait_until(lambda: not worker.is_running(), 10, "the handler crashes its worker")

    def test_task_that_kills_its_workers_is_quarantined(self):
        self.cluster.ctl("queue", "set", "crash", "--quarantine-after", "2")
        task = self.cluster.enqueue("crash", "", "--lease", "1s", "--max-attempts", "1000",
                                    "--retry", "fixed", "--retry-base", "10ms")

        self.lose_worker("victim1")
        self.lose_worker("victim2")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 10, "the task is dead")

        status = self.cluster.status(task)
        self.assertEqual(status["attempt"], 2)
        self.assertIn("quarantined: 2 started attempts in a row", status["error_text"])
        self.assertIn("quarantined", self.cluster.ctl("explain", task).decode())
        shown = self.cluster.ctl("queue", "show", "crash").decode()
        self.assertIn("2 losses in a row", shown)
        self.assertIn("tasks are quarantined tenant=default queue=crash count=1",
                      self.cluster.coordinator.text())
        self.cluster.ctl("redrive", task)
        self.lose_worker("victim3")
        wait_until(lambda: self.cluster.status(task)["state"] == "ready", 10,
                   "one loss does not end the redriven task")


class OneName(cluster.ClusterTest):
    """Which worker keeps its name, which one takes it over, and what happens to the leases."""

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
        self.assertIn(f"worker connected to coordinator address={self.cluster.address} ",
                      first.text())
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
