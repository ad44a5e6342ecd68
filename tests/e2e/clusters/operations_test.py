# SPDX-License-Identifier: Apache-2.0
"""An operation on all that match covers the shards of all coordinators, and outlives its own."""

import time
import unittest

from clusters import coordinators
from cluster import wait_until

TASKS = 300


class OperationsOfACluster(coordinators.CoordinatorsTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_all()

    def ask(self, node, method, path, body=None, status=200):
        code, answer, _ = self.cluster.http(node, method, "/v1/codeq/admin" + path, body, 30)
        self.assertEqual(status, code, answer)
        return answer

    def add_scheduled(self, count):
        """Tasks of all shards that wait for a time; keys spread them."""
        for first in range(0, count, 100):
            code, answer, _ = self.cluster.http("c0", "POST", "/v1/codeq/tasks/batch", {"tasks": [
                {"queue": "q", "payload": 1, "key": f"k{first + i}", "delaySeconds": 3600,
                 "allowPromotion": True} for i in range(min(100, count - first))]})
            self.assertEqual(200, code, answer)
            self.assertNotIn("error", str(answer))
        # The operation begins later than the last enqueue, also where clocks are read apart.
        time.sleep(0.05)

    def counts(self, node="c0"):
        return self.ask(node, "GET", "/queues/q")

    def begin(self, node, **fields):
        return self.ask(node, "POST", "/operations",
                        {"kind": "promote", "queue": "q", **fields}, 202)

    def show(self, node, operation):
        return self.ask(node, "GET", f"/operations/{operation}")

    def wait_status(self, node, operation, status):
        return wait_until(
            lambda: (lambda one: one if one["status"] == status else None)(
                self.show_if_there(node, operation)), 60, status)

    def test_covers_the_shards_of_all_coordinators(self):
        self.add_scheduled(TASKS)
        self.assertEqual(TASKS, self.counts()["delayed"])

        begun = self.begin("c1")

        self.assertEqual(("c1", 6), (begun["coordinator"], begun["shards"]))
        ended = self.wait_status("c1", begun["id"], "completed")
        self.assertEqual((TASKS, 0), (ended["done"], ended["unchanged"]))
        counts = self.counts()
        self.assertEqual((TASKS, 0), (counts["ready"], counts["delayed"]))

    def test_every_coordinator_shows_and_changes_it(self):
        self.add_scheduled(TASKS)
        operation = self.begin("c0", rate=20)["id"]

        for node in self.cluster.hosts:
            shown = self.show(node, operation)
            self.assertEqual(("running", "c0"), (shown["status"], shown["coordinator"]), node)
            self.assertEqual([operation], [
                one["id"] for one in self.ask(node, "GET", "/operations")["operations"]], node)
        paused = self.ask("c1", "POST", f"/operations/{operation}/pause")
        self.assertEqual("paused", paused["status"])
        self.assertEqual("paused", self.show("c0", operation)["status"])
        self.assertEqual(["start", "pause"], [one["what"] for one in paused["events"]])
        done = self.show("c0", operation)["done"]
        refused = self.ask("c2", "POST", f"/operations/{operation}/pause", status=409)
        self.assertIn(" is paused", refused["error"])
        self.assertEqual(done, self.show("c2", operation)["done"])
        self.assertEqual("running",
                         self.ask("c2", "POST", f"/operations/{operation}/resume")["status"])
        self.assertEqual("cancelled",
                         self.ask("c1", "POST", f"/operations/{operation}/cancel")["status"])
        self.ask("c2", "POST", f"/operations/{operation}/resume", status=409)
        self.ask("c1", "POST", "/operations/0123456789abcdef/pause", status=404)
        self.assertLess(self.counts()["ready"], TASKS)

    def test_goes_on_at_another_coordinator_after_kill_9(self):
        self.add_scheduled(TASKS)
        operation = self.begin("c2", rate=40)["id"]
        wait_until(lambda: self.show("c0", operation)["done"] >= 40, 30, "the first tasks")

        self.cluster.nodes["c2"].kill()

        successor = wait_until(
            lambda: (lambda one: one["coordinator"] if one["coordinator"] != "c2" else None)(
                self.show_if_there("c0", operation)), 30, "a successor")
        self.assertIn(successor, ("c0", "c1"))
        ended = self.wait_status("c0", operation, "completed")
        # Each task that matched was changed once, whoever did it.
        self.assertEqual(TASKS, ended["done"] + ended["unchanged"])
        self.assertEqual(["start", "end"], [one["what"] for one in ended["events"]])
        counts = wait_until(
            lambda: (lambda told: told if told["ready"] + told["delayed"] == TASKS else None)(
                self.counts()), 20, "the counts of all shards")
        self.assertEqual((TASKS, 0), (counts["ready"], counts["delayed"]))

    def show_if_there(self, node, operation):
        """A request may be refused while a shard has no primary."""
        code, answer, _ = self.cluster.http(
            node, "GET", f"/v1/codeq/admin/operations/{operation}", timeout=30)
        return answer if code == 200 else {"coordinator": "c2", "status": "unknown"}

    def is_ready(self):
        try:
            return self.cluster.http("c1", "GET", "/readyz")[0] == 200
        except OSError:
            return False  # It does not listen yet.

    def test_a_coordinator_that_starts_again_takes_no_operation_of_another(self):
        self.add_scheduled(TASKS)
        operation = self.begin("c0", rate=30)["id"]

        self.cluster.nodes["c1"].kill()
        self.cluster.start_node("c1")
        wait_until(self.is_ready, 30, "ready")

        shown = self.show("c1", operation)
        self.assertEqual("c0", shown["coordinator"])
        self.ask("c0", "POST", f"/operations/{operation}/pause")
        done = self.show("c0", operation)["done"]
        ready = self.counts()["ready"]
        time.sleep(1)
        self.assertEqual((done, ready), (self.show("c1", operation)["done"],
                                         self.counts()["ready"]))


if __name__ == "__main__":
    unittest.main()
