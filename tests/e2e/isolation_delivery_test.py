# SPDX-License-Identifier: Apache-2.0
"""A slow link delays only the tasks that are sent over it."""

import json
import subprocess
import time
import unittest

import cluster
import proxy

BYTES_PER_SECOND = 12_000_000
TASKS = 160
PAYLOAD_BYTES = 1_000_000
# Memory that the coordinator may use for tasks in flight to one slow peer, including its caches.
RSS_GROWTH_MAX = (256 << 20) + cluster.SANITIZER_BYTES


class SlowLink(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()
        self.network = proxy.Proxy(lambda: self.cluster.port, BYTES_PER_SECOND)
        self.addCleanup(self.network.close)

    def run_large(self, address, queue, text, payload_bytes):
        """Enqueues tasks and waits for their ends. Returns the output of e2e_large and the maximum
        memory of the coordinator meanwhile."""
        program = subprocess.Popen(
            [cluster.LARGE, address, queue, str(TASKS), text, str(payload_bytes), "60"],
            stdout=subprocess.PIPE)
        rss = 0
        while program.poll() is None:
            rss = max(rss, self.cluster.coordinator.rss_bytes())
            time.sleep(0.02)
        return json.loads(program.communicate()[0]), rss

    def test_large_tasks_reach_a_worker_on_a_slow_link_at_their_first_attempt(self):
        before = self.cluster.coordinator.rss_bytes()
        self.cluster.start("w", [
            cluster.BIN / "codeq-worker", "--coordinator", self.network.address, "--name", "w",
            "--handlers", cluster.HANDLERS, "--slots", "128"])

        seen, rss = self.run_large(self.cluster.address, "measure", "", PAYLOAD_BYTES)

        print(f"seen={seen} rss_growth={rss - before} connections={self.network.connections}")
        self.assertEqual(seen["completed"], TASKS)
        self.assertEqual(seen["attempt_max"], 1)
        self.assertEqual(self.network.connections, 1)
        self.assertLess(rss - before, RSS_GROWTH_MAX)

    def test_large_results_reach_a_producer_on_a_slow_link_over_one_connection(self):
        before = self.cluster.coordinator.rss_bytes()
        self.cluster.start_worker("w", "--slots", "16")

        text = str(PAYLOAD_BYTES)
        seen, rss = self.run_large(self.network.address, "grow", text, len(text))

        print(f"seen={seen} rss_growth={rss - before} connections={self.network.connections}")
        self.assertEqual(seen["completed"], TASKS)
        self.assertEqual(seen["result_bytes"], TASKS * PAYLOAD_BYTES)
        self.assertEqual(self.network.connections, 1)
        self.assertLess(rss - before, RSS_GROWTH_MAX)


if __name__ == "__main__":
    unittest.main()
