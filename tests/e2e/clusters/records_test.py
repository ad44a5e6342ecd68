# SPDX-License-Identifier: Apache-2.0
"""What a gateway keeps as tasks goes on in a cluster, at one coordinator at a time."""

import concurrent.futures
import json
import time
import unittest

from cluster import wait_until
from clusters import coordinators
from webhook_test import Receiver

TASKS = "/v1/codeq/tasks"
COUNT = 60


def delivered(receiver):
    """The ids of the tasks whose ends were told."""
    return [json.loads(body)["taskId"] for _, _, body in receiver.requests]


class RecordsOfACluster(coordinators.CoordinatorsTest):
    def ask(self, node, method, path, body=None, status=200):
        code, answer, _ = self.cluster.http(node, method, path, body)
        self.assertEqual(status, code, (node, method, path, answer))
        return answer

    def add(self, node, **fields):
        """Adds deferred tasks on all shards through the node; returns the ids."""
        tasks = [{"queue": "q", "payload": 1, "key": f"k{i}", "delaySeconds": 3600, **fields}
                 for i in range(COUNT)]
        added = self.ask(node, "POST", TASKS + "/batch", {"tasks": tasks})["results"]
        time.sleep(0.1)  # Later tasks do not match an operation.
        return [one["task"]["id"] for one in added]

    def test_webhooks_are_delivered_when_their_coordinator_has_died(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.cluster.start_all("--webhook-allow-private")
        ids = self.add("c2", webhook=f"http://127.0.0.1:{receiver.port}/hook")
        self.cluster.nodes["c2"].kill()
        wait_until(lambda: "c2" not in self.cluster.primaries().values(), 20, "a fail-over")

        for task in ids:
            self.ask("c0", "POST", f"{TASKS}/{task}/cancel")

        def missing():
            return set(ids) - set(delivered(receiver))

        wait_until(lambda: not missing(), 30, "all webhooks are delivered")
        twice = len(delivered(receiver)) - len(ids)
        print(f"{twice} of {len(ids)} webhooks were delivered twice")

    def test_webhooks_are_delivered_once_while_shards_move(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.cluster.start_all("--webhook-allow-private")
        ids = self.add("c0", webhook=f"http://127.0.0.1:{receiver.port}/hook")
        self.cluster.nodes["c1"].terminate(20)
        wait_until(lambda: "c1" not in self.cluster.primaries().values(), 20, "a hand-over")
        self.cluster.start_node("c1", "--webhook-allow-private")
        self.cluster.await_in_sync()

        for task in ids:
            self.ask("c2", "POST", f"{TASKS}/{task}/cancel")

        wait_until(lambda: len(delivered(receiver)) >= len(ids), 30, "all webhooks are delivered")
        time.sleep(4)
        self.assertEqual(sorted(ids), sorted(delivered(receiver)))

    def test_counts_of_a_coordinator_that_dies_are_not_those_of_another(self):
        self.cluster.start_all()
        ids = self.add("c0")
        primaries = self.cluster.primaries()
        elsewhere = [one for one in ids if primaries[coordinators.shard_of(one)] != "c2"]
        for task in set(ids) - set(elsewhere):
            self.ask("c0", "POST", f"{TASKS}/{task}/cancel")
        self.cluster.nodes["c2"].suspend()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.ask, "c0", "GET", "/v1/codeq/admin/queues")
            time.sleep(0.5)
            self.assertFalse(asked.done(), "it waits for the one that hangs")
            self.cluster.nodes["c2"].kill()
            queues = asked.result()
        self.assertEqual(len(elsewhere), queues["codeq:q:q:default:delayed"])


if __name__ == "__main__":
    unittest.main()
