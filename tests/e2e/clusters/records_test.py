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
SUBSCRIPTIONS = "/v1/codeq/workers/subscriptions"
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

    def subscribe(self, node, receiver):
        """Makes a subscription that is called at the path of the node; returns its id."""
        made = self.ask(node, "POST", SUBSCRIPTIONS, {
            "callbackUrl": f"http://127.0.0.1:{receiver.port}/{node}", "queues": ["q"],
            "minIntervalSeconds": 1, "ttlSeconds": 600})
        return made["subscriptionId"]

    def renew(self, node, subscription, seconds, status=200):
        return self.ask(node, "POST", f"{SUBSCRIPTIONS}/{subscription}/heartbeat",
                        {"ttlSeconds": seconds}, status)

    def test_subscriptions_are_renewed_at_every_coordinator_and_end(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.cluster.start_all("--webhook-allow-private")
        made = {node: self.subscribe(node, receiver) for node in self.cluster.hosts}

        for subscription in made.values():
            expiries = []
            for seconds, node in enumerate(self.cluster.hosts, 1):
                renewed = self.renew(node, subscription, 1000 * seconds)
                self.assertEqual(subscription, renewed["subscriptionId"])
                expiries.append(renewed["expiresAt"])
            self.assertEqual(sorted(expiries), expiries)
        for node in self.cluster.hosts:
            self.renew(node, "0123456789abcdef0123456789abcdef", 60, 404)
        self.cluster.enqueue("q", "x")
        paths = {f"/{node}" for node in made}
        wait_until(lambda: {path for path, _, _ in receiver.requests} == paths, 20,
                   "all subscribers are called")

        for node, other in zip(sorted(made), ("c1", "c2", "c0")):
            self.renew(other, made[node], 10)
        time.sleep(12)
        told = len(receiver.requests)
        for subscription in made.values():
            for node in self.cluster.hosts:
                self.renew(node, subscription, 60, 404)
        time.sleep(3)
        self.assertEqual(told, len(receiver.requests))

    def test_subscription_is_made_at_a_coordinator_without_shards(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.cluster.start_all("--webhook-allow-private")
        self.cluster.ctl("cluster", "drain", "c2", "--wait", "50s")
        self.assertNotIn("c2", self.cluster.primaries().values())

        subscription = self.subscribe("c2", receiver)
        for node in self.cluster.hosts:
            self.renew(node, subscription, 600)
        self.ask("c2", "POST", SUBSCRIPTIONS, {"callbackUrl": "ftp://127.0.0.1/"}, 400)

        self.cluster.enqueue("q", "x")
        wait_until(lambda: receiver.requests, 20, "the subscriber is called")
        self.assertEqual("q", json.loads(receiver.requests[0][2])["queue"])


if __name__ == "__main__":
    unittest.main()
