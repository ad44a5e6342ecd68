# SPDX-License-Identifier: Apache-2.0
"""HTTP on any coordinator of a cluster serves the tasks of all shards."""

import concurrent.futures
import re
import time
import unittest

from cluster import wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"


class HttpOfACluster(coordinators.CoordinatorsTest):
    def ask(self, node, method, path, body=None, status=200, timeout=10):
        code, answer, _ = self.cluster.http(node, method, path, body, timeout)
        self.assertEqual(status, code, (node, method, path, answer))
        return answer

    def await_connections(self, node, count):
        """Waits until a gateway has so many connections beside the one that asks for them."""
        gauge = re.compile(r"^codeq_http_connections (\d+)", re.MULTILINE)
        wait_until(lambda: int(gauge.search(self.cluster.metrics(node))[1]) > count, 10,
                   f"{node} has {count} connections")

    def add(self, node, count=24, **fields):
        """Adds tasks, whose keys spread them over all shards, in one request; returns the ids."""
        tasks = [{"queue": "q", "payload": {"n": i}, "key": f"k{i}", **fields}
                 for i in range(count)]
        answer = self.ask(node, "POST", TASKS + "/batch", {"tasks": tasks})
        ids = [one["task"]["id"] for one in answer["results"]]
        self.assertEqual(set(range(6)), {coordinators.shard_of(task) for task in ids})
        return ids

    def test_tasks_are_added_read_and_ended_through_any_coordinator(self):
        self.cluster.start_all()
        ids = self.add("c0")
        self.assertEqual(ids, self.add("c1"), "the keys name the same tasks")

        for task in ids:
            for node in self.cluster.hosts:
                self.assertEqual("ready", self.ask(node, "GET", f"{TASKS}/{task}")["state"])
        for node in self.cluster.hosts:
            queue = self.ask(node, "GET", "/v1/codeq/admin/queues/q")
            self.assertEqual(24, queue["ready"], node)
            listed = self.ask(node, "GET", TASKS + "?queue=q&limit=100")["tasks"]
            self.assertEqual(sorted(ids), sorted(one["id"] for one in listed))
        self.ask("c2", "POST", f"{TASKS}/{ids[0]}/cancel")
        self.assertEqual("cancelled", self.ask("c0", "GET", f"{TASKS}/{ids[0]}")["state"])

    def test_lease_of_another_coordinator_is_extended_and_ended(self):
        self.cluster.start_all()
        ids = set(self.add("c0"))
        leased = self.claim_all(ids)
        elsewhere = {node: next(one for one in sorted(self.cluster.hosts) if one != node)
                     for node in self.cluster.hosts}

        for task, (node, token) in leased.items():
            other, path = elsewhere[node], f"{TASKS}/{task}"
            beat = self.ask(other, "POST", path + "/heartbeat", {"fencingToken": token})
            self.assertIn("leaseUntil", beat)
            self.ask(other, "POST", path + "/result",
                     {"fencingToken": token, "status": "COMPLETED", "result": {"of": task}})
            self.assertEqual("completed", self.ask(node, "GET", path)["state"])
            code, refused, _ = self.cluster.http(
                other, "POST", path + "/heartbeat", {"fencingToken": token})
            self.assertEqual(409, code, refused)

    def claim_all(self, ids):
        """Claims the tasks at one coordinator after the other: task -> (node, token)."""
        leased = {}
        for node in self.cluster.hosts:
            while True:
                code, answer, _ = self.cluster.http(
                    node, "POST", TASKS + "/claim/batch", {"commands": ["q"], "count": 10})
                if code == 204 or not answer["tasks"]:
                    break
                self.assertEqual(200, code, answer)
                for one in answer["tasks"]:
                    leased[one["id"]] = (node, one["fencingToken"])
        self.assertEqual(ids, set(leased))
        return leased

    def test_long_poll_is_answered_by_the_end_at_another_coordinator(self):
        self.cluster.start_all()
        ids = set(self.add("c0"))
        leased = self.claim_all(ids)
        task, (node, token) = next(iter(leased.items()))
        other = next(name for name in self.cluster.hosts if name != node)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            poll = pool.submit(self.cluster.http, other, "GET",
                               f"{TASKS}/{task}/result?waitSeconds=30", None, 40)
            self.await_connections(other, 1)
            self.assertFalse(poll.done())
            self.ask(node, "POST", f"{TASKS}/{task}/result",
                     {"fencingToken": token, "status": "COMPLETED", "result": 7})
            ended = time.monotonic()
            code, answer, _ = poll.result()
        self.assertEqual(200, code, answer)
        self.assertLess(time.monotonic() - ended, 1)

    def test_request_waits_for_a_fail_over_and_no_longer(self):
        self.cluster.start_all()
        ids = self.add("c0")
        primaries = self.cluster.primaries()
        task = next(one for one in ids if primaries[coordinators.shard_of(one)] == "c2")
        self.cluster.nodes["c2"].kill()

        code, answer, took = self.cluster.http("c0", "GET", f"{TASKS}/{task}")
        self.assertEqual((200, "ready"), (code, answer.get("state")), answer)
        print(f"answered {1000 * took:.0f} ms after the primary was killed")
        self.assertLess(took, 5)

    def test_shard_that_is_not_served_is_named_with_its_coordinator(self):
        self.cluster.start_all()
        ids = self.add("c0")
        records = self.cluster.records()
        # Both copies are on the nodes that end.
        lost = next(number for number, one in sorted(records.items())
                    if "c0" not in one["replicas"].values())
        task = next(one for one in ids if coordinators.shard_of(one) == lost)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()

        code, refused, took = self.cluster.http("c0", "GET", f"{TASKS}/{task}")
        self.assertEqual(503, code, refused)
        self.assertRegex(
            refused["error"],
            rf"^shard {lost} is served by coordinator c[12] at 127\.0\.0\.[23]:\d+, which cannot "
            "be reached from here at present$")
        self.assertLess(took, 6)
        code, refused, took = self.cluster.http(
            "c0", "POST", f"{TASKS}/{task}/heartbeat", {"fencingToken": "1"})
        self.assertEqual(503, code, refused)
        self.assertLess(took, 6)
        code, refused, took = self.cluster.http(
            "c0", "POST", TASKS, {"queue": "q", "payload": 1, "key": f"k{ids.index(task)}"})
        self.assertEqual((503, "disconnected"), (code, refused.get("code")), refused)
        self.assertRegex(
            refused["error"],
            rf"^shard {lost} is served by coordinator c[12] at .*; the task was not added$")
        self.assertLess(took, 6)
        self.assertRegex(
            self.cluster.ctl_error(
                "--timeout", "2s", "enqueue", "q", "1", "--key", f"k{ids.index(task)}"),
            rf"disconnected: not sent within 2000 ms: shard {lost} is served by coordinator c[12] "
            "at .*; nothing was enqueued")

    def test_task_whose_webhook_is_of_a_shard_that_is_not_served_is_answered_as_added(self):
        self.cluster.start_all()
        ids = self.add("c0")
        records = self.cluster.records()
        lost = {number for number, one in records.items() if "c0" not in one["replicas"].values()}
        there = next(one for one in ids if coordinators.shard_of(one) not in lost)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()
        wait_until(lambda: self.cluster.http("c0", "GET", f"{TASKS}/{there}")[0] == 200, 20,
                   "a fail-over of the other shards")

        def add_without_webhook():
            """Without a key the task goes to a shard that is served. Its webhook has one."""
            code, added, took = self.cluster.http("c0", "POST", TASKS, {
                "queue": "q", "payload": 1, "webhook": "https://hooks.example/"}, 40)
            return (added, took) if code == 202 and "webhookError" in added else None

        added, took = wait_until(add_without_webhook, 60, "a webhook of a lost shard")
        self.assertEqual(
            "its shard cannot be reached at present; the webhook was not stored",
            added["webhookError"])
        self.assertLess(took, 10)
        self.assertEqual("ready", self.ask("c0", "GET", f"{TASKS}/{added['id']}")["state"])

    def test_reads_of_a_shard_that_is_not_served_hold_up_no_others(self):
        self.cluster.start_all()
        ids = self.add("c0")
        records = self.cluster.records()
        lost = {number for number, one in records.items() if "c0" not in one["replicas"].values()}
        gone = next(one for one in ids if coordinators.shard_of(one) in lost)
        there = next(one for one in ids if coordinators.shard_of(one) not in lost)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()
        wait_until(lambda: self.cluster.http("c0", "GET", f"{TASKS}/{there}")[0] == 200, 20,
                   "a fail-over of the other shards")

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            held = [pool.submit(self.cluster.http, "c0", "GET", f"{TASKS}/{gone}")
                    for _ in range(48)]
            self.await_connections("c0", 24)
            slowest = 0
            for _ in range(5):
                code, answer, took = self.cluster.http("c0", "GET", f"{TASKS}/{there}")
                self.assertEqual(200, code, answer)
                slowest = max(slowest, took)
            self.assertFalse(all(one.done() for one in held))
        print(f"slowest read of another shard: {1000 * slowest:.0f} ms")
        self.assertLess(slowest, 1)

    def test_reads_of_coordinators_that_hang_leave_their_places_to_others(self):
        self.cluster.start_all()
        ids = self.add("c0")
        records = self.cluster.records()
        lost = {number for number, one in records.items() if "c0" not in one["replicas"].values()}
        hanging = next(one for one in ids if coordinators.shard_of(one) in lost)
        there = next(one for one in ids if coordinators.shard_of(one) not in lost)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].suspend()
        wait_until(lambda: self.cluster.http("c0", "GET", f"{TASKS}/{there}")[0] == 200, 20,
                   "a fail-over of the other shards")

        # More than there are places.
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            held = [pool.submit(self.cluster.http, "c0", "GET", f"{TASKS}/{hanging}", None, 40)
                    for _ in range(12)]
            self.await_connections("c0", 12)
            code, answer, took = self.cluster.http("c0", "GET", f"{TASKS}/{there}", None, 40)
            self.assertLessEqual({one.result()[0] for one in held}, {503, 504})
        print(f"read of another shard: {1000 * took:.0f} ms")
        self.assertEqual((200, "ready"), (code, answer.get("state")), answer)
        self.assertLess(took, 15)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].go_on()


