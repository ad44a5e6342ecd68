# SPDX-License-Identifier: Apache-2.0
"""Limits of a cluster: tasks whose limit key belongs to a shard of another coordinator."""

import json
import unittest

from clusters import coordinators
from cluster import wait_until

GROUPS = 24
TASKS = 4


class LimitsOfACluster(coordinators.CoordinatorsTest):
    """Groups put the tasks of one key on all shards; most of them need permits of its owner."""

    def spans(self):
        path = self.cluster.path("spans")
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return sorted((int(row[1]), int(row[2])) for row in rows)

    def is_in_sync(self):
        return all(len(one["in_sync"]) > 1 for one in self.cluster.records().values())

    def use(self):
        return json.loads(self.cluster.ctl("--json", "limit", "show", "one"))

    def check(self, *options):
        self.cluster.start_all(*options)
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.run_over_kills(["--limit", "one:a"], options)
        wait_until(lambda: self.use()["leased"] == 0, 20, "all permits are back")

    def run_over_kills(self, limit, options):
        total = GROUPS * TASKS
        self.cluster.start_worker("w", "--slots", "8")
        for number in range(total):
            self.cluster.enqueue("span", f"{self.cluster.path('spans')} a 20", *limit,
                                 "--group", f"g{number % GROUPS}")
        for share in (total // 4, total // 2):
            wait_until(lambda share=share: len(self.spans()) >= share, 60, f"{share} tasks")
            wait_until(self.is_in_sync, 60, "all copies in sync")
            victim = self.cluster.primaries()[0]
            self.cluster.nodes[victim].kill()
            wait_until(lambda victim=victim: victim not in self.cluster.primaries().values(), 20,
                       "other primaries")
            self.cluster.start_node(victim, *options)
        wait_until(lambda: len(self.spans()) >= total, 60, "all tasks run")

        spans = self.spans()
        self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])), spans)

    def test_in_sync_one_task_runs_at_a_time_over_kills_of_primaries(self):
        self.check("--durability", "sync")

    def test_in_os_one_task_runs_at_a_time_over_kills_of_primaries(self):
        self.check("--durability", "os")

    def test_a_queue_with_a_maximum_of_one_runs_one_task_at_a_time_over_kills_of_primaries(self):
        options = ["--durability", "os"]
        self.cluster.start_all(*options)
        self.cluster.ctl("queue", "set", "span", "--max-leased", "1")
        self.run_over_kills([], options)


if __name__ == "__main__":
    unittest.main()
