# SPDX-License-Identifier: Apache-2.0
"""One of three members of etcd comes back without its data, and so as an etcd of its own."""

import re
import unittest

import cluster
from clusters import coordinators
from cluster import free_port, wait_until


class ThreeMembers(coordinators.Coordinators):
    """Coordinators, which ask `e0` first, with an etcd of three members."""

    def start_etcd(self, directory="etcd"):
        self.order = ["e0", "e1", "e2"]
        self.urls = {name: f"http://127.0.0.1:{free_port()}" for name in self.order}
        self.peers = {name: f"http://127.0.0.1:{free_port()}" for name in self.order}
        self.members = {}
        for name in self.order:
            self.start_member(name, directory, self.order)

    @property
    def etcd_url(self):
        return ",".join(self.urls[name] for name in self.order)

    def start_member(self, name, directory, members):
        self.members[name] = self.start(name, [
            "etcd", "--name", name, "--data-dir", self.path(f"{directory}-{name}"),
            "--listen-client-urls", self.urls[name], "--advertise-client-urls", self.urls[name],
            "--listen-peer-urls", self.peers[name],
            "--initial-advertise-peer-urls", self.peers[name],
            "--initial-cluster", ",".join(f"{one}={self.peers[one]}" for one in members)])

    def lose_first_member(self):
        """The test itself asks the others from now on."""
        self.members["e0"].kill()
        self.start_member("e0", "empty", ["e0"])
        wait_until(self.is_first_member_empty, 20, "e0 answers, and is empty")
        self.order = ["e1", "e2", "e0"]

    def is_first_member_empty(self):
        try:
            return self.read_etcd("/", "0") == {}
        except OSError:
            return False


class EtcdMembers(cluster.ClusterTest):
    def setUp(self):
        self.cluster = ThreeMembers()
        self.addCleanup(self.cluster.close)

    def start(self, names):
        for name in names:
            self.cluster.start_node(name)
        self.cluster.await_in_sync(nodes=names)

    def test_coordinators_take_over_beside_it(self):
        self.start(["c0", "c1", "c2"])
        self.cluster.lose_first_member()

        self.cluster.nodes["c1"].kill()

        wait_until(lambda: "c1" not in self.cluster.primaries().values(), 20, "others take over")
        self.cluster.port = self.cluster.ports["c0"]
        tasks = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(12)]
        self.assertEqual(set(range(6)), {coordinators.shard_of(task) for task in tasks})

    def test_new_coordinator_founds_no_cluster_on_it(self):
        self.start(["c0", "c1"])
        self.cluster.lose_first_member()
        self.cluster.order = ["e0", "e1", "e2"]

        node = self.cluster.start_node("c2")

        wait_until(lambda: "coordinator joins its cluster" in node.text(), 20, "it joins")
        self.assertNotIn("has founded its cluster", node.text())

        def warnings():
            return re.findall(r"member of etcd belongs to another etcd.* url=(\S+)", node.text())

        wait_until(warnings, 20, "it says that e0 counts for nothing")
        self.assertEqual([self.cluster.urls["e0"]], warnings())


if __name__ == "__main__":
    unittest.main()
