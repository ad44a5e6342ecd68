# SPDX-License-Identifier: Apache-2.0
"""An etcd that has forgotten decisions makes nobody a primary, and its coordinators say so."""

import pathlib
import shutil
import unittest

from clusters import coordinators
from cluster import wait_until


class LostEtcd(coordinators.CoordinatorsTest):
    def replace_etcd(self, directory):
        self.cluster.etcd.terminate(20)
        self.cluster.start_etcd(directory)

    def await_in_log(self, name, words):
        # A coordinator tells its load, which is a decision, each 30 s.
        wait_until(lambda: words in self.cluster.nodes[name].text(), 45, f"{name} says {words}")

    def expect_no_start(self, name, words):
        """The coordinator ends at once, and says why."""
        node = self.cluster.start_node(name)
        wait_until(lambda: not node.is_running(), 20, f"{name} does not start")
        self.assertIn(words, node.text())
        self.assertIn("CLUSTERS.md, Repair", node.text())

    def test_etcd_that_was_founded_anew_is_refused_and_the_old_one_is_taken_back(self):
        self.cluster.start_all()
        task = self.cluster.enqueue("q", "x", "--key", "k")
        self.cluster.nodes["c0"].kill()
        self.replace_etcd("another-etcd")

        self.expect_no_start("c0", "is known")
        for name in ("c1", "c2"):
            self.await_in_log(name, "etcd was restored or replaced, no shard gets another primary")
        self.assertEqual({}, self.cluster.records(), "nobody founds the cluster again")
        self.replace_etcd("etcd")
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()
        for name in self.cluster.hosts:
            self.cluster.start_node(name)
        self.cluster.await_in_sync()
        self.assertEqual("ready", self.cluster.status(task)["state"])

    def test_etcd_that_was_restored_from_an_older_state_is_refused(self):
        self.cluster.start_all()
        self.cluster.etcd.terminate(20)
        shutil.copytree(self.cluster.path("etcd"), self.cluster.path("older-etcd"))
        self.cluster.start_etcd()
        before = self.cluster.records()
        noted = self.noted_revision("c1")
        self.cluster.nodes["c0"].kill()
        wait_until(lambda: "c0" not in self.cluster.primaries().values(), 30, "the fail-over")
        wait_until(lambda: self.noted_revision("c1") > noted, 10, "c1 has noted its etcd")
        self.cluster.nodes["c1"].kill()
        self.replace_etcd("older-etcd")

        self.expect_no_start("c1", "etcd was restored from an older state")
        self.await_in_log("c2", "etcd was restored or replaced, no shard gets another primary")
        self.assertEqual(before, self.cluster.records())

    def noted_revision(self, name):
        """The revision of etcd that a coordinator would know after a restart."""
        text = pathlib.Path(self.cluster.path(f"store-{name}"), "etcd-history").read_text()
        return int(text.split()[-1])


if __name__ == "__main__":
    unittest.main()
