# SPDX-License-Identifier: Apache-2.0
"""A schedule of a cluster loses and doubles no occurrence when the primary of its shard dies."""

import datetime
import json
import time
import unittest

from clusters import coordinators
from cluster import wait_until


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class SchedulesOfACluster(coordinators.CoordinatorsTest):
    def history(self):
        listed = json.loads(self.cluster.ctl("--json", "schedule", "history", "tick"))
        return listed["occurrences"]

    def fired(self):
        return [one for one in self.history() if not one["state"].startswith("skipped")]

    def headers_of(self, task):
        """Those that the coordinator of the task's shard shows."""
        node = self.cluster.primaries()[coordinators.shard_of(task)]
        status, shown, _ = self.cluster.http(node, "GET", f"/v1/codeq/tasks/{task}")
        self.assertEqual(200, status, shown)
        return shown["headers"]

    def test_primary_killed_across_fire_times_loses_and_doubles_none(self):
        self.cluster.start_all()
        self.cluster.ctl("schedule", "set", "tick", "--queue", "ticks", "--payload", "x",
                         "--every", "1s", "--misfire", "all", "--overlap", "allow")
        first = wait_until(self.fired, 20, "an occurrence")[0]
        shard = coordinators.shard_of(first["id"])
        longest = 0.0
        for _ in range(3):
            victim = self.cluster.primaries()[shard]
            count = len(self.fired())
            began = time.monotonic()
            self.cluster.nodes[victim].kill()
            wait_until(lambda: self.cluster.primaries()[shard] != victim, 20, "another primary")
            wait_until(lambda n=count: len(self.fired()) >= n + 2, 20, "it goes on")
            longest = max(longest, time.monotonic() - began)
            self.cluster.start_node(victim)
            self.cluster.await_in_sync()

        self.cluster.ctl("schedule", "pause", "tick")
        fired = self.fired()
        times = [seconds_of(one["at"]) for one in fired]
        print(f"{len(times)} occurrences over 3 kills of the primary, "
              f"two of them within {longest:.1f} s after each")
        # Each second of the time has one, also those in which no coordinator served the shard.
        self.assertEqual(list(range(len(times))), [at - times[0] for at in times], fired)
        self.check_tasks([one["id"] for one in fired])

    def check_tasks(self, ids):
        """Each occurrence has one task, of a nominal time of its own, and there are no others."""
        listed = json.loads(self.cluster.ctl(
            "--json", "list", "--queue", "ticks", "--limit", "1000"))["tasks"]
        self.assertEqual(sorted(ids), sorted(one["id"] for one in listed))
        headers = [self.headers_of(task) for task in ids]
        self.assertEqual({"tick"}, {one["codeq-schedule"] for one in headers})
        self.assertEqual(len(ids), len({one["codeq-nominal-time"] for one in headers}))


if __name__ == "__main__":
    unittest.main()
