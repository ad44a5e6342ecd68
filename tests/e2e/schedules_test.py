# SPDX-License-Identifier: Apache-2.0
"""Schedules fire by the clock, once for each nominal time, whatever happens to the coordinator."""

import concurrent.futures
import datetime
import json
import os
import shutil
import time
import unittest

import cluster
from cluster import wait_until


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Schedules(cluster.ClusterTest):
    durability = "sync"

    def start(self, *options):
        return self.cluster.start_coordinator("--durability", self.durability, *options)

    def set(self, name, *options):
        return json.loads(self.cluster.ctl(
            "--json", "schedule", "set", name, "--queue", "echo", "--payload", "tick", *options))

    def history(self, name):
        return json.loads(self.cluster.ctl(
            "--json", "schedule", "history", name))["occurrences"]

    def fired(self, name):
        return [one for one in self.history(name) if not one["state"].startswith("skipped")]

    def check_once(self, name):
        """Every second has fired exactly once; returns how many did."""
        fired = self.fired(name)
        times = [seconds_of(one["at"]) for one in fired]
        self.assertEqual(list(range(len(times))), [at - times[0] for at in times], fired)
        tasks = [one["id"] for one in fired]
        self.assertEqual(len(tasks), len(set(tasks)))
        return len(fired)

    def test_fires_each_second_and_its_tasks_run(self):
        self.start()
        self.cluster.start_worker("w")
        self.assertEqual("created", self.set("tick", "--every", "1s")["result"])

        wait_until(lambda: len(self.fired("tick")) >= 3, 20, "three occurrences")
        wait_until(lambda: self.history("tick")[0]["state"] == "completed", 20, "the first ended")

        first = self.history("tick")[0]
        self.assertEqual("tick", self.cluster.result(first["id"]))
        for one in self.fired("tick"):
            self.assertLess(seconds_of(one["decided_at"]) - seconds_of(one["at"]), 1)
            self.assertGreaterEqual(seconds_of(one["decided_at"]), seconds_of(one["at"]))

    def test_coordinator_killed_across_fire_times_loses_and_doubles_none(self):
        self.start()
        self.set("tick", "--every", "1s", "--misfire", "all", "--overlap", "allow")
        for _ in range(3):
            wait_until(lambda: len(self.fired("tick")) >= 2, 20, "two occurrences")
            self.cluster.coordinator.kill()
            time.sleep(1.7)
            self.start()
        time.sleep(1.2)

        self.assertGreaterEqual(self.check_once("tick"), 6)

    @unittest.skipIf("thread" in cluster.SANITIZERS,
                     "libfaketime's waits hide from the sanitizer")
    def test_stepped_clock_loses_and_doubles_none(self):
        clock = cluster.WallClock(self.cluster.path("clock"))
        with clock:
            self.start()
        self.set("tick", "--every", "1s", "--misfire", "all", "--overlap", "allow")
        wait_until(lambda: len(self.fired("tick")) >= 2, 20, "two occurrences")
        # A clock that steps while the coordinator runs changes the time of schedules slowly, one
        # that stepped before it starts at once, but never back.
        for offset in ("-1h", "+20", "+40", "-1d"):
            clock.set(offset)
            count = len(self.fired("tick"))
            wait_until(lambda n=count: len(self.fired("tick")) >= n + 2, 20, "it goes on")
            self.cluster.coordinator.kill()
            with clock:
                self.start()
        count = len(self.fired("tick"))
        wait_until(lambda: len(self.fired("tick")) >= count + 2, 20, "it goes on")

        fired = self.check_once("tick")
        self.assertGreaterEqual(fired, 45)
        self.assertLess(fired, 100, "the history has all")

    def test_full_disk_holds_occurrences_until_it_has_space(self):
        self.start()
        self.set("tick", "--every", "1s", "--misfire", "all", "--overlap", "allow")
        wait_until(lambda: len(self.fired("tick")) >= 2, 20, "two occurrences")
        self.cluster.coordinator.terminate(10)
        disk = os.statvfs(self.cluster.directory)
        self.start("--free-bytes", str(2 * disk.f_bavail * disk.f_frsize))
        count = len(self.fired("tick"))
        time.sleep(2.5)
        for command in (("set", "other", "--every", "1s", "--queue", "q"), ("run", "tick")):
            self.assertIn("disk_full", self.cluster.ctl_error("schedule", *command))
        self.assertEqual(count, len(self.fired("tick")))
        self.cluster.coordinator.terminate(10)
        self.start()
        wait_until(lambda: len(self.fired("tick")) >= count + 3, 20, "it catches up")

        self.check_once("tick")

    def test_restored_backup_goes_on_with_the_first_time_that_it_does_not_have(self):
        backups, store = self.cluster.path("backups"), self.cluster.path("store")
        self.start("--backup-dir", backups)
        self.set("tick", "--every", "1s", "--misfire", "all", "--overlap", "allow")
        wait_until(lambda: len(self.fired("tick")) >= 2, 20, "two occurrences")
        self.cluster.ctl("backup")
        count = len(self.fired("tick"))
        wait_until(lambda: len(self.fired("tick")) >= count + 2, 20, "two after the backup")
        self.cluster.coordinator.kill()
        shutil.rmtree(store)
        self.cluster.ctl("restore", backups, store)
        self.start()
        wait_until(lambda: len(self.fired("tick")) >= count + 4, 20, "it goes on")

        self.check_once("tick")
        self.cluster.coordinator.terminate(10)
        self.assertEqual([], json.loads(self.cluster.ctl("--json", "verify", store))["findings"])

    def test_tenant_purge_leaves_schedules_and_ends_their_occurrences(self):
        self.start()
        self.set("tick", "--every", "1s")
        wait_until(lambda: self.fired("tick"), 20, "an occurrence")

        self.cluster.ctl("tenant", "purge", "default", "--yes")

        wait_until(lambda: len(self.fired("tick")) >= 2, 20, "the next one is not held back")
        self.assertIn("ended", [one["state"] for one in self.fired("tick")])

    def test_latest_of_the_missed_times_fires_by_default(self):
        self.start()
        self.set("tick", "--every", "1s", "--overlap", "allow")
        wait_until(lambda: self.fired("tick"), 20, "an occurrence")
        self.cluster.coordinator.kill()
        time.sleep(3.5)
        self.start()
        wait_until(lambda: any(one["state"] == "skipped_misfire" for one in self.history("tick")),
                   20, "the missed times")

        times = [one["at"] for one in self.fired("tick")]
        self.assertEqual(len(times), len(set(times)))

    def test_equal_requests_at_once_leave_one_schedule_and_no_further_occurrence(self):
        self.start()
        self.set("tick", "--every", "1s", "--overlap", "allow")
        wait_until(lambda: self.fired("tick"), 20, "an occurrence")

        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            results = list(pool.map(
                lambda _: self.set("tick", "--every", "1s", "--overlap", "allow")["result"],
                range(100)))

        self.assertEqual({"unchanged"}, set(results))
        self.check_once("tick")
        listed = json.loads(self.cluster.ctl("--json", "schedule", "list"))["schedules"]
        self.assertEqual(["tick"], [one["name"] for one in listed])

    def test_overlapping_occurrence_is_skipped_and_explained(self):
        self.start()
        self.set("tick", "--every", "1s")
        wait_until(lambda: any(one["state"] == "skipped_overlap" for one in self.history("tick")),
                   20, "a skipped occurrence")

        shown = json.loads(self.cluster.ctl("--json", "schedule", "show", "tick"))
        self.assertEqual(1, shown["running"])
        self.assertIn("its predecessor had not ended", shown["explanation"])

    def test_group_of_another_shard_gets_its_task_once(self):
        self.start("--shards", "4")
        self.cluster.start_worker("w")
        for i in range(8):
            self.set(f"tick{i}", "--every", "1s", "--group", f"g{i}", "--overlap", "allow")
        wait_until(lambda: all(len(self.fired(f"tick{i}")) >= 2 for i in range(8)), 30, "all fire")

        for i in range(8):
            wait_until(lambda i=i: self.fired(f"tick{i}")[0]["state"] == "completed", 20,
                       "the end is known at the shard of the schedule")

    def test_pause_resume_run_backfill_and_delete(self):
        self.start()
        self.set("tick", "--cron", "0 3 * * *", "--zone", "Europe/Berlin")
        self.assertEqual("changed", json.loads(self.cluster.ctl(
            "--json", "schedule", "pause", "tick"))["result"])
        self.assertIn("paused", self.cluster.ctl("schedule", "show", "tick").decode())
        self.cluster.ctl("schedule", "resume", "tick")
        self.assertEqual("fired", json.loads(self.cluster.ctl(
            "--json", "schedule", "run", "tick"))["result"])
        self.cluster.ctl("schedule", "backfill", "tick", "--from", "2026-03-28T00:00:00Z",
                         "--until", "2026-03-31T00:00:00Z")

        history = self.history("tick")
        self.assertEqual(["run_now"] + 3 * ["backfill"], [one["cause"] for one in history])
        # Clocks were turned forward on the second day.
        self.assertEqual(["02:00:00", "01:00:00", "01:00:00"],
                         [one["at"][11:19] for one in history[1:]])
        self.assertIn("deleted, so it does not fire any more",
                      self.cluster.ctl("schedule", "delete", "tick").decode())
        self.assertIn("unknown_schedule", self.cluster.ctl_error("schedule", "show", "tick"))

    def test_dry_run_prints_times_and_sets_nothing(self):
        self.start()
        text = self.cluster.ctl(
            "schedule", "set", "tick", "--cron", "30 2 * * *", "--zone", "Europe/Berlin",
            "--queue", "q", "--dry-run", "--count", "3").decode()
        self.assertEqual(4, len(text.splitlines()), text)
        self.assertIn("UTC", text)
        self.assertIn("unknown_schedule", self.cluster.ctl_error("schedule", "show", "tick"))

    def test_file_of_schedules_is_applied_as_a_whole(self):
        self.start()
        self.set("old", "--every", "1h")
        file = self.cluster.path("schedules.toml")
        file.write_text('[a]\nevery = "1h"\nqueue = "q"\n[b]\ncron = "0 25 * * *"\nqueue = "q"\n')
        self.assertIn("cron field 2", self.cluster.ctl_error("schedule", "apply", file))
        self.assertEqual(1, len(json.loads(
            self.cluster.ctl("--json", "schedule", "list"))["schedules"]))
        file.write_text('[a]\nevery = "1h"\nqueue = "q"\n[b]\ncron = "0 5 * * *"\nqueue = "q"\n')

        done = json.loads(self.cluster.ctl("--json", "schedule", "apply", file, "--prune", "--yes"))

        self.assertEqual([("a", "created"), ("b", "created"), ("old", "deleted")],
                         [(one["name"], one["result"]) for one in done["schedules"]])


    def test_list_over_http_has_them_all(self):
        port_file = self.cluster.path("http-port")
        self.start("--shards", "1", "--http", "127.0.0.1:0", "--http-port-file", port_file)
        port = wait_until(lambda: port_file.exists() and port_file.read_text().strip(), 10, "port")
        file = self.cluster.path("schedules.toml")
        file.write_text("".join(f'[s{i}]\nevery = "1h"\nqueue = "q"\n' for i in range(450)))
        self.cluster.ctl("schedule", "apply", file)

        listed = json.loads(self.cluster.ctl(
            "--json", "--http", f"http://127.0.0.1:{port}", "schedule", "list"))["schedules"]

        self.assertEqual({f"s{i}" for i in range(450)}, {one["name"] for one in listed})


class SchedulesInOsMode(Schedules):
    durability = "os"


if __name__ == "__main__":
    unittest.main()
