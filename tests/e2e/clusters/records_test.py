# SPDX-License-Identifier: Apache-2.0
"""What a gateway keeps as tasks goes on in a cluster, at one coordinator at a time."""

import json
import time
import unittest

from cluster import wait_until
from clusters import coordinators
from webhook_test import Receiver

TASKS = "/v1/codeq/tasks"
OPERATIONS = "/v1/codeq/admin/operations"
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

    def cancelled(self, node):
        return COUNT - self.ask(node, "GET", "/v1/codeq/admin/queues/q")["delayed"]

    def shown(self, operation):
        """The operation as each coordinator that has it shows it, by node; and the refusals."""
        answers = {node: self.cluster.http(node, "GET", f"{OPERATIONS}/{operation}")[:2]
                   for node in self.cluster.hosts if self.cluster.nodes[node].is_running()}
        shown = {node: answer for node, (code, answer) in answers.items() if code == 200}
        return shown, {node: answer for node, answer in answers.items() if node not in shown}

    def test_operation_belongs_to_one_coordinator_also_after_a_restart_of_another(self):
        self.cluster.start_all()
        self.add("c0")
        operation = self.ask("c0", "POST", OPERATIONS,
                             {"kind": "cancel", "queue": "q", "rate": 2}, 202)["id"]
        shown, refused = self.shown(operation)
        self.assertEqual(["c0"], list(shown))
        for code, answer in refused.values():
            self.assertEqual(503, code, answer)
            self.assertRegex(answer["error"], r"^shard \d is served by coordinator c0 at ")

        self.cluster.nodes["c1"].terminate(20)
        self.cluster.start_node("c1")
        self.cluster.await_in_sync()
        wait_until(lambda: len(self.shown(operation)[0]) == 1, 20, "one coordinator has it")
        owner = list(self.shown(operation)[0])[0]
        self.assertEqual(
            "paused",
            self.ask(owner, "POST", f"{OPERATIONS}/{operation}/pause")["status"])
        time.sleep(1)  # What was on its way is done.
        done = self.cancelled("c0")
        self.assertLess(done, COUNT, "nothing is left to pause")
        time.sleep(3)
        self.assertEqual(done, self.cancelled("c0"), "another coordinator goes on")
        self.assertEqual(done, self.ask(owner, "GET", f"{OPERATIONS}/{operation}")["done"])

    def test_operation_goes_on_when_its_coordinator_dies(self):
        self.cluster.start_all()
        self.add("c0")
        operation = self.ask("c2", "POST", OPERATIONS,
                             {"kind": "cancel", "queue": "q", "rate": 10}, 202)["id"]
        time.sleep(1)
        self.cluster.nodes["c2"].kill()

        def ended():
            return any(one["status"] == "completed" for one in self.shown(operation)[0].values())

        wait_until(ended, 40, "another coordinator ends the operation")
        shown = list(self.shown(operation)[0].values())
        self.assertEqual(1, len(shown))
        self.assertEqual(COUNT, shown[0]["done"])
        self.assertEqual(COUNT, self.cancelled("c0"))

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

    def test_counts_of_a_coordinator_that_hangs_are_not_those_of_another(self):
        self.cluster.start_all()
        self.add("c0")
        self.cluster.nodes["c2"].suspend()
        self.addCleanup(self.cluster.nodes["c2"].go_on)

        for _ in range(4):
            code, queue, took = self.cluster.http("c0", "GET", "/v1/codeq/admin/queues/q")
            self.assertEqual(200, code, queue)
            self.assertLessEqual(queue["delayed"], COUNT)
            self.assertLess(took, 6)


if __name__ == "__main__":
    unittest.main()
