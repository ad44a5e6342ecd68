# SPDX-License-Identifier: Apache-2.0
"""All coordinators of a cluster are restarted one after the other, as for an upgrade."""

import concurrent.futures
import threading
import time
import unittest

from cluster import wait_until
from clusters import coordinators

DELAY_MAX = 5


class Everywhere(coordinators.Coordinators):
    @property
    def address(self):
        """All addresses, also of a coordinator that is away."""
        return ",".join(map(self.address_of, sorted(self.hosts)))


class RollingRestart(coordinators.CoordinatorsTest):
    def setUp(self):
        self.cluster = Everywhere()
        self.addCleanup(self.cluster.close)

    def produce(self, stop):
        """Adds a task at a time until `stop`; returns the ids and the longest time of one."""
        ids, longest = [], 0.0
        while not stop.is_set():
            began = time.monotonic()
            ids.append(self.cluster.enqueue("echo", str(len(ids))))
            longest = max(longest, time.monotonic() - began)
        return ids, longest

    def restart_all(self):
        for name in sorted(self.cluster.hosts):
            self.assertEqual(0, self.cluster.nodes[name].terminate(30)[0])
            self.assertNotIn(name, self.cluster.primaries().values(), "it did not hand over")
            self.cluster.start_node(name)
            self.cluster.await_in_sync()
            # A shard that is handed to the next node while that one stops would stay with it.
            wait_until(self.cluster.is_balanced, 30, "the shards are spread evenly")

    def test_producers_and_workers_see_no_more_than_a_delay(self):
        self.cluster.start_all()
        self.cluster.start_worker("w", "--slots", "4")
        stop = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            producers = [pool.submit(self.produce, stop) for _ in range(2)]
            try:
                self.restart_all()
            finally:
                stop.set()
            made = [one.result() for one in producers]
        ids = [task for tasks, _ in made for task in tasks]
        longest = max(took for _, took in made)
        print(f"{len(ids)} tasks, the longest enqueue took {1000 * longest:.0f} ms")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertLess(longest, DELAY_MAX)
        wait_until(lambda: self.cluster.queue_stats("echo")["completed"] == len(ids), 60,
                   "all tasks complete")
        stats = self.cluster.queue_stats("echo")
        self.assertEqual((0, 0), (stats["dead"], stats["ready"] + stats["leased"]))


if __name__ == "__main__":
    unittest.main()
