# SPDX-License-Identifier: Apache-2.0
"""A coordinator that was alone becomes the first of a cluster, with its store as it is."""

import unittest

from cluster import BIN, wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"
SHARDS = 6


class FounderOfACluster(coordinators.CoordinatorsTest):
    def ask(self, node, method, path, body=None, status=200):
        code, answer, _ = self.cluster.http(node, method, path, body)
        self.assertEqual(status, code, (node, method, path, answer))
        return answer

    def start_alone(self):
        """Starts `c0` without a cluster."""
        node = self.cluster.start("c0", [
            BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("store-c0"),
            "--listen", self.cluster.address_of("c0"),
            "--http", f"{self.cluster.hosts['c0']}:{self.cluster.http_ports['c0']}",
            "--shards", str(SHARDS)])
        self.cluster.nodes["c0"] = node
        self.cluster.port = self.cluster.ports["c0"]
        wait_until(lambda: self.is_ready("c0"), 20, "it serves")
        return node

    def is_ready(self, node):
        try:
            return self.cluster.http(node, "GET", "/readyz")[0] == 200
        except OSError:
            return False

    def claim(self, node, count):
        """Claims up to so many ready tasks."""
        leased = {}
        while len(leased) < count:
            code, answer, _ = self.cluster.http(node, "POST", TASKS + "/claim/batch", {
                "commands": ["q"], "count": 10, "leaseSeconds": 600})
            if code == 204:
                break
            self.assertEqual(200, code, answer)
            leased.update((one["id"], one["fencingToken"]) for one in answer["tasks"])
        return leased

    def complete(self, node, task, token, status=200):
        self.ask(node, "POST", f"{TASKS}/{task}/result",
                 {"fencingToken": token, "status": "COMPLETED", "result": {"of": task}}, status)

    def states(self, node, tasks):
        return {task: self.ask(node, "GET", f"{TASKS}/{task}")["state"] for task in tasks}

    def test_tasks_leases_and_tokens_stay_as_they_are(self):
        alone = self.start_alone()
        self.cluster.ctl("queue", "set", "q", "--max-attempts", "7")
        answer = self.ask("c0", "POST", TASKS + "/batch", {"tasks": [
            {"queue": "q", "payload": {"n": n}, "key": f"k{n}"} for n in range(60)]})
        ids = [one["task"]["id"] for one in answer["results"]]
        self.assertEqual(set(range(SHARDS)), {coordinators.shard_of(one) for one in ids})
        leased = self.claim("c0", 30)
        done = sorted(leased)[:15]
        for task in done:
            self.complete("c0", task, leased.pop(task))
        before = self.states("c0", ids)
        alone.terminate(20)

        self.cluster.start_node("c0")
        wait_until(lambda: self.is_ready("c0"), 30, "the founder serves")
        self.assertEqual(before, self.states("c0", ids))
        self.assertEqual(SHARDS, len(self.cluster.records()))
        for name in ("c1", "c2"):
            self.cluster.start_node(name)
        self.cluster.await_in_sync()
        wait_until(self.cluster.is_balanced, 60, "the shards are spread evenly")
        self.assertEqual(before, self.states("c1", ids))
        settings = self.ask("c2", "GET", "/v1/codeq/admin/queues/q/settings")
        self.assertEqual(7, settings["settings"]["maxAttempts"], settings)
        # Leases of before are ended by their tokens, at whatever coordinator serves them now.
        for task, token in leased.items():
            self.complete("c1", task, token)
        again = {}
        for node in self.cluster.hosts:
            again.update(self.claim(node, 60))
        self.assertEqual(set(ids) - set(done) - set(leased), set(again))
        newest = {}
        for task, token in leased.items():
            shard = coordinators.shard_of(task)
            newest[shard] = max(newest.get(shard, 0), int(token))
        for task, token in again.items():
            self.assertGreater(int(token), newest.get(coordinators.shard_of(task), 0))

        self.cluster.nodes["c0"].kill()
        wait_until(lambda: "c0" not in self.cluster.primaries().values(), 20, "other primaries")
        for task, token in again.items():
            self.complete("c2", task, token)
        self.assertEqual({"completed"}, set(self.states("c1", ids).values()))


if __name__ == "__main__":
    unittest.main()
