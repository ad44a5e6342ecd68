# SPDX-License-Identifier: Apache-2.0
"""A whole cluster is backed up under load and restored as another one."""

import collections
import json
import shutil
import subprocess
import unittest

import cluster
from clusters import coordinators
from cluster import wait_until

TASKS = 60
CHAINS = 64
LINKS = 25
# What a restore adds to the epochs at least.
EPOCHS = 65_536


class BackupOfACluster(coordinators.CoordinatorsTest):
    def setUp(self):
        super().setUp()
        self.manifest = self.cluster.path("monday.json")
        self.backups = self.cluster.path("backups")

    def start_with_backups(self):
        self.backups.mkdir(exist_ok=True)
        for name in self.cluster.hosts:
            self.cluster.start_node(name, "--backup-dir", self.backups / name)
            # The first one creates the cluster, with its store.
            wait_until(self.cluster.is_founded, 30, "the cluster exists")
        self.cluster.await_in_sync()
        wait_until(self.cluster.is_balanced, 60, "the shards are spread evenly")

    def back_up(self):
        return json.loads(self.cluster.ctl("--json", "backup", "--cluster", self.manifest))

    def lose_everything(self):
        """All disks, and what etcd knew; the backups remain."""
        for node in self.cluster.nodes.values():
            node.kill()
        self.cluster.etcd.kill()
        for name in self.cluster.hosts:
            shutil.rmtree(self.cluster.path(f"store-{name}"))
        shutil.rmtree(self.cluster.path("etcd"))
        self.cluster.start_etcd()

    @staticmethod
    def run_ctl(*arguments):
        """Runs a command that needs no coordinator."""
        return subprocess.run([cluster.BIN / "codeqctl", *map(str, arguments)], timeout=120,
                              capture_output=True, text=True, check=False)

    def try_restore(self):
        return self.run_ctl("--json", "restore", self.backups, self.cluster.path("store-c0"),
                            "--cluster", self.manifest)

    def restore(self):
        done = self.try_restore()
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual([], json.loads(done.stdout)["findings"])

    def refused(self):
        done = self.try_restore()
        self.assertNotEqual(0, done.returncode)
        self.assertFalse(self.cluster.path("store-c0").exists())
        return done.stdout + done.stderr

    def verify(self, name):
        done = self.run_ctl("verify", self.cluster.path(f"store-{name}"))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_restored_cluster_has_every_task(self):
        self.start_with_backups()
        self.cluster.start_worker("w1", "--exec", "upper=tr a-z A-Z", handlers=())
        ended = [self.cluster.enqueue("upper", "x", "--key", f"e{i}") for i in range(TASKS)]
        for task in ended:
            self.cluster.result(task)
        waiting = [self.cluster.enqueue("later", "x", "--key", f"k{i}", "--delay", "1h")
                   for i in range(TASKS)]
        self.cluster.ctl("queue", "set", "later", "--max-attempts", "7")
        before = {number: record["epoch"] for number, record in self.cluster.records().items()}

        made = self.back_up()

        self.assertEqual([("c0", 1), ("c1", 1), ("c2", 1)],
                         [(one["node"], one["backup"]) for one in made["coordinators"]])
        self.lose_everything()
        self.restore()
        self.verify("c0")
        self.start_with_backups()
        for task in waiting:
            self.assertEqual("scheduled", self.cluster.status(task)["state"])
        for task in ended:
            self.assertEqual("completed", self.cluster.status(task)["state"])
        shown = json.loads(self.cluster.ctl("--json", "queue", "show", "later"))
        self.assertEqual((7, True), (shown["max_attempts"], shown["uniform"]))
        for number, record in self.cluster.records().items():
            self.assertGreater(record["epoch"], before[number] + EPOCHS)
        # The worker has outlived it all, and reports to the new primaries.
        fresh = [self.cluster.enqueue("upper", "x", "--key", f"f{i}") for i in range(TASKS)]
        for task in fresh:
            self.cluster.result(task)
            self.assertEqual(1, self.cluster.status(task)["attempt"])
        # A key is still that of its task.
        again = self.cluster.enqueue("later", "y", "--key", "k0", "--delay", "1h")
        self.assertEqual(waiting[0], again)
        for name in self.cluster.hosts:
            self.cluster.nodes[name].terminate(20)
            self.verify(name)

    def test_follow_ups_between_shards_are_neither_lost_nor_doubled(self):
        self.start_with_backups()
        links = self.cluster.path("links")
        worker = self.cluster.start_worker("w", "--slots", "4")
        self.cluster.enqueue("fan", f"{links} 0 0 {LINKS}")
        wait_until(lambda: links.exists() and len(links.read_text().splitlines()) > 50, 40, "links")

        self.back_up()

        done_before = len(links.read_text().splitlines())
        self.assertLess(done_before, CHAINS * LINKS, "the chains were over before the backup was")
        worker.kill()
        self.lose_everything()
        self.restore()
        self.start_with_backups()
        links.unlink()
        self.cluster.start_worker("w", "--slots", "4")
        wait_until(lambda: (self.cluster.queue_stats("chain") or {}).get("completed", 0)
                   >= CHAINS * LINKS, 60, "all links complete")
        # Each link is one task, also of those that were handed over during the backup.
        stats = self.cluster.queue_stats("chain")
        self.assertEqual([CHAINS * LINKS, 0, 0, 0, 0],
                         [stats[name] for name in
                          ("completed", "ready", "leased", "gated", "scheduled")])
        tasks = collections.defaultdict(set)
        for line in links.read_text().splitlines():
            chain, link, task = line.split()
            tasks[chain, link].add(task)
        self.assertEqual({}, {key: ids for key, ids in tasks.items() if len(ids) > 1})

    def test_one_coordinator_alone_has_all_shards_until_others_join(self):
        self.start_with_backups()
        waiting = [self.cluster.enqueue("later", "x", "--delay", "1h") for _ in range(TASKS)]
        self.back_up()
        self.lose_everything()
        self.restore()

        self.cluster.start_node("c0")

        self.cluster.await_in_sync(copies=1, nodes=["c0"])
        for task in waiting:
            self.assertEqual("scheduled", self.cluster.status(task)["state"])
        self.cluster.start_node("c1")
        self.cluster.await_in_sync(copies=2, nodes=["c0", "c1"])

    def test_set_that_lacks_a_shard_is_refused_by_its_number(self):
        self.start_with_backups()
        self.back_up()
        # With two copies of each shard the backups of two coordinators have all of them.
        shutil.move(self.backups / "c1", self.cluster.path("away-c1"))
        self.lose_everything()
        self.restore()
        shutil.rmtree(self.cluster.path("store-c0"))
        shutil.move(self.backups / "c2", self.cluster.path("away-c2"))

        said = self.refused()

        self.assertRegex(said, r"shard \d+ has .*; .* lacks the backups of c1 c2")

    def test_backups_of_different_runs_are_refused(self):
        self.start_with_backups()
        self.back_up()
        first = self.manifest
        shutil.rmtree(self.backups / "c1")
        self.manifest = self.cluster.path("tuesday.json")
        self.back_up()
        self.lose_everything()
        self.manifest = first

        self.assertIn("is not the one of c1 that belongs to this backup of the cluster",
                      self.refused())

    def test_backup_of_one_coordinator_is_none_of_its_cluster(self):
        self.start_with_backups()

        self.assertIn("is one of a cluster", self.cluster.ctl_error("backup"))

        self.back_up()
        self.assertIn("exists", self.cluster.ctl_error("backup", "--cluster", self.manifest))
        self.lose_everything()
        done = self.run_ctl("restore", self.backups / "c0", self.cluster.path("store-c0"))
        self.assertNotEqual(0, done.returncode)
        self.assertIn("is of a coordinator of a cluster", done.stderr)

    def test_store_of_one_coordinator_creates_no_other_cluster(self):
        self.start_with_backups()
        for node in self.cluster.nodes.values():
            node.kill()
        self.cluster.etcd.kill()
        shutil.rmtree(self.cluster.path("etcd"))
        self.cluster.start_etcd()
        (self.cluster.path("store-c0") / "etcd-history").unlink()

        node = self.cluster.start_node("c0")

        self.assertNotEqual(0, node.wait(30))
        self.assertIn("cannot create it, since it is a part of another one", node.text())


if __name__ == "__main__":
    unittest.main()
