# SPDX-License-Identifier: Apache-2.0
"""What a shard hands over to a shard of another coordinator: follow-ups of completions, each added
exactly once although coordinators are killed, tasks of schedules and their ends, and webhooks whose
coordinator is gone."""

import collections
import json
import unittest

from clusters import coordinators
from cluster import wait_until
from webhook_test import Receiver

CHAINS = 64
LINKS = 25


class ChainsOfACluster(coordinators.CoordinatorsTest):
    """Each task of a chain is the follow-up of the previous one, and belongs to a shard of its
    own, most of them on another coordinator."""

    def lines(self):
        path = self.cluster.path("links")
        return path.read_text().splitlines() if path.exists() else []

    def completed(self, queue):
        stats = self.cluster.queue_stats(queue)
        return stats["completed"] if stats else 0

    def kill_one(self):
        """Kills the primary of a shard with two copies in sync, and starts it again when another
        one has taken over."""
        shard = next(shard for shard, one in sorted(self.cluster.records().items())
                     if len(one["in_sync"]) > 1)
        victim = self.cluster.primaries()[shard]
        self.cluster.nodes[victim].kill()
        self.assertLess(len(self.lines()), CHAINS * LINKS, "the chains were over before the kill")
        wait_until(lambda: self.cluster.primaries()[shard] != victim, 20, "another primary")
        self.cluster.start_node(victim, *self.options)

    def check(self, *options):
        total = CHAINS * LINKS
        self.options = options
        self.cluster.start_all(*options)
        self.cluster.start_worker("w", "--slots", "4")
        self.cluster.enqueue("fan", f"{self.cluster.path('links')} 0 0 {LINKS}")
        for share in (total // 5, total // 2):
            wait_until(lambda share=share: len(self.lines()) >= share, 40, f"{share} links")
            self.kill_one()
        wait_until(lambda: self.completed("chain") >= total, 60, "all links complete")

        tasks = collections.defaultdict(set)
        for line in self.lines():
            chain, link, task = line.split()
            tasks[int(chain), int(link)].add(task)
        self.assertEqual(
            sorted(tasks), [(chain, link) for chain in range(CHAINS) for link in range(LINKS)])
        self.assertEqual({key: ids for key, ids in tasks.items() if len(ids) > 1}, {})
        stats = self.cluster.queue_stats("chain")
        self.assertEqual(
            [total, 0, 0, 0, 0],
            [stats[name] for name in ("completed", "ready", "leased", "gated", "scheduled")])
        shards = {coordinators.shard_of(task) for ids in tasks.values() for task in ids}
        self.assertEqual(set(range(self.cluster.shard_count)), shards)

    def test_in_sync_every_link_is_added_once_over_kills_of_primaries(self):
        self.check("--durability", "sync")

    def test_in_os_every_link_is_added_once_over_kills_of_primaries(self):
        self.check("--durability", "os")


class EndsOfACluster(coordinators.CoordinatorsTest):
    """Tasks of schedules whose group puts them on other shards than the schedules."""

    NAMES = [f"tick{i}" for i in range(6)]

    def completed(self, name):
        listed = json.loads(self.cluster.ctl("--json", "schedule", "history", name))
        return sum(one["state"] == "completed" for one in listed["occurrences"])

    def await_more(self, counts):
        for name, count in counts.items():
            wait_until(lambda name=name, count=count: self.completed(name) >= count + 2, 30,
                       f"{name} learns that its tasks end")

    def test_ends_of_their_tasks_reach_schedules_also_after_a_kill(self):
        self.cluster.start_all()
        self.cluster.start_worker("w", "--slots", "4")
        for name in self.NAMES:
            self.cluster.ctl("schedule", "set", name, "--queue", "echo", "--payload", "x",
                             "--group", name, "--every", "1s", "--overlap", "skip")
        self.await_more({name: 0 for name in self.NAMES})

        victim = self.cluster.primaries()[0]
        self.cluster.nodes[victim].kill()
        wait_until(lambda: victim not in self.cluster.primaries().values(), 20, "other primaries")

        self.await_more({name: self.completed(name) for name in self.NAMES})


class WebhooksOfACluster(coordinators.CoordinatorsTest):
    def test_webhooks_of_a_coordinator_that_is_gone_are_delivered_by_others(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.cluster.start_all("--webhook-allow-private")
        tasks = [{"queue": "echo", "payload": {"n": i}, "key": f"k{i}",
                  "webhook": f"http://localhost:{receiver.port}/"} for i in range(24)]
        status, answer, _ = self.cluster.http(
            "c0", "POST", "/v1/codeq/tasks/batch", {"tasks": tasks})
        self.assertEqual(200, status, answer)
        ids = {one["task"]["id"] for one in answer["results"]}
        self.assertEqual(set(range(6)), {coordinators.shard_of(task) for task in ids})

        self.cluster.nodes["c0"].kill()
        wait_until(lambda: "c0" not in self.cluster.primaries().values(), 20, "other primaries")
        self.cluster.start_worker("w", "--slots", "4")

        def told():
            return {json.loads(body)["taskId"] for _, _, body in receiver.requests}

        wait_until(lambda: told() == ids, 30, "each webhook is delivered")


if __name__ == "__main__":
    unittest.main()
