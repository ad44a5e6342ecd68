# SPDX-License-Identifier: Apache-2.0
"""Priority over the coordinators of a cluster: tasks of a low one wait at two of them, and some of
a high one at the third."""

import time
import unittest

from cluster import wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"
GROUPS = [f"g{i}" for i in range(60)]
LOW, HIGH = 12, 6
# A task is known to all coordinators 100 ms after it became ready.
KNOWN = 0.3


class PriorityOfACluster(coordinators.CoordinatorsTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_all()
        tasks = [{"queue": "probe", "payload": 1, "group": group} for group in GROUPS]
        code, answer, _ = self.cluster.http("c0", "POST", TASKS + "/batch", {"tasks": tasks})
        self.assertEqual(200, code)
        primaries = self.cluster.primaries()
        self.groups = {name: [] for name in self.cluster.hosts}
        for group, one in zip(GROUPS, answer["results"]):
            self.groups[primaries[coordinators.shard_of(one["task"]["id"])]].append(group)

    def spans(self):
        """The tasks that have run, in the order of their starts: (name, start and end in ms)."""
        path = self.cluster.path("spans")
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return sorted(((row[0], int(row[1]), int(row[2])) for row in rows), key=lambda row: row[1])

    def add(self, queue, payload):
        """Adds the tasks of the low priority at c0 and c1, then those of the high one at c2."""
        low = [group for name in ("c0", "c1") for group in self.groups[name][:LOW // 2]]
        for name, priority, groups in (("low", 0, low), ("high", 9, self.groups["c2"][:HIGH])):
            for group in groups:
                self.cluster.enqueue(
                    queue, payload(name), "--group", group, "--priority", priority)

    def add_beside_a_running_task(self):
        """The only slot is busy until the coordinators know of all tasks."""
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        path = self.cluster.path("spans")
        first = self.cluster.enqueue("span", f"{path} first 3000")
        wait_until(lambda: self.cluster.status(first)["state"] == "leased", 20,
                   "the first task runs")
        self.add("span", lambda name: f"{path} {name} 20")
        self.assertEqual([], self.spans(), "the first task ended too early for this test")
        time.sleep(KNOWN)

    def test_a_worker_runs_the_tasks_of_the_high_priority_first(self):
        self.add_beside_a_running_task()
        wait_until(lambda: len(self.spans()) == 1 + LOW + HIGH, 30, "all tasks run")

        names = [name for name, _, _ in self.spans()]
        self.assertEqual(["first"] + ["high"] * HIGH + ["low"] * LOW, names)
        longest = max(start - end for (_, _, end), (_, start, _)
                      in zip(self.spans(), self.spans()[1:]))
        print(f"longest pause of the slot: {longest} ms")

    def test_claims_over_http_at_any_coordinator_get_the_high_priority_first(self):
        self.add("q", lambda name: name)
        time.sleep(KNOWN)

        claimed = []
        number = 0
        while len(claimed) < LOW + HIGH:
            node = f"c{number % 3}"
            code, task, _ = self.cluster.http(node, "POST", TASKS + "/claim", {"queues": ["q"]})
            if code == 200:
                claimed.append(task["priority"])
            number += 1
            # A claim that does not wait may end while news of tasks elsewhere are under way.
            self.assertLessEqual(number - len(claimed), 1, (node, code, claimed))
        self.assertEqual([9] * HIGH + [0] * LOW, claimed)

    def test_tasks_do_not_wait_for_a_coordinator_that_hangs(self):
        self.add_beside_a_running_task()
        self.cluster.nodes["c2"].suspend()
        wait_until(lambda: len(self.spans()) > 1, 30, "another task runs")
        first, second = self.spans()[:2]
        self.assertLess(second[1] - first[2], 3000, "a slot was idle beside tasks")

        self.cluster.nodes["c2"].go_on()
        wait_until(lambda: len(self.spans()) >= 1 + LOW + HIGH, 60, "all tasks run")


if __name__ == "__main__":
    unittest.main()
