# SPDX-License-Identifier: Apache-2.0
"""Claims over HTTP at any coordinator of a cluster get the tasks of all shards."""

import concurrent.futures
import time
import unittest

from cluster import wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"
GROUPS = [f"g{i}" for i in range(60)]


class ClaimsOfACluster(coordinators.CoordinatorsTest):
    def ask(self, node, method, path, body=None, timeout=10):
        code, answer, _ = self.cluster.http(node, method, path, body, timeout)
        self.assertIn(code, (200, 201, 202, 204), (node, method, path, answer))
        return answer

    def add(self, node, groups, queue="q"):
        """Adds a task of each group; its group names its shard. Returns the ids by group."""
        tasks = [{"queue": queue, "payload": 1, "group": group} for group in groups]
        answer = self.ask(node, "POST", TASKS + "/batch", {"tasks": tasks})
        return dict(zip(groups, (one["task"]["id"] for one in answer["results"])))

    def claim(self, node, count=10, queues=("q",)):
        """One claim that does not wait: the tasks by id."""
        answer = self.ask(node, "POST", TASKS + "/claim/batch",
                          {"queues": list(queues), "count": count})
        tasks = answer["tasks"] if answer else []
        self.assertLessEqual(len(tasks), count)
        return {one["id"]: one["fencingToken"] for one in tasks}

    def claim_all(self, node, count, queues=("q",), within=20):
        """Claims at one coordinator until it has so many tasks."""
        found = {}

        def has_all():
            more = self.claim(node, queues=queues)
            self.assertFalse(set(more) & set(found), "a task is leased twice")
            found.update(more)
            return len(found) >= count

        wait_until(has_all, within, f"{count} tasks for {node}")
        self.assertEqual(count, len(found))
        return found

    def complete(self, node, tasks):
        for task, token in tasks.items():
            self.ask(node, "POST", f"{TASKS}/{task}/result",
                     {"fencingToken": token, "status": "COMPLETED", "result": 1})

    def group_at(self, ids, node):
        """A group whose shard that coordinator serves."""
        primaries = self.cluster.primaries()
        return next(group for group, task in ids.items()
                    if primaries[coordinators.shard_of(task)] == node)

    def poll(self, pool, node, seconds, **fields):
        return pool.submit(self.cluster.http, node, "POST", TASKS + "/claim",
                           {"waitSeconds": seconds, **fields}, seconds + 20)

    def test_claims_at_one_coordinator_get_the_tasks_of_all_shards(self):
        self.cluster.start_all()
        ids = self.add("c1", GROUPS)
        self.assertEqual(set(range(6)), {coordinators.shard_of(task) for task in ids.values()})

        found = self.claim_all("c0", len(GROUPS))
        self.assertEqual(set(ids.values()), set(found))
        code, answer, took = self.cluster.http(
            "c0", "POST", TASKS + "/claim", {"queues": ["q"]})
        self.assertEqual(204, code, answer)
        print(f"empty claim: {1000 * took:.0f} ms")
        self.assertLess(took, 1)

        task = next(iter(found))
        beat = self.ask("c0", "POST", f"{TASKS}/{task}/heartbeat", {"fencingToken": found[task]})
        self.assertIn("leaseUntil", beat)
        self.ask("c0", "POST", f"{TASKS}/{task}/abandon", {"fencingToken": found.pop(task)})
        again = self.claim_all("c0", 1)
        self.assertEqual({task}, set(again))
        self.complete("c0", {**found, **again})
        for one in ids.values():
            self.assertEqual("completed", self.ask("c2", "GET", f"{TASKS}/{one}")["state"])

    def test_claim_from_every_queue_gets_tasks_of_queues_elsewhere(self):
        self.cluster.start_all()
        ids = self.add("c0", GROUPS)
        self.complete("c0", self.claim_all("c0", len(GROUPS)))
        group = self.group_at(ids, "c2")

        there = self.add("c1", [group], "only-there")[group]

        self.assertEqual({there}, set(self.claim_all("c0", 1, ())))

    def test_long_poll_is_woken_by_a_task_of_another_coordinator(self):
        self.cluster.start_all()
        ids = self.add("c0", GROUPS)
        self.complete("c0", self.claim_all("c0", len(GROUPS)))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for node in ("c1", "c2"):
                for fields in ({"queues": ["q"]}, {}):
                    waiting = self.poll(pool, "c0", 20, **fields)
                    time.sleep(0.5)
                    self.assertFalse(waiting.done())
                    added = time.monotonic()
                    task = next(iter(self.add(node, [self.group_at(ids, node)]).values()))
                    code, answer, _ = waiting.result()
                    took = time.monotonic() - added
                    print(f"woken after {1000 * took:.0f} ms")
                    self.assertEqual((200, task), (code, answer and answer["id"]), answer)
                    self.assertLess(took, 1)
                    self.complete("c0", {task: answer["fencingToken"]})

    def test_long_poll_that_ends_leaves_no_task_leased(self):
        self.cluster.start_all()
        ids = self.add("c0", GROUPS)
        self.complete("c0", self.claim_all("c0", len(GROUPS)))
        group = self.group_at(ids, "c1")

        code, answer, took = self.cluster.http(
            "c0", "POST", TASKS + "/claim", {"queues": ["q"], "waitSeconds": 1}, 10)
        self.assertEqual(204, code, answer)
        self.assertLess(took, 3)
        task = self.add("c0", [group])[group]
        self.assertEqual("ready", self.ask("c2", "GET", f"{TASKS}/{task}")["state"])
        self.assertEqual({task}, set(self.claim_all("c2", 1)))

    def test_long_poll_outlives_the_coordinator_of_other_shards(self):
        self.cluster.start_all()
        ids = self.add("c0", GROUPS)
        self.complete("c0", self.claim_all("c0", len(GROUPS)))
        group = self.group_at(ids, "c2")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = self.poll(pool, "c0", 30, queues=["q"])
            time.sleep(0.5)
            self.cluster.nodes["c2"].kill()
            # The request waits until the shard has another primary.
            task = wait_until(lambda: self.try_to_add("c0", group), 20, "a fail-over")
            added = time.monotonic()
            code, answer, _ = waiting.result()
            took = time.monotonic() - added
        self.assertEqual((200, task), (code, answer and answer["id"]), answer)
        print(f"woken {1000 * took:.0f} ms after the fail-over")
        self.assertLess(took, 2)
        self.complete("c0", {task: answer["fencingToken"]})

        ids = self.add("c1", GROUPS)
        found = self.claim("c0")
        self.assertEqual(10, len(found))
        found.update(self.claim_all("c1", len(GROUPS) - 10))
        self.assertEqual(set(ids.values()), set(found))
        self.complete("c0", found)

    def try_to_add(self, node, group):
        code, answer, _ = self.cluster.http(
            node, "POST", TASKS, {"queue": "q", "payload": 1, "group": group})
        return answer["id"] if code in (200, 201, 202) else None

    def test_claim_is_answered_while_another_coordinator_hangs(self):
        self.cluster.start_all()
        self.complete("c0", self.claim_all("c0", len(self.add("c0", GROUPS))))
        self.cluster.nodes["c2"].suspend()
        try:
            code, answer, took = self.cluster.http(
                "c0", "POST", TASKS + "/claim", {"queues": ["q"]})
        finally:
            self.cluster.nodes["c2"].go_on()
        self.assertEqual(204, code, answer)
        print(f"empty claim beside a coordinator that hangs: {1000 * took:.0f} ms")
        self.assertLess(took, 4)


if __name__ == "__main__":
    unittest.main()
