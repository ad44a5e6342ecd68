# SPDX-License-Identifier: Apache-2.0
"""What clients hear when copies are missing, and what copies take that is as large as it may be."""

import concurrent.futures
import json
import time
import unittest
import urllib.error
import urllib.request

from cluster import wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"
BATCH_BYTES = 16 << 20
PAYLOAD_BYTES = 1 << 20


class TooFewCopies(coordinators.CoordinatorsTest):
    def setUp(self):
        self.cluster = coordinators.Coordinators(replicas=3)
        self.addCleanup(self.cluster.close)

    def add(self):
        """Adds a task at `c0`."""
        return self.ask("", {"queue": "q", "payload": 1})

    def ask(self, path, body):
        """POSTs to `c0`; returns the status, the answer and its Retry-After."""
        request = urllib.request.Request(
            f"http://{self.cluster.hosts['c0']}:{self.cluster.http_ports['c0']}{TASKS}{path}",
            json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read() or "{}"), None
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused), refused.headers["Retry-After"]

    def test_tasks_are_refused_for_a_while_when_one_copy_of_three_is_left(self):
        self.cluster.start_all()
        for victim in ("c1", "c2"):
            self.cluster.nodes[victim].kill()

        def is_refused():
            self.refused = self.add()
            return "too few replicas" in self.refused[1].get("error", "")

        wait_until(is_refused, 30, "a task is refused")
        self.assertEqual((503, "1"), (self.refused[0], self.refused[2]), self.refused)
        for path, fields in (("/claim", {}), ("/claim", {"waitSeconds": 1}),
                             ("/claim/batch", {"count": 10})):
            code, refused, retry_after = self.ask(path, {"commands": ["none"], **fields})
            self.assertEqual((503, "unavailable", "1"),
                             (code, refused.get("code"), retry_after), refused)
            self.assertRegex(refused["error"], "^too few replicas of shard [0-5] are in sync")
        self.cluster.start_node("c1")
        wait_until(lambda: self.add()[0] == 202, 30, "a task is added")
        wait_until(lambda: self.ask("/claim", {"commands": ["none"]})[0] == 204, 30,
                   "all shards have enough copies")

    def claim_own(self):
        """Leases of 6 s on the shards that `c0` serves, which nobody extends: task -> token."""
        own = {shard for shard, name in self.cluster.primaries().items() if name == "c0"}
        for i in range(24):
            self.cluster.http("c0", "POST", TASKS, {"queue": "l", "payload": i, "key": f"k{i}"})
        code, claimed, _ = self.cluster.http(
            "c0", "POST", TASKS + "/claim/batch",
            {"commands": ["l"], "count": 10, "leaseSeconds": 6})
        self.assertEqual(200, code, claimed)
        return {one["id"]: one["fencingToken"] for one in claimed["tasks"]
                if coordinators.shard_of(one["id"]) in own}

    def test_leases_do_not_end_and_nothing_is_changed_while_one_copy_of_three_is_left(self):
        self.cluster.start_all()
        leased = self.claim_own()
        self.assertTrue(leased)
        over = time.monotonic() + 8
        for victim in ("c1", "c2"):
            self.cluster.nodes[victim].kill()

        wait_until(
            lambda: time.monotonic() > over and self.add()[0] == 503, 30, "a task is refused")
        code, refused, _ = self.cluster.http("c0", "POST", f"{TASKS}/{next(iter(leased))}/cancel")
        self.assertEqual(503, code, refused)
        self.assertRegex(refused["error"], "^too few replicas of shard [0-5] are in sync for new w")
        self.cluster.start_node("c1")
        wait_until(lambda: self.add()[0] == 202, 30, "a task is added")

        def complete(task, token):
            return self.cluster.http("c0", "POST", f"{TASKS}/{task}/result",
                                     {"fencingToken": token, "status": "COMPLETED"})

        for task, token in leased.items():
            # Each shard has to wait for its own copy.
            code, answer, _ = wait_until(
                lambda t=task, k=token: next((a for a in [complete(t, k)] if a[0] != 503), None),
                30, "the result is taken")
            self.assertEqual(200, code, answer)


class DiskThatRefusesTasks(coordinators.CoordinatorsTest):
    def holders(self):
        return {node for one in self.cluster.records().values()
                for node in one["replicas"].values()}

    def test_its_shards_and_copies_go_elsewhere_and_come_back(self):
        self.cluster.start_all()
        self.cluster.nodes["c0"].terminate(20)
        self.cluster.start_node("c0", "--free-bytes", str(1 << 60))

        wait_until(lambda: self.holders() == {"c1", "c2"}, 60, "c0 has no copy any more")
        for i in range(30):
            self.cluster.enqueue("q", "x", "--key", f"k{i}")  # None is refused.

        self.cluster.nodes["c0"].terminate(20)
        self.cluster.start_node("c0")
        wait_until(self.cluster.is_balanced, 60, "the shards are spread evenly again")


class LargestBatch(coordinators.CoordinatorsTest):
    def batch(self, number):
        """The text of a batch that is as large as it may be, for one shard."""
        tasks = [{"queue": "q", "group": "g", "payload": ""} for _ in range(17)]
        room = BATCH_BYTES - len(json.dumps({"tasks": tasks}))
        for task in tasks:
            task["payload"] = str(number) * min(room, PAYLOAD_BYTES - 2)
            room -= len(task["payload"])
        return {"tasks": tasks}

    def test_reaches_the_copies_and_outlives_its_primary(self):
        self.cluster.start_all()
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            posts = [pool.submit(self.cluster.http, f"c{n % 3}", "POST", TASKS + "/batch",
                                 self.batch(n), 60) for n in range(6)]
            answers = [post.result() for post in posts]
        ids = []
        for status, answer, _ in answers:
            self.assertEqual(200, status, str(answer)[:200])
            ids += [one["task"]["id"] for one in answer["results"]]
        self.assertEqual(6 * 17, len(set(ids)))
        shard = coordinators.shard_of(ids[0])
        self.assertEqual({shard}, {coordinators.shard_of(one) for one in ids})
        self.assertEqual(2, len(self.cluster.records()[shard]["in_sync"]))
        self.assertNotIn("over the limit", "".join(
            self.cluster.nodes[name].text() for name in self.cluster.hosts))

        victim = self.cluster.primaries()[shard]
        self.cluster.nodes[victim].kill()
        other = next(name for name in sorted(self.cluster.hosts) if name != victim)
        wait_until(lambda: self.cluster.primaries()[shard] != victim, 20, "another primary")
        for task in ids:
            status, answer, _ = self.cluster.http(other, "GET", f"{TASKS}/{task}")
            self.assertEqual(200, status, answer)


if __name__ == "__main__":
    unittest.main()