class HandOver(coordinators.CoordinatorsTest):
    def steady_gap(self, node, shard, action):
        """The longest pause between two tasks of the shard that were added through `node`, while
        `action` runs, in seconds."""
        keys = [f"k{i}" for i in range(200)]
        answers = {}
        for key in keys:
            code, added, _ = self.cluster.http(
                node, "POST", TASKS, {"queue": "q", "payload": 1, "key": key})
            self.assertIn(code, (200, 201, 202), added)
            answers.setdefault(coordinators.shard_of(added["id"]), []).append(key)
        own = answers[shard]
        done = []
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            other = None
            end = time.monotonic() + 4
            while time.monotonic() < end:
                code, added, _ = self.cluster.http(
                    node, "POST", TASKS, {"queue": "q", "payload": 1,
                                          "key": own[len(done) % len(own)]})
                self.assertIn(code, (200, 201, 202), added)
                done.append(time.monotonic())
                if other is None and len(done) == 50:
                    other = pool.submit(action)
            other.result()
        return max(later - before for before, later in zip(done, done[1:]))

    def test_terminated_coordinator_hands_its_shards_over_first(self):
        self.cluster.start_all()
        shard = next(n for n, node in sorted(self.cluster.primaries().items()) if node == "c1")

        gap = self.steady_gap("c0", shard, lambda: self.cluster.nodes["c1"].terminate(20))

        print(f"hand-over at SIGTERM: gap {1000 * gap:.0f} ms")
        self.assertNotEqual("c1", self.cluster.primaries()[shard])
        self.assertLess(gap, 3)

    def test_moved_shard_pauses_shortly(self):
        self.cluster.start_all()
        shard, record = next((n, one) for n, one in sorted(self.cluster.records().items())
                             if one["replicas"][one["primary"]] == "c1")
        target = next(record["replicas"][replica] for replica in record["in_sync"]
                      if replica != record["primary"])

        gap = self.steady_gap("c0", shard, lambda: self.cluster.ctl(
            "cluster", "move", str(shard), "--to", target))

        print(f"hand-over by cluster move: gap {1000 * gap:.0f} ms")
        self.assertEqual(target, self.cluster.primaries()[shard])
        self.assertLess(gap, 3)


if __name__ == "__main__":
    unittest.main()
