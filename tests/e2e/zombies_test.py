# SPDX-License-Identifier: Apache-2.0
"""Workers that report on ended leases, and workers that give their leases back."""

import json
import unittest

import cluster
import proxy
from cluster import wait_until


class ZombieTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def starts(self):
        return self.path.read_text().splitlines() if self.path.exists() else []

    def state(self, task):
        return self.cluster.status(task)["state"]

    def start_sleeper(self, *options):
        """A task that a handler runs for a minute unless it is cancelled."""
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", *options)
        wait_until(self.starts, 10, "the handler runs")
        return task

    def wait_for_beats(self):
        """Waits until the only slot is free again: the worker knows that its lease has ended."""
        self.assertEqual(self.cluster.result(self.cluster.enqueue("echo", "free")), "free")


class Heartbeat(ZombieTest):
    def setUp(self):
        super().setUp()
        self.worker = self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")

    def test_after_a_cancel_revives_nothing(self):
        task = self.start_sleeper("--lease", "1s")
        self.worker.suspend()
        self.cluster.ctl("cancel", task)
        wait_until(lambda: self.state(task) == "cancelled", 15, "the lease runs out")
        token = self.cluster.status(task)["token"]

        self.worker.go_on()
        self.wait_for_beats()

        status = self.cluster.status(task)
        self.assertEqual((status["state"], status["token"]), ("cancelled", token))
        self.assertEqual(len(self.starts()), 1)
        self.assertEqual(self.cluster.queue_stats("sleep")["leased"], 0)

    def test_after_a_purge_revives_nothing(self):
        task = self.start_sleeper("--lease", "1h")
        self.worker.suspend()
        self.cluster.ctl("queue", "purge", "sleep", "--yes")
        self.cluster.ctl("get", task, status=1)

        self.worker.go_on()
        self.wait_for_beats()

        self.cluster.ctl("get", task, status=1)
        # A queue without tasks and workers is not listed.
        self.assertEqual((self.cluster.queue_stats("sleep") or {"leased": 0})["leased"], 0)
        listed = json.loads(self.cluster.ctl("--json", "list"))["tasks"]
        self.assertNotIn("sleep", [entry["queue"] for entry in listed])


class Resume(ZombieTest):
    def test_lease_that_the_shard_does_not_know_is_stopped_at_the_worker(self):
        network = proxy.Proxy(lambda: self.cluster.port)
        self.addCleanup(network.close)
        self.cluster.start("w", [
            cluster.BIN / "codeq-worker", "--coordinator", network.address, "--name", "w",
            "--handlers", cluster.HANDLERS, "--slots", "1", "--prefetch", "0"])
        task = self.start_sleeper("--lease", "1h")
        network.swallow_answers()
        self.cluster.ctl("force", "complete", task, "--text", "by hand")
        wait_until(lambda: network.swallowed > 0, 10, "the worker is not told")

        network.cut()
        self.wait_for_beats()

        self.assertEqual(self.cluster.result(task), "by hand")
        self.assertEqual(len(self.starts()), 1)


class Goodbye(ZombieTest):
    def test_leases_are_given_back_at_once_and_uncharged(self):
        network = proxy.Proxy(lambda: self.cluster.port)
        self.addCleanup(network.close)
        worker = self.cluster.start("w", [
            cluster.BIN / "codeq-worker", "--coordinator", network.address, "--name", "w",
            "--handlers", cluster.HANDLERS, "--slots", "1", "--prefetch", "0", "--drain", "100ms"])
        task = self.cluster.enqueue("stubborn", f"{self.path} 20000", "--lease", "1h")
        wait_until(self.starts, 10, "the handler runs")
        self.cluster.start_worker("v", "--slots", "1", "--prefetch", "0")
        network.drop(proxy.RESULT_REQUEST)

        worker.terminate(15)

        # The coordinator received the worker's goodbye, but no result.
        self.assertIn("worker ends with unanswered reports", worker.text())
        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 2)
        self.assertEqual(self.cluster.queue_stats("stubborn")["lost"], 0)


if __name__ == "__main__":
    unittest.main()
