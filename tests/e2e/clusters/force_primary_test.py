# SPDX-License-Identifier: Apache-2.0
"""A shard none of whose copies in sync comes back is served by one that is behind, if the operator
says what is lost."""

import re
import unittest

from clusters import coordinators
from cluster import wait_until


class ForcedPrimaryOfACluster(coordinators.CoordinatorsTest):
    def setUp(self):
        self.cluster = coordinators.Coordinators(count=2)
        self.addCleanup(self.cluster.close)

    def force(self, name, shard, confirm=None):
        body = {"to": name}
        if confirm is not None:
            body["confirm"] = confirm
        return self.cluster.http(
            name, "POST", f"/v1/codeq/admin/cluster/shards/{shard}/force-primary", body)

    def test_copy_that_is_behind_serves_when_the_loss_is_confirmed(self):
        self.cluster.start_all()
        kept = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(20)]
        self.cluster.await_in_sync()
        gone = self.cluster.nodes["c0"]
        self.cluster.nodes["c1"].kill()
        wait_until(
            lambda: all(len(one["in_sync"]) == 1 for one in self.cluster.records().values()),
            30, "c1 is out of every set")
        for i in range(20):
            self.cluster.enqueue("q", "x", "--key", f"l{i}")
        gone.kill()
        self.cluster.start_node("c1")
        wait_until(self.knows_its_cluster, 20, "c1 knows its cluster")

        code, refused, _ = wait_until(
            lambda: (lambda a: a if "lives" not in a[1]["error"] else None)(self.force("c1", 0)),
            20, "the lease of c0 has ended")
        self.assertEqual(400, code)
        self.assertRegex(
            refused["error"],
            r"the copy of shard 0 on `c1` ends at \d+/\d+; what c0 acknowledged after that is lost")
        words = refused["error"].partition("with the words: ")[2]
        self.assertEqual("lose what c0 did not copy", words)
        self.assertEqual(400, self.force("c1", 0, "lose it")[0])
        before = self.cluster.records()
        for shard in range(self.cluster.shard_count):
            code, told, _ = self.force("c1", shard, words)
            self.assertEqual(200, code, told)

        after = wait_until(self.served_by_c1, 20, "c1 serves every shard")
        for shard, record in after.items():
            self.assertGreaterEqual(record["epoch"], before[shard]["epoch"] + 65536)
        self.assertEqual("ready", self.cluster.status(kept[0])["state"])
        log = self.cluster.nodes["c1"].text()
        self.assertEqual(
            self.cluster.shard_count, log.count("shard gets its primary by force"), log[-2000:])
        self.assertRegex(log, r"loss=\"lost is what c0 acknowledged after \d+/\d+\"")
        self.assertIn(f"codeq_shards_forced_total {self.cluster.shard_count}\n",
                      self.cluster.metrics("c1"))
        self.assertEqual(self.cluster.shard_count, len(wait_until(self.audited, 10, "the audit")))

        self.cluster.start_node("c0")
        self.cluster.await_in_sync(nodes=["c0", "c1"])
        self.cluster.enqueue("q", "x", "--key", "after")

    def knows_its_cluster(self):
        try:
            return self.cluster.http("c1", "GET", "/v1/codeq/admin/cluster")[0] == 200
        except OSError:
            return False

    def served_by_c1(self):
        _, shown, _ = self.cluster.http("c1", "GET", "/v1/codeq/admin/cluster")
        served = [one for one in shown["shards"] if one["served"] and one["primary"] == "c1"]
        return self.cluster.records() if len(served) == self.cluster.shard_count else None

    def audited(self):
        page = self.cluster.http("c1", "GET", "/v1/codeq/admin/audit?limit=100")[1]
        found = [one["detail"] for one in page["commands"] if one["action"] == "cluster"
                 and re.match(r"force-primary \d --to c1: lost is what c0", one["detail"])]
        return found if len(found) == self.cluster.shard_count else None

    def test_only_the_node_itself_is_asked_and_a_copy_in_sync_needs_no_force(self):
        self.cluster.start_all()
        shard, record = next(iter(sorted(self.cluster.records().items())))
        for name in ("c0", "c1"):
            code, refused, _ = self.force(name, shard, "lose it")
            self.assertEqual(400, code)
            self.assertIn("is in sync, so it needs no force", refused["error"])
        code, refused, _ = self.cluster.http(
            "c0", "POST", f"/v1/codeq/admin/cluster/shards/{shard}/force-primary", {"to": "c1"})
        self.assertEqual(400, code)
        self.assertIn(self.cluster.address_of("c1"), refused["error"])
        self.assertEqual(record, self.cluster.records()[shard])


if __name__ == "__main__":
    unittest.main()
