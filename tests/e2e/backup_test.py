# SPDX-License-Identifier: Apache-2.0
"""A store is verified, backed up under load, restored and drained."""

import json
import os
import shutil
import subprocess
import unittest

import cluster
from cluster import LOAD, wait_until

# CODEQ_BACKUP_TASKS=1000000 runs it with a million tasks.
TASKS = int(os.environ.get("CODEQ_BACKUP_TASKS", "20000"))
BATCH = 100


class StoreTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.store = self.cluster.path("store")
        self.backups = self.cluster.path("backups")

    def verify(self, directory, status=0):
        return json.loads(self.cluster.ctl("--json", "verify", directory, status=status))

    def back_up(self):
        return json.loads(self.cluster.ctl("--json", "backup"))

    def move_to_backup(self, *options):
        """Loses the disk and replaces the store by the newest backup."""
        if self.cluster.coordinator.is_running():
            self.cluster.coordinator.kill()
        shutil.rmtree(self.store)
        restored = json.loads(
            self.cluster.ctl("--json", "restore", self.backups, self.store, *options))
        self.assertEqual(restored["findings_count"], 0)
        return restored


class Verify(StoreTest):
    def test_finds_nothing_after_a_stop_or_a_kill(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("echo", "one"))
        self.cluster.enqueue("nobody", "two", "--key", "k", "--delay", "1h")
        self.cluster.coordinator.kill()
        self.assertEqual(self.verify(self.store)["findings"], [])

        self.cluster.start_coordinator()
        self.cluster.coordinator.terminate(5)

        report = self.verify(self.store)
        self.assertEqual((report["findings"], report["epoch"]), ([], 2))
        counts = [shard["records"].get("aside", 0) for shard in report["shards"]]
        self.assertEqual(sum(counts), 1)

    def test_refuses_a_store_that_a_coordinator_has_open(self):
        self.cluster.start_coordinator()

        done = self.cluster.try_ctl("verify", self.store)

        self.assertEqual(done.returncode, 2)
        self.assertIn("is in use: a coordinator", done.stderr.decode())

    def test_refuses_what_is_no_store(self):
        self.cluster.start_coordinator()

        done = self.cluster.try_ctl("verify", self.cluster.directory)

        self.assertEqual(done.returncode, 2)
        self.assertIn("holds no store", done.stderr.decode())

    def test_directory_of_backups_is_told_from_a_store(self):
        self.cluster.start_coordinator("--backup-dir", self.cluster.path("kept"))
        self.cluster.ctl("backup")

        done = self.cluster.try_ctl("verify", self.cluster.path("kept"))

        self.assertEqual(done.returncode, 2)
        self.assertIn("holds backups, not a store", done.stderr.decode())

    def test_store_of_a_newer_version_is_refused_by_all(self):
        self.cluster.start_coordinator()
        self.cluster.coordinator.terminate(5)
        subprocess.run([cluster.BIN / "tests" / "e2e_newer_store", self.store], check=True)
        said = "the store has format 6; this version reads up to 5"

        verified = self.cluster.try_ctl("verify", self.store)
        with self.assertRaises(RuntimeError) as refused:
            self.cluster.start_coordinator()

        self.assertEqual(verified.returncode, 2)
        self.assertIn(said, verified.stderr.decode())
        self.assertIn(said, str(refused.exception))
        shutil.rmtree(self.store)

    def test_finds_a_changed_byte(self):
        self.cluster.start_coordinator("--backup-dir", self.backups)
        for number in range(20):
            self.cluster.enqueue("nobody", f"{number}" * 1000)
        # After a backup everything is in tables.
        self.back_up()
        self.cluster.coordinator.terminate(5)
        table = max(self.store.glob("*.sst"), key=lambda path: path.stat().st_size)
        with open(table, "r+b") as file:
            file.seek(500)
            byte = file.read(1)[0]
            file.seek(500)
            file.write(bytes([byte ^ 1]))

        done = self.cluster.try_ctl("verify", self.store)

        self.assertEqual(done.returncode, 1, done.stdout.decode() + done.stderr.decode())
        self.assertIn("checksum", done.stdout.decode())
        shutil.rmtree(self.store)


class Backup(StoreTest):
    def test_taken_under_load_is_restored_verified_and_drained(self):
        self.cluster.start_coordinator("--durability", "os", "--backup-dir", self.backups)
        self.cluster.start_worker("w", "--slots", "4")
        load = self.cluster.start("load", [
            LOAD, self.cluster.address, TASKS, BATCH, self.cluster.path("acknowledged")])
        acknowledged = self.cluster.path("acknowledged")
        wait_until(
            lambda: acknowledged.exists() and len(self.acknowledged()) >= TASKS // 10, 60,
            "a tenth is acknowledged")
        before = self.acknowledged()

        first = self.back_up()
        self.assertEqual(load.popen.wait(600), 0)
        second = self.back_up()

        self.assertEqual((first["backup"], second["backup"]), (1, 2))
        restored = self.move_to_backup("--number", 1)
        self.assertEqual(restored["backup"], 1)
        self.cluster.start_coordinator()
        wait_until(self.is_drained, 120, "what the backup holds is done")
        # A task acknowledged before the backup is in it; it has completed by now, if not before.
        for task in before[:: max(1, len(before) // 50)]:
            self.assertEqual(self.cluster.status(task)["state"], "completed")

    def acknowledged(self):
        # The last line may be incomplete.
        return self.cluster.path("acknowledged").read_text().split()[:-1]

    def is_drained(self):
        echo = self.cluster.queue_stats("echo")
        return echo and echo["ready"] + echo["leased"] + echo["scheduled"] == 0

    def test_restored_store_refuses_the_tokens_of_a_later_life(self):
        starts = self.cluster.path("starts")
        self.cluster.start_coordinator("--backup-dir", self.backups)
        task = self.cluster.enqueue("sleep", f"{starts} 3000 1")
        self.back_up()
        worker = self.cluster.start_worker("old", "--slots", "1")
        wait_until(starts.exists, 10, "the task is leased, which the backup does not know")
        old = self.cluster.status(task)["token"]
        worker.suspend()
        self.move_to_backup()

        self.cluster.start_coordinator()
        other = self.cluster.start_worker("new", "--slots", "1")
        self.assertEqual(self.cluster.result(task), "1")
        done = self.cluster.status(task)
        other.terminate(5)
        worker.go_on()

        # The worker's only slot is free again: it has reported, or was told that its lease has
        # ended.
        self.assertEqual(self.cluster.result(self.cluster.enqueue("echo", "free")), "free")
        self.assertGreater(int(done["token"]), int(old))
        self.assertEqual(self.cluster.status(task), done)
        self.assertEqual(len(starts.read_text().splitlines()), 2)

    def test_is_refused_without_a_directory(self):
        self.cluster.start_coordinator()

        self.assertIn("--backup-dir", self.cluster.ctl_error("backup"))

    def test_is_not_restored_over_a_store(self):
        self.cluster.start_coordinator("--backup-dir", self.backups)
        self.back_up()
        self.cluster.coordinator.terminate(5)

        self.assertIn("is not empty", self.cluster.ctl_error("restore", self.backups, self.store))


if __name__ == "__main__":
    unittest.main()
