# SPDX-License-Identifier: Apache-2.0
"""A store belongs to one coordinator of one cluster; mistakes in names cost no copy."""

import pathlib
import unittest

import cluster
from cluster import wait_until
from clusters import coordinators


class Names(coordinators.CoordinatorsTest):
    def start_by_mistake(self, data, address, node, name=coordinators.NAME, replicas=2):
        """Starts a coordinator that has to be refused, and returns what it says."""
        mistaken = self.cluster.start(f"mistake-{node}-{name}", [
            cluster.BIN / "codeq-coordinator", "--dev", "--data", data, "--listen", address,
            "--cluster", name, "--etcd", self.cluster.etcd_url, "--node", node,
            "--replicas", str(replicas)])
        self.assertEqual(2, mistaken.wait(40), mistaken.text())
        return mistaken.text()

    def test_store_is_refused_under_another_name_or_cluster(self):
        self.cluster.start_all()
        copies = self.copies_of("c1")
        task = self.cluster.enqueue("q", "x", "--delay", "1h")
        self.cluster.nodes["c1"].terminate(20)
        store, address = self.cluster.path("store-c1"), self.cluster.address_of("c1")

        said = self.start_by_mistake(store, address, "c2")
        self.assertIn("is that of node c1, and --node is c2; give --node c1", said)
        said = self.start_by_mistake(store, address, "c1", "tset")
        self.assertIn("is --cluster right", said)

        self.cluster.start_node("c1")
        self.cluster.await_in_sync()
        self.assertEqual(copies, self.copies_of("c1"))
        self.assertEqual("scheduled", self.cluster.status(task)["state"])

    def test_store_of_one_cluster_is_refused_by_another_one(self):
        self.cluster.start_node("c0")
        wait_until(self.cluster.is_founded, 20, "the cluster")
        other = self.cluster.start("other", [
            cluster.BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("other"),
            "--listen", self.cluster.address_of("c1"), "--cluster", "other",
            "--etcd", self.cluster.etcd_url, "--node", "o", "--replicas", "1", "--shards", "6"])
        wait_until(lambda: "coordinator started" in other.text(), 20, "the other cluster")
        self.assertIn("coordinator has created a cluster, though etcd has others cluster=other "
                      f'others="{coordinators.NAME}"', other.text())
        self.assertNotIn("etcd has others", self.cluster.nodes["c0"].text())
        self.cluster.nodes["c0"].terminate(20)

        said = self.start_by_mistake(
            self.cluster.path("store-c0"), self.cluster.address_of("c0"), "c0", "other")

        self.assertIn("belongs to another cluster than other; correct --cluster", said)

    def test_coordinator_that_does_not_fit_the_cluster_is_told_why(self):
        founder = self.cluster.start_node("c0")
        wait_until(lambda: "coordinator started" in founder.text(), 20, "the cluster")
        address = self.cluster.address_of("c1")
        alone = self.cluster.start("alone", [
            cluster.BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("alone"),
            "--listen", address, "--shards", "12"])
        wait_until(lambda: "coordinator started" in alone.text(), 20, "it is alone")
        alone.terminate(20)

        said = self.start_by_mistake(self.cluster.path("new"), address, "c1", replicas=3)
        self.assertIn("replicas is 3, but cluster test has 2, which the coordinator that created "
                      "it decided; give --replicas 2, or leave it out", said)
        said = self.start_by_mistake(self.cluster.path("alone"), address, "c2")
        self.assertIn("has 12 shards, but cluster test, which exists already in etcd, has 6", said)

        # A coordinator that has joined before starts in spite of the option.
        founder.terminate(20)
        self.cluster.replicas = 3
        again = self.cluster.start_node("c0")
        wait_until(lambda: "replicas is 3, but cluster test has 2" in again.text()
                   and again.text().count("coordinator started") == 2, 20, "the start")

    def test_store_without_copies_is_refused_under_another_name(self):
        self.cluster.start_all()
        self.cluster.ctl("cluster", "drain", "c2", "--wait", "50s")
        self.cluster.nodes["c2"].terminate(20)

        said = self.start_by_mistake(
            self.cluster.path("store-c2"), self.cluster.address_of("c2"), "c3")

        self.assertIn("is that of node c2, and --node is c3; give --node c2", said)
        self.cluster.ctl("cluster", "undrain", "c2")
        self.cluster.start_node("c2")
        self.cluster.await_in_sync()

    def test_name_of_a_coordinator_that_runs_is_refused(self):
        self.cluster.start_all()

        said = self.start_by_mistake(
            self.cluster.path("empty"), f"127.0.0.9:{self.cluster.ports['c1']}", "c1")

        self.assertIn("coordinator waits until its name is free node=c1 address="
                      + self.cluster.address_of("c1"), said)
        self.assertIn("another coordinator with that name runs at "
                      + self.cluster.address_of("c1"), said)
        self.assertTrue(self.cluster.nodes["c1"].is_running())

    def copies_of(self, node):
        """The ids of the node's copies in etcd."""
        return {replica for record in self.cluster.records().values()
                for replica, where in record["replicas"].items() if where == node}

    def restart_with_other_copies(self, node, before):
        """Starts the node, whose store has other copies than etcd says, and awaits new ones."""
        self.cluster.start_node(node)
        wait_until(lambda: self.copies_of(node) and not self.copies_of(node) & before, 60,
                   "the copies are new ones")
        self.cluster.await_in_sync()
        return self.copies_of(node)

    def test_earlier_store_of_a_name_gets_copies_again(self):
        self.cluster.start_all()
        store = pathlib.Path(self.cluster.path("store-c1"))
        first = self.copies_of("c1")
        self.cluster.nodes["c1"].kill()
        store.rename(self.cluster.path("earlier"))
        second = self.restart_with_other_copies("c1", first)
        self.cluster.nodes["c1"].terminate(20)
        store.rename(self.cluster.path("later"))
        pathlib.Path(self.cluster.path("earlier")).rename(store)

        self.restart_with_other_copies("c1", first | second)


if __name__ == "__main__":
    unittest.main()
