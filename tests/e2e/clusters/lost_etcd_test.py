# SPDX-License-Identifier: Apache-2.0
"""An etcd that has forgotten decisions makes nobody a primary, and its coordinators say so."""

import json
import pathlib
import shutil
import subprocess
import unittest

import cluster
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

    def test_stop_signal_ends_the_wait_for_etcd(self):
        self.cluster.etcd.terminate(20)
        node = self.cluster.start_node("c0")
        wait_until(lambda: "is etcd started? see --etcd" in node.text(), 20, "it waits for etcd")

        status, _ = node.terminate(5)

        self.assertEqual(0, status)
        self.assertIn("coordinator stops before it has started", node.text())

    def test_store_that_was_made_alone_is_told_how_it_can_join(self):
        self.cluster.start_node("c0")
        wait_until(self.cluster.is_founded, 20, "the cluster")
        alone = self.cluster.start("alone", [
            cluster.BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("store-c1"),
            "--listen", self.cluster.address_of("c1"), "--shards", "6"])
        wait_until(lambda: "coordinator started" in alone.text(), 20, "the other use")
        alone.terminate(20)

        node = self.cluster.start_node("c1")

        self.assertEqual(2, node.wait(20))
        self.assertIn("was made for other use", node.text())
        self.assertIn("Give an empty --data", node.text())

    def test_coordinators_end_when_the_stores_have_a_newer_format(self):
        running = self.cluster.start_node("c0")
        wait_until(self.cluster.is_founded, 20, "the cluster")
        record = self.cluster.cluster_record()
        self.assertEqual(5, record["store_format"])
        record.update(version=record["version"] + 1, store_format=6)
        self.cluster.write_cluster_record(record)

        newcomer = self.cluster.start_node("c1")

        self.assertEqual(2, newcomer.wait(20))
        self.assertEqual(1, running.wait(20))
        for node in newcomer, running:
            self.assertIn("the stores of the cluster have format 6; this version of "
                          "codeq-coordinator reads up to 5", node.text())

    def test_etcd_that_is_away_is_reported_until_it_answers_again(self):
        self.cluster.start_all()
        self.assertIn("codeq_etcd_reachable 1\n", self.cluster.metrics("c0"))
        self.cluster.etcd.terminate(20)

        self.await_in_log("c0", "etcd has not answered for 5s, or has refused all writes")
        self.assertIn("codeq_etcd_reachable 0\n", self.cluster.metrics("c0"))
        wait_until(lambda: b"etcd has not answered c0, c1, c2 for "
                   in self.cluster.ctl("cluster", "status"), 20, "all coordinators say so")
        self.cluster.nodes["c2"].kill()
        self.assertIn("c2", self.shown_waits())
        self.cluster.start_etcd()
        self.await_in_log("c0", "etcd answers again")
        self.assertIn("codeq_etcd_reachable 1\n", self.cluster.metrics("c0"))
        wait_until(lambda: self.cluster.ctl("cluster", "status").startswith(b"cluster test"), 20,
                   "no coordinator says so")

    def shown_waits(self):
        """The coordinators whose answers shards wait for."""
        shards = json.loads(self.cluster.ctl("--json", "cluster", "status"))["shards"]
        return {one["waits_for"].removeprefix("an answer of ") for one in shards
                if one["waits_for"].startswith("an answer of ")}

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
        self.cluster.await_in_sync()
        # At most this revision is in the copy; what a coordinator has noted may be an older one.
        copied = self.cluster.etcd_revision()
        self.cluster.nodes["c0"].kill()
        wait_until(lambda: "c0" not in self.cluster.primaries().values(), 30, "the fail-over")
        wait_until(lambda: self.noted_revision("c1") > copied, 10, "c1 has noted its etcd")
        self.cluster.nodes["c1"].kill()
        self.replace_etcd("older-etcd")

        self.expect_no_start("c1", "etcd was restored from an older state")
        self.await_in_log("c2", "etcd was restored or replaced, no shard gets another primary")

    def test_cluster_is_repaired_from_what_its_coordinators_have(self):
        self.cluster.start_all()
        tasks = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(20)]
        before = self.cluster.records()
        for node in self.cluster.nodes.values():
            node.kill()
        self.replace_etcd("another-etcd")
        told = pathlib.Path(self.cluster.path("told"))
        told.mkdir()
        for name in ("c0", "c1"):
            self.tell(told, name)

        self.assertIn("what c2 has is not told", self.repair(told)[1])
        self.tell(told, "c2")
        status, shown = self.repair(told)
        self.assertEqual(2, status)
        words = shown.partition("confirm it with the words: ")[2].strip()
        self.assertEqual("take what c0, c1, c2 has", words)
        status, shown = self.repair(told, "--confirm", "take all")
        self.assertEqual(2, status)
        self.assertIn("--confirm has other words than these; nothing was changed", shown)
        self.assertEqual({}, self.cluster.records(), "nothing is written without the words")
        status, shown = self.repair(told, "--confirm", words)
        self.assertEqual(0, status, shown)
        for shard, record in self.cluster.records().items():
            self.assertGreaterEqual(record["epoch"], before[shard]["epoch"] + 65536)
            # A primary that was killed may lack the last delta of its followers.
            self.assertTrue(record["in_sync"])
            self.assertLessEqual(set(record["in_sync"]), set(before[shard]["in_sync"]))
        for name in self.cluster.hosts:
            pathlib.Path(self.cluster.path(f"store-{name}"), "etcd-history").unlink()
            self.cluster.start_node(name)
        self.cluster.await_in_sync()
        for task in tasks:
            self.assertEqual("ready", self.cluster.status(task)["state"])

    def tell(self, told, name):
        text = self.run_ctl("cluster", "copies", self.cluster.path(f"store-{name}"), "--node", name)
        self.assertEqual(0, text[0], text)
        (told / f"{name}.json").write_text(text[1])

    def repair(self, told, *options):
        return self.run_ctl("cluster", "repair", told, "--cluster", coordinators.NAME,
                            "--etcd", self.cluster.etcd_url, *options)

    @staticmethod
    def run_ctl(*arguments):
        """Runs a command that needs no coordinator; returns its exit status and what it says."""
        done = subprocess.run([cluster.BIN / "codeqctl", *map(str, arguments)], timeout=60,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def noted_revision(self, name):
        """The revision of etcd that a coordinator would know after a restart."""
        text = pathlib.Path(self.cluster.path(f"store-{name}"), "etcd-history").read_text()
        return int(text.partition("revision ")[2].split()[0])


if __name__ == "__main__":
    unittest.main()
