# SPDX-License-Identifier: Apache-2.0
"""Races for a lease, each run with the real programs."""

import os
import resource
import time
import unittest

import cluster
import proxy
from cluster import wait_until

LEASE = 2.0


class RaceTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")

    def starts(self):
        """(pid, attempt, token) of each start of the handler `sleep`."""
        text = self.path.read_text() if self.path.exists() else ""
        rows = [line.split() for line in text.splitlines()]
        return [(int(row[1]), int(row[2]), int(row[3])) for row in rows if len(row) == 5]

    def sleeper(self, seconds, attempts, *options):
        """Enqueues a task whose first `attempts` attempts take `seconds`."""
        payload = f"{self.path} {int(seconds * 1000)} {attempts}"
        return self.cluster.enqueue("sleep", payload, "--lease", f"{int(LEASE)}s", *options)

    def wait_for_loss(self):
        wait_until(lambda: self.cluster.queue_stats("sleep")["lost"] > 0, 20, "the lease ends")

    def wait_for_starts(self, count):
        wait_until(lambda: len(self.starts()) == count, 20, f"{count} starts")


class LeaseAndTime(RaceTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def test_heartbeats_win_while_they_come_in_time(self):
        worker = self.cluster.start_worker("w", "--slots", "1")
        task = self.sleeper(3 * LEASE, 1)
        self.wait_for_starts(1)
        for _ in range(4):
            worker.suspend()
            time.sleep(LEASE / 4)
            worker.go_on()
            time.sleep(LEASE / 4)

        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 1)

    def test_expiry_wins_once_the_beats_stay_away(self):
        worker = self.cluster.start_worker("w", "--slots", "1")
        task = self.sleeper(60, 1)
        self.wait_for_starts(1)

        worker.suspend()
        stopped = time.monotonic()
        self.wait_for_loss()

        # A heartbeat was due after three quarters of the lease at the latest.
        self.assertGreater(time.monotonic() - stopped, LEASE / 4)
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], 0)

    def result_behind_its_deadline(self):
        """Lets both the result and the deadline arrive while the coordinator is suspended. Returns
        the result and the number of leases counted as lost."""
        lost = self.lost()
        count = len(self.starts())
        task = self.sleeper(0.9 * LEASE, 1)
        self.wait_for_starts(count + 1)
        time.sleep(LEASE / 2)
        self.cluster.coordinator.suspend()
        time.sleep(1.5 * LEASE)
        self.cluster.coordinator.go_on()
        return self.cluster.result(task), self.lost() - lost

    def lost(self):
        stats = self.cluster.queue_stats("sleep")
        return stats["lost"] if stats else 0

    def test_result_behind_its_deadline_is_accepted_unless_the_expiry_was_first(self):
        self.cluster.start_worker("w", "--slots", "1")

        # Which of the two the shard processes first is random, but usually it is the result.
        tries = 0
        while (how := self.result_behind_its_deadline()) != ("1", 0):
            self.assertEqual(how, ("2", 1))
            tries += 1
            self.assertLess(tries, 8, "no late result is ever accepted")

        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], tries + 1)

    def test_zombie_of_a_task_that_another_worker_has_is_refused(self):
        zombie = self.cluster.start_worker("zombie", "--slots", "1", "--prefetch", "0")
        task = self.sleeper(2 * LEASE, 1)
        self.wait_for_starts(1)
        zombie.suspend()
        self.cluster.start_worker("other", "--slots", "1")

        self.assertEqual(self.cluster.result(task), "2")
        token = self.cluster.status(task)["token"]
        zombie.go_on()
        self.cluster.result(self.cluster.enqueue("echo", "passed"))

        self.assertEqual(self.cluster.result(task), "2")
        self.assertEqual(self.cluster.status(task)["token"], token)
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], 1)

    def test_worker_that_claims_its_own_lost_task_again_is_not_mixed_up(self):
        worker = self.cluster.start_worker("w", "--slots", "2")
        task = self.sleeper(3 * LEASE, 5, "--retry", "fixed", "--retry-base", "10ms")
        self.wait_for_starts(1)

        worker.suspend()
        self.wait_for_loss()
        worker.go_on()

        # The worker's own credits get the task back while its first handler still runs.
        self.wait_for_starts(2)
        (_, first, old), (_, second, new) = self.starts()
        self.assertEqual(self.cluster.result(task), str(second))
        self.assertLess(first, second)
        self.assertLess(old, new)
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], 1)


