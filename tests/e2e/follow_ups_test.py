# SPDX-License-Identifier: Apache-2.0
"""Follow-ups of completions: each is added exactly once, on any shard."""

import collections
import json
import unittest

import cluster
from cluster import wait_until

CHAINS = 64
LINKS = 40
KILLS = 5


class Chains(cluster.ClusterTest):
    """Each task of a chain is the follow-up of the previous one, and belongs to a shard of its
    own."""

    def lines(self):
        path = self.cluster.path("links")
        return path.read_text().splitlines() if path.exists() else []

    def completed(self, queue):
        stats = self.cluster.queue_stats(queue)
        return stats["completed"] if stats else 0

    def run_chains(self, *options):
        """Kills the coordinator again and again while the chains grow."""
        total = CHAINS * LINKS
        self.cluster.start_coordinator(*options)
        worker = self.cluster.start_worker("w", "--slots", "8")
        self.cluster.enqueue("fan", f"{self.cluster.path('links')} 0 0 {LINKS}")
        for kill in range(KILLS):
            share = (kill + 1) * total // (KILLS + 2)
            wait_until(lambda share=share: len(self.lines()) >= share, 60, f"{share} links")
            self.cluster.coordinator.kill()
            self.assertLess(len(self.lines()), total, "the chains were over before the kill")
            self.cluster.start_coordinator(*options)
        wait_until(lambda: self.completed("chain") >= total, 60, "all links complete")
        wait_until(lambda: self.completed("echo") >= total, 20, "all links are followed aside")
        self.assertTrue(worker.is_running())

    def check(self, *options):
        self.run_chains(*options)
        tasks = collections.defaultdict(set)
        for line in self.lines():
            chain, link, task = line.split()
            tasks[int(chain), int(link)].add(task)
        self.assertEqual(
            sorted(tasks), [(chain, link) for chain in range(CHAINS) for link in range(LINKS)])
        self.assertEqual({key: ids for key, ids in tasks.items() if len(ids) > 1}, {})
        for queue in ("chain", "echo"):
            stats = self.cluster.queue_stats(queue)
            names = ("completed", "ready", "leased", "gated", "scheduled")
            counts = [stats[name] for name in names]
            self.assertEqual(counts, [CHAINS * LINKS, 0, 0, 0, 0], queue)
        # An id contains its shard: every shard took part.
        shards = {task.replace("-", "")[20:24] for ids in tasks.values() for task in ids}
        self.assertEqual(len(shards), 12)

    def test_in_sync_every_link_is_enqueued_once(self):
        self.check("--durability", "sync")

    def test_in_os_every_link_is_enqueued_once(self):
        self.check("--durability", "os")


class Refused(cluster.ClusterTest):
    # Field of the follow-up that is invalid -> text that the refusal must contain.
    FIELDS = {
        "queue": "queue is `no queue`",
        "priority": "priority is 10; it must be 0..9",
        "payload": "payload is 1048577 bytes; it must be at most 1048576",
        "headers": "headers is 16385 bytes; it must be at most 16384",
        "count": "the number of follow-ups is 65; it must be at most 64",
    }

    def test_invalid_follow_up_fails_the_attempt_and_is_named(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")

        for field, words in self.FIELDS.items():
            task = self.cluster.enqueue("bad_follow_up", field, "--max-attempts", "1")
            status = wait_until(
                lambda task=task: (lambda s: s["state"] == "dead" and s)(
                    self.cluster.status(task)), 10, "the attempt fails")
            self.assertIn(words, status["error_text"])

        # No task was added, and a claim does not create a queue.
        self.assertIsNone(self.cluster.queue_stats("echo"))


class Bare(cluster.ClusterTest):
    def test_follow_up_without_payload_is_a_task_with_an_empty_one(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")

        self.cluster.result(self.cluster.enqueue("bare_follow_up", ""))

        by_key = ("--json", "get", "--queue", "echo", "--key", "bare")
        found = wait_until(lambda: self.cluster.try_ctl(*by_key).stdout, 10,
                           "another shard may have to take it")
        self.assertEqual(self.cluster.result(json.loads(found)["id"]), "")


if __name__ == "__main__":
    unittest.main()
