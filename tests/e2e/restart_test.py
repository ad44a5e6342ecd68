# SPDX-License-Identifier: Apache-2.0
"""The coordinator stops and restarts: nothing is lost, and clients need no restart."""

import json
import unittest

import cluster
import proxy
from cluster import LOAD, wait_until
from gateway import start_gateway
from proxy import GOODBYE

TASKS = 100_000
BATCH = 100


class KilledUnderLoad(cluster.ClusterTest):
    def acknowledged(self):
        path = self.cluster.path("acknowledged")
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def kill_when(self, share, options):
        """Kills the coordinator once a share of the tasks is acknowledged, and starts it on the
        same port."""
        wait_until(lambda: self.acknowledged() >= share * TASKS, 60, f"{share} are acknowledged")
        self.cluster.coordinator.kill()
        self.assertLess(self.acknowledged(), TASKS, "the load was over before the kill")
        self.cluster.start_coordinator(*options)

    def run_load(self, *options):
        self.cluster.start_coordinator(*options)
        workers = [self.cluster.start_worker(name, "--slots", "8") for name in ("w1", "w2")]
        load = self.cluster.start("load", [
            LOAD, self.cluster.address, TASKS, BATCH, self.cluster.path("acknowledged")])
        for share in (0.3, 0.6):
            self.kill_when(share, options)
        self.assertEqual(load.popen.wait(180), 0)
        self.assertTrue(all(worker.is_running() for worker in workers))
        return json.loads(load.text().strip().splitlines()[-1])

    def check(self, *options):
        summary = self.run_load(*options)
        redelivered = summary.pop("redelivered")
        self.assertEqual(summary, {
            "acknowledged": TASKS, "refused": 0, "ended": TASKS, "completed": TASKS,
            "repeated_ids": 0, "repeated_ends": 0, "wrong_results": 0})
        # No lease expires because the coordinator was away.
        self.assertEqual(redelivered, 0)
        echo = self.cluster.queue_stats("echo")
        self.assertEqual((echo["completed"], echo["dead"]), (TASKS, 0))
        self.assertEqual((echo["ready"], echo["leased"], echo["scheduled"]), (0, 0, 0))

    def test_in_sync_every_task_completes_once(self):
        self.check("--durability", "sync")

    def test_in_os_every_task_completes_once(self):
        self.check("--durability", "os")


class Claims(cluster.ClusterTest):
    RESTARTS = 8
    COUNT = 1000

    def start(self):
        self.http = start_gateway(self.cluster)

    def test_large_claim_is_full_although_its_tasks_are_read_from_disk(self):
        tasks = {"tasks": [{"queue": "q", "payload": "x" * 4000}] * self.COUNT}
        self.start()
        for _ in range(self.RESTARTS):
            for _ in range(2):
                added = self.http.post("/tasks/batch?limit=extended", tasks)
                self.assertEqual(200, added.status, added.text)
            # A coordinator that has just started has no task in memory.
            self.cluster.coordinator.terminate(20)
            self.start()
            for _ in range(2):
                claimed = self.http.post("/tasks/claim/batch?limit=extended", {
                    "queues": ["q"], "count": self.COUNT, "lease": "5m"}).json["tasks"]
                self.assertEqual(self.COUNT, len(claimed))


class Stopped(cluster.ClusterTest):
    def test_what_a_restart_does_not_mend_ends_with_status_2(self):
        self.cluster.start_coordinator("--shards", "2")
        self.cluster.coordinator.terminate(20)
        absent = self.cluster.path("absent")
        for access, options, words in (
                (("--tokens", absent), (), "--tokens"),
                (("--dev",), ("--shards", "3"), "shards"),
                (("--dev",), ("--http", "127.0.0.1:0", "--webhook-secret-file", absent),
                 "--webhook-secret-file")):
            refused = self.cluster.start("refused", [
                cluster.BIN / "codeq-coordinator", *access, "--data", self.cluster.path("store"),
                "--listen", "127.0.0.1:0", *options])
            self.assertEqual(2, refused.wait(20), refused.text())
            self.assertIn(words, refused.text())

    def test_leases_live_on_after_sigterm_and_restart(self):
        starts = self.cluster.path("starts")
        self.cluster.start_coordinator()
        self.cluster.start_worker("w1", "--slots", "4")
        tasks = [self.cluster.enqueue("sleep", f"{starts} 4000 1", "--lease", "2s")
                 for _ in range(4)]
        wait_until(lambda: starts.exists() and starts.read_bytes().count(b"\n") == 4, 10,
                   "four handlers run")

        status, seconds = self.cluster.coordinator.terminate(5)
        self.cluster.start_coordinator()

        self.assertEqual(status, 0)
        self.assertLess(seconds, 2)
        # The handlers from before the stop report: no task was delivered again.
        self.assertEqual([self.cluster.result(task) for task in tasks], ["1"] * 4)
        self.assertEqual(starts.read_bytes().count(b"\n"), 4)

    def test_peers_are_told_that_the_coordinator_stops(self):
        self.cluster.start_coordinator()
        network = proxy.Proxy(lambda: self.cluster.port)
        self.addCleanup(network.close)
        self.cluster.start("w1", [
            cluster.BIN / "codeq-worker", "--coordinator", network.address, "--name", "w1",
            "--handlers", cluster.HANDLERS])
        self.cluster.result(self.cluster.enqueue("echo", "connected"))
        self.assertNotIn(GOODBYE, network.frame_types())

        status, seconds = self.cluster.coordinator.terminate(5)

        self.assertEqual(status, 0)
        self.assertLess(seconds, 2)
        wait_until(lambda: GOODBYE in network.frame_types(), 5, "the worker is told")

    def test_killed_coordinator_keeps_leases_too(self):
        starts = self.cluster.path("starts")
        self.cluster.start_coordinator()
        self.cluster.start_worker("w1", "--slots", "1")
        task = self.cluster.enqueue("sleep", f"{starts} 3000 1", "--lease", "2s")
        wait_until(starts.exists, 10, "the handler runs")

        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()

        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(starts.read_bytes().count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