class Connections(RaceTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()
        self.proxy = proxy.Proxy(lambda: self.cluster.port)
        self.addCleanup(self.proxy.close)
        self.worker = self.cluster.start("w", [
            cluster.BIN / "codeq-worker", "--coordinator", self.proxy.address, "--name", "w",
            "--handlers", cluster.HANDLERS, "--slots", "1", "--prefetch", "0"])
        self.cluster.result(self.cluster.enqueue("echo", "connected"))

    def wait_for_reconnect(self):
        wait_until(lambda: self.proxy.connections == 2, 20, "the worker connects again")

    def test_task_whose_claim_reply_was_lost_is_delivered_again_under_its_token(self):
        self.proxy.swallow_answers()
        task = self.sleeper(0, 0)
        wait_until(lambda: self.cluster.status(task)["state"] == "leased", 10, "it is granted")
        token = self.cluster.status(task)["token"]
        self.assertEqual(self.starts(), [])

        self.proxy.cut()
        self.wait_for_reconnect()

        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(self.starts(), [(self.worker.pid, 1, int(token))])

    def test_lost_connection_changes_nothing_by_itself(self):
        task = self.sleeper(LEASE, 1)
        self.wait_for_starts(1)

        self.proxy.cut()
        self.wait_for_reconnect()

        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 1)

    def test_result_whose_answer_was_lost_is_sent_again_and_recognised(self):
        task = self.sleeper(1, 1)
        self.wait_for_starts(1)
        self.proxy.swallow_answers()
        wait_until(lambda: self.cluster.status(task)["state"] == "completed", 10, "it completes")
        wait_until(lambda: self.proxy.swallowed > 0, 10, "the answer is lost")

        self.proxy.cut()
        self.wait_for_reconnect()

        # The slot is free again, so the repeated report was answered.
        self.cluster.result(self.cluster.enqueue("echo", "next"))
        first, *_ = [kind for kind in self.proxy.told
                     if kind in (proxy.RESULT_REQUEST, proxy.RESUME_REQUEST)]
        self.assertEqual(first, proxy.RESULT_REQUEST, "results come before holdings")
        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(self.cluster.queue_stats("sleep")["completed"], 1)


@unittest.skipIf("thread" in cluster.SANITIZERS, "libfaketime's waits hide from the sanitizer")
class WallClock(RaceTest):
    def check_step(self, offset):
        clock = cluster.WallClock(self.cluster.path("clock"))
        with clock:
            self.cluster.start_coordinator()
        self.cluster.start_worker("w", "--slots", "1")
        task = self.sleeper(2 * LEASE, 1)
        later = self.cluster.enqueue("echo", "later", "--delay", "1h")
        self.wait_for_starts(1)

        clock.set(offset)

        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 1)
        self.assertEqual(self.cluster.status(later)["state"], "scheduled")
        soon = self.cluster.enqueue("echo", "soon", "--delay", "500ms")
        self.assertEqual(self.cluster.result(soon), "soon")

    def test_step_forward_ends_no_lease_and_makes_nothing_due(self):
        self.check_step("+1d")

    def test_step_back_ends_no_lease_and_holds_nothing_up(self):
        self.check_step("-1d")


class WriteError(RaceTest):
    def test_failed_write_stops_the_coordinator_and_loses_nothing_acknowledged(self):
        # The coordinator inherits this limit; a write beyond it fails with EFBIG.
        size_max = 2 << 20
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_max, hard))
        try:
            self.cluster.start_coordinator()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        payload = "x" * 100_000
        acknowledged = []
        while self.cluster.coordinator.is_running() and len(acknowledged) < 200:
            try:
                acknowledged.append(
                    self.cluster.enqueue("echo", payload, "--timeout", "2s"))
            except AssertionError:
                break

        status = self.cluster.coordinator.popen.wait(10)
        self.assertNotEqual(status, 0)
        self.assertIn("io_error", self.cluster.coordinator.text())
        self.cluster.start_coordinator()
        states = [self.cluster.status(task)["state"] for task in acknowledged]

        self.assertGreater(len(states), 5)
        self.assertEqual(set(states), {"ready"})

    def test_without_free_space_tasks_are_refused_and_the_rest_goes_on(self):
        self.cluster.start_coordinator()
        waiting = self.cluster.enqueue("echo", "x")
        self.cluster.coordinator.terminate(10)
        disk = os.statvfs(self.cluster.directory)
        # Too few bytes for new tasks, but more than the quarter below which claims wait, too.
        least = 2 * disk.f_bavail * disk.f_frsize
        self.cluster.start_coordinator("--free-bytes", str(least))

        error = self.cluster.ctl_error("enqueue", "echo", "-", payload=b"y")
        self.assertIn("disk_full", error)
        self.assertIn(str(least), error)

        self.cluster.start_worker("w")
        self.assertEqual(self.cluster.result(waiting), "x")


if __name__ == "__main__":
    unittest.main()
