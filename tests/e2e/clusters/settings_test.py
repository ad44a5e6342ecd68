# SPDX-License-Identifier: Apache-2.0
"""Settings of queues and limits are the cluster's: they reach shards that were away."""

import json
import unittest

from clusters import coordinators
from cluster import wait_until


class SettingsOfACluster(coordinators.CoordinatorsTest):
    def show(self, *command):
        """What `codeqctl` tells, and its exit status."""
        told = self.cluster.try_ctl("--json", *command)
        return json.loads(told.stdout), told.returncode

    def show_without_some(self, *command):
        """The same when some shards do not answer; 5 s are enough for the others."""
        return self.show("--timeout", "5s", *command)

    def keep_only(self, kept):
        """Kills the other coordinators; returns the shards that have no copy left."""
        records = self.cluster.records()
        for name in set(self.cluster.hosts) - {kept}:
            self.cluster.nodes[name].kill()
        away = sorted(shard for shard, record in records.items()
                      if kept not in record["replicas"].values())
        self.assertTrue(away)
        wait_until(lambda: all(node == kept for shard, node in self.cluster.primaries().items()
                               if shard not in away), 20, "the other shards are served")
        return away

    def check_gateway(self, node, away):
        """Reads are answered and say how many shards they lack; a change says where it is made."""
        for path in ("admin/dead", "admin/queues/q/settings", "admin/queues/q/fairness",
                     "admin/limits"):
            self.assertEqual(str(len(away)), self.cluster.missing(node, path)[1], path)
        code, refused, _ = self.cluster.http(
            node, "PUT", "/v1/codeq/admin/limits/other", {"concurrency": 4}, timeout=30)
        self.assertEqual(503, code)
        self.assertRegex(refused["error"], f"the change is made on shards? .*, not on shards? "
                                           f"{', '.join(map(str, away))}; make it again")

    def test_settings_reach_shards_that_were_away(self):
        self.cluster.start_all()
        self.assertEqual(0, self.show("queue", "set", "q", "--max-attempts", "7",
                                      "--max-depth", "60")[1])
        self.cluster.ctl("limit", "set", "gone", "--concurrency", "1")
        kept = self.cluster.primaries()[0]
        away = self.keep_only(kept)

        changed, status = self.show_without_some("queue", "set", "q", "--max-attempts", "9")

        self.assertEqual((away, 1), (changed["missing"], status))
        self.assertEqual(60, changed["max_depth"])
        shown, status = self.show_without_some("queue", "show", "q")
        self.assertEqual((away, 5), (shown["missing"], status))
        for command in (("list", "--queue", "q"), ("queue", "fairness", "q"), ("limit", "list")):
            shown, status = self.show_without_some(*command)
            self.assertEqual((away, 5), (shown["missing"], status), command)
        self.check_gateway(kept, away)
        limited, status = self.show_without_some("limit", "set", "api", "--concurrency", "4")
        self.assertEqual((away, 1), (limited["missing"], status))
        self.assertEqual(1, self.show_without_some("limit", "delete", "gone")[1])
        told = self.cluster.try_ctl("--timeout", "5s", "queue", "show", "q")
        self.assertIn("No answer from shard", told.stdout.decode())
        self.assertRegex(told.stderr.decode(),
                         rf"^codeqctl: waiting for up to 5s: shard {away[0]} is served by "
                         r"coordinator c\d at .*, which cannot be reached from here at present\n$")

        for name in set(self.cluster.hosts) - {kept}:
            self.cluster.start_node(name)
        self.cluster.await_in_sync()

        def is_everywhere():
            shown, status = self.show("queue", "show", "q")
            return status == 0 and shown["uniform"] and shown

        shown = wait_until(is_everywhere, 20, "all shards have the settings")
        self.assertEqual((9, 60), (shown["max_attempts"], shown["max_depth"]))
        wait_until(lambda: self.show("limit", "show", "api")[0].get("uniform"), 20,
                   "all shards have the limit")
        self.assertIn("has no limit", self.cluster.ctl_error("limit", "show", "gone"))

    def test_nothing_is_changed_without_shard_0(self):
        self.cluster.start_all()
        self.cluster.ctl("queue", "set", "q", "--max-attempts", "7")
        kept = next(name for name in self.cluster.hosts
                    if name not in self.cluster.records()[0]["replicas"].values())
        self.keep_only(kept)

        for command in (("queue", "set", "q", "--max-attempts", "9"), ("queue", "pause", "q"),
                        ("queue", "show", "q"), ("dead", "summary"),
                        ("queue", "purge", "q", "--yes")):
            self.assertRegex(
                self.cluster.ctl_error("--timeout", "3s", *command),
                r"disconnected: shard 0 is served by coordinator c\d at 127\.0\.0\.\d:\d+, which "
                "cannot be reached from here at present")
        for command in (("queue", "set", "q", "--max-attempts", "9"), ("queue", "pause", "q"),
                        ("limit", "set", "api", "--concurrency", "4")):
            self.assertIn("; nothing was changed",
                          self.cluster.ctl_error("--timeout", "3s", *command))
        code, refused, _ = self.cluster.http(
            kept, "POST", "/v1/codeq/admin/queues/q/pause", timeout=30)
        self.assertEqual(503, code)
        self.assertRegex(refused["error"], "shard 0 is served by .*; nothing was changed")
        for command in (("audit",), ("list", "--queue", "q"), ("limit", "list")):
            shown, status = self.show("--timeout", "3s", *command)
            self.assertIn(0, shown["missing"], command)
            self.assertEqual(5, status, command)

        for name in set(self.cluster.hosts) - {kept}:
            self.cluster.start_node(name)
        self.cluster.await_in_sync()
        shown, status = self.show("queue", "show", "q")
        self.assertEqual((7, True, 0), (shown["max_attempts"], shown["uniform"], status))

    def test_a_coordinator_that_hangs_keeps_no_shard_from_the_settings(self):
        self.cluster.start_all()
        self.cluster.nodes["c1"].suspend()
        self.addCleanup(self.cluster.nodes["c1"].go_on)

        changed, status = self.show("queue", "set", "q", "--max-attempts", "9")

        self.assertEqual((True, 9, 0),
                         (changed["uniform"], changed["max_attempts"], status))


if __name__ == "__main__":
    unittest.main()
