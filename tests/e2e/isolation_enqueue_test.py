# SPDX-License-Identifier: Apache-2.0
"""While the disk stalls, enqueues wait in the coordinator's memory: their size is bounded, and one
tenant leaves room for others."""

import concurrent.futures
import json
import os
import subprocess
import time
import unittest

import cluster
from cluster import wait_until
from isolation_http_test import TenantsTest

MIB = 1 << 20
ENQUEUE_BYTES = 64 * MIB
PRODUCERS = 6
TASKS = 60
PAYLOAD_BYTES = 1_000_000
# One tenant gets half of the bytes; the copy in the log and memory kept by the allocator are extra.
RSS_GROWTH_MAX = 3 * ENQUEUE_BYTES // 2 + 64 * MIB + cluster.SANITIZER_BYTES


@unittest.skipIf(cluster.SANITIZERS, "a preloaded library comes before the sanitizer")
class StalledDisk(TenantsTest):
    def start_gateway(self, *options, **more):
        self.sign = self.cluster.path("stalled")
        os.environ["LD_PRELOAD"] = str(cluster.BUILD / "lib" / "libe2e_stalled_disk.so")
        os.environ["STALLED_DISK"] = str(self.sign)
        try:
            return super().start_gateway(
                "--enqueue-bytes", ENQUEUE_BYTES, *options, durability="sync", **more)
        finally:
            os.environ.pop("LD_PRELOAD")
            os.environ.pop("STALLED_DISK")

    def stall(self):
        self.sign.touch()

    def go_on(self):
        self.sign.unlink()

    def met_limit(self):
        return "limit=enqueue_bytes_max" in self.cluster.coordinator.text()

    def test_many_producers_take_bounded_memory_and_all_go_on(self):
        self.start_gateway()
        before = self.cluster.coordinator.rss_bytes()
        self.stall()
        producers = [subprocess.Popen(
            [cluster.LARGE, self.cluster.address, "measure", str(TASKS), "", str(PAYLOAD_BYTES),
             "60"], stdout=subprocess.PIPE) for _ in range(PRODUCERS)]
        rss = 0
        end = time.monotonic() + 5
        while time.monotonic() < end:
            rss = max(rss, self.cluster.coordinator.rss_bytes())
            time.sleep(0.02)
        self.assertTrue(self.met_limit())
        self.go_on()
        self.cluster.start_worker("w", "--slots", "16")

        seen = [json.loads(producer.communicate()[0]) for producer in producers]

        print(f"rss_growth={(rss - before) // MIB} MiB")
        self.assertEqual([TASKS] * PRODUCERS, [one["completed"] for one in seen])
        self.assertLess(rss - before, RSS_GROWTH_MAX)

    def test_requests_of_one_tenant_are_refused_and_those_of_another_wait(self):
        self.start_gateway(access=self.create_tokens("mallory", "acme"))
        large = {"command": "q", "payload": "x" * PAYLOAD_BYTES}
        self.stall()
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            flood = [pool.submit(self.ask, "mallory", "POST", "/tasks", large) for _ in range(50)]
            wait_until(self.met_limit, 20, "mallory meets the limit")
            mine = [pool.submit(self.ask, "acme", "POST", "/tasks", large) for _ in range(5)]
            time.sleep(1)
            self.assertFalse(any(one.done() for one in mine))
            self.go_on()
            answers = [one.result() for one in flood]

        self.assertEqual([202] * 5, [one.result().status for one in mine])
        refused = [answer for answer in answers if answer.status == 503]
        print(f"{len(refused)} of {len(answers)} requests of a flood were refused")
        self.assertTrue(refused)
        self.assertIn("tenant mallory", refused[0].json["error"])
        self.assertIn("enqueue_bytes_max", refused[0].json["error"])
        self.assertEqual({202, 503}, {answer.status for answer in answers})


if __name__ == "__main__":
    unittest.main()
