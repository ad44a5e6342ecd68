# SPDX-License-Identifier: Apache-2.0
"""The metrics and the readiness of a cluster's coordinators, over the loss of one."""

import unittest
import urllib.request

import metrics_test
from cluster import wait_until
from clusters import coordinators



class ClusterMetrics(coordinators.CoordinatorsTest):
    def scrape(self, name):
        url = f"http://{self.cluster.hosts[name]}:{self.cluster.http_ports[name]}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return metrics_test.Scrape(answer.read().decode())

    def roles(self, name):
        """Shard -> role, of the shards of which the node has a copy."""
        return {int(labels["shard"]): labels["role"]
                for found, labels, value in self.scrape(name).samples
                if found == "codeq_shard_role" and value == 1}

    def expected_roles(self, name):
        return {shard: "primary" if record["replicas"][record["primary"]] == name else "in_sync"
                for shard, record in self.cluster.records().items()
                if name in record["replicas"].values()}

    def test_the_page_lists_all_metrics_of_a_cluster(self):
        self.cluster.start_all()
        for i in range(20):
            self.cluster.enqueue("q", "x", "--key", f"k{i}")
        alone = set(metrics_test.listed("Coordinator"))
        wait_until(lambda: self.roles("c0") == self.expected_roles("c0"), 20, "it serves its part")

        scrape = self.scrape("c0")

        told = {name: shown for name, shown in scrape.described().items() if name not in alone}
        self.assertEqual(metrics_test.listed("Cluster"), told)
        records = self.cluster.records()
        for shard, role in self.roles("c0").items():
            of_shard = {"shard": str(shard)}
            self.assertEqual(records[shard]["epoch"],
                             scrape.value("codeq_shard_epoch", **of_shard))
            self.assertEqual(2, scrape.value("codeq_shard_copies", **of_shard))
            self.assertEqual(2, scrape.value("codeq_shard_copies_in_sync", **of_shard))
            self.assertEqual(1, scrape.value("codeq_shard_copies_needed", **of_shard))
            self.assertEqual(0, scrape.value("codeq_shard_without_primary_seconds", **of_shard))
            others = [node for node in records[shard]["replicas"].values() if node != "c0"]
            lag = scrape.value("codeq_copy_lag_changes", node=others[0], **of_shard)
            self.assertEqual(role == "primary", lag is not None)
            self.assertIsNone(scrape.value("codeq_copy_lag_changes", node="c0", **of_shard))

    def test_metrics_tell_of_a_lost_coordinator(self):
        self.cluster.start_all()
        lost = [shard for shard, role in self.expected_roles("c1").items() if role == "primary"]
        self.assertTrue(lost)
        holder = next(node for node in self.cluster.records()[lost[0]]["replicas"].values()
                      if node != "c1")
        of_shard = {"shard": str(lost[0])}
        before = self.scrape(holder)

        self.cluster.nodes["c1"].kill()

        wait_until(lambda: self.roles(holder)[lost[0]] == "primary", 20, "it is the primary")
        after = wait_until(
            lambda: (lambda s: s if s.value("codeq_shard_without_primary_seconds",
                                            **of_shard) == 0 else None)(self.scrape(holder)),
            20, "it serves")
        self.assertEqual(1, after.value("codeq_shard_copies_in_sync", **of_shard))
        self.assertGreater(after.value("codeq_shard_epoch", **of_shard),
                           before.value("codeq_shard_epoch", **of_shard))
        grew = (after.value("codeq_shard_without_primary_seconds_total", **of_shard)
                - before.value("codeq_shard_without_primary_seconds_total", **of_shard))
        self.assertGreater(grew, 1)
        self.assertLess(grew, 20)

    def test_readiness_names_shards_that_take_no_tasks(self):
        self.cluster.close()
        self.cluster = coordinators.Coordinators(replicas=3)
        self.addCleanup(self.cluster.close)
        self.cluster.start_all()
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()

        def refusing():
            code, told, _ = self.cluster.http("c0", "GET", "/readyz")
            reasons = [one["reason"] for one in told.get("unavailable", [])]
            return told if code == 503 and all("in sync" in why for why in reasons) else None

        told = wait_until(refusing, 30, "all shards are served by the one that is left")
        self.assertEqual(
            [{"shard": shard, "node": "c0",
              "reason": "takes no new tasks: 1 copies are in sync, 2 are needed"}
             for shard in range(6)], told["unavailable"])
        self.assertIn("shard 5 takes no new tasks", told["error"])


if __name__ == "__main__":
    unittest.main()
