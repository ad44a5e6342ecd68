# SPDX-License-Identifier: Apache-2.0
"""Runs each measurement with the real programs and small numbers, and checks the figures it
prints."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin/codeq-bench"


def measure(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    line, *more = done.stdout.splitlines()
    if more:
        raise AssertionError(f"more than one line: {done.stdout}")
    return json.loads(line)


def refusal(*words, folder):
    """The error of a measurement that may not start, with the folder for temporary files."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, "TMPDIR": folder})
    if done.returncode == 0:
        raise AssertionError(f"it was measured: {done.stdout}")
    return done.stderr


class Coordinator:
    """A coordinator on a scratch directory."""

    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="codeq-bench-")
        port = pathlib.Path(self._directory.name) / "port"
        self._process = subprocess.Popen(
            [PROGRAM.with_name("codeq-coordinator"), "--dev", "--data",
             pathlib.Path(self._directory.name) / "store", "--listen", "127.0.0.1:0",
             "--port-file", port], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while time.monotonic() < end and not (port.exists() and port.read_text().endswith("\n")):
            time.sleep(0.05)
        return f"127.0.0.1:{port.read_text().strip()}"

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=20)
        self._directory.cleanup()


class Measurements(unittest.TestCase):
    def check_times(self, figures):
        times = [figures[name] for name in ("p50_ms", "p99_ms", "p999_ms", "max_ms")]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)

    def test_cycle_runs_in_a_cluster(self):
        figures = measure("cycle", "--coordinators", "2", "--replicas", "2", "--tasks", "3000")
        self.assertEqual(figures["completed"], 3000)
        self.assertEqual((figures["coordinators"], figures["replicas"]), (2, 2))
        parts = (figures["coordinator_us_per_task"], figures["worker_us_per_task"])
        self.assertGreater(min(parts), 0)
        self.assertLess(sum(parts), figures["cpu_us_per_task"])

    def test_failover_serves_all_shards_again(self):
        figures = measure("failover", "--kills", "2", "--rate", "500", "--shards", "4")
        self.assertGreater(figures["shards_lost"], 1)
        for name in ("", "acknowledgement_", "claim_"):
            self.assertGreater(figures[name + "p50_ms"], 0)
            self.assertLessEqual(figures[name + "p50_ms"], figures[name + "max_ms"])

    def test_handover_has_a_gap(self):
        figures = measure("handover", "--tasks", "5000", "--moves", "2")
        self.assertGreater(figures["gap_ms"], 0)
        self.assertLessEqual(figures["gap_p50_ms"], figures["gap_ms"])

    def test_cycle_completes_and_verifies_all(self):
        for durability in ("os", "sync"):
            figures = measure("cycle", "--durability", durability, "--tasks", "3000")
            self.assertEqual(figures["completed"], 3000)
            self.assertGreater(figures["verified"], 100)
            self.assertGreater(figures["log_bytes_per_task"], 256)
            self.assertGreater(figures["cpu_us_per_task"], 0)

    def test_retries_compare_failed_first_attempts_with_good_ones(self):
        figures = measure("retries", "--durability", "os", "--tasks", "2000")
        self.assertEqual(figures["completed"], 2000)
        self.assertGreater(figures["ratio_cpu"], 0)
        self.assertGreater(figures["ratio_log"], 0)

    def test_latency_counts_from_the_call(self):
        figures = measure("latency", "--rate", "100", "--seconds", "1")
        self.assertEqual(figures["tasks"], 100)
        self.check_times(figures)

    def test_latency_goes_with_a_load(self):
        figures = measure("latency", "--rate", "50", "--seconds", "1", "--load", "10")
        self.assertGreater(figures["load_tasks_per_s"], 0)
        self.check_times(figures)

    def test_open_loop_counts_from_when_tasks_are_due(self):
        figures = measure("open-loop", "--rate", "500", "--seconds", "1")
        self.assertEqual(figures["tasks"], 500)
        self.check_times(figures)
        self.assertGreaterEqual(figures["max_ms"], figures["called_max_ms"])

    def test_leases_stay_alive_beyond_their_length(self):
        figures = measure("leases", "--live", "2000", "--lease", "2", "--seconds", "3")
        self.assertEqual(figures["live"], 2000)
        self.assertGreater(figures["rss_coordinator_mib"], 0)

    def test_expired_leases_are_granted_to_another_worker(self):
        figures = measure("expiry", "--leases", "2000", "--lease", "2")
        self.assertEqual(figures["redelivered"], 2000)
        self.assertGreater(figures["redelivered_after_lease_ms"], -100)

    def test_tasks_of_a_lost_worker_begin_at_another(self):
        figures = measure("recover", "--tasks", "4", "--slots", "2", "--prefetch", "2")
        # Not before the leases could expire, unless the worker gave them back.
        self.assertGreater(figures["redelivered_after_kill_ms"], figures["lease_ms"] / 2)
        self.assertLess(figures["redelivered_after_stop_ms"], figures["lease_ms"] / 2)

    def test_backlog_loses_nothing(self):
        for state in ("pending", "retrying"):
            figures = measure("backlog", "--tasks", "9000", "--state", state, "--claims", "500",
                              "--rounds", "1", "--settle", "1")
            self.assertEqual(figures["lost"], 0)
            self.assertGreater(figures["sampled"], 0)
            self.assertGreater(figures["claim_rate_full"], 0)
            self.assertGreater(figures["claim_ratio"], 0)
            self.assertGreater(figures["restart_first_claim_s"], 0)

    def test_backlog_needs_free_bytes_for_its_store(self):
        # 600 bytes a task with the default payload; no disk has a mebibyte for each.
        needed = 100_000_000 * (600 - 256 + 2**20)

        with tempfile.TemporaryDirectory(prefix="codeq-bench-") as folder:
            told = refusal("backlog", "--tasks", "100000000", "--payload", str(2**20),
                           folder=folder)
            left = os.listdir(folder)

        self.assertRegex(told, rf"{re.escape(folder)} has \d+ bytes free")
        self.assertIn(f"the store of 100000000 tasks needs {needed} there", told)
        self.assertEqual(left, [])

    def test_backlog_does_not_start_without_its_folder(self):
        told = refusal("backlog", folder="/nonexistent")

        self.assertIn("the free space of the temporary directory (TMPDIR) is unknown: ", told)

    def test_http_counts_requests_and_cpu(self):
        figures = measure("http", "--connections", "4", "--seconds", "1")
        for name in ("enqueue_per_s", "cycle_requests_per_s", "server_us_per_enqueue",
                     "server_us_per_cycle", "cycles"):
            self.assertGreater(figures[name], 0, name)

    def test_cycle_spreads_tasks_over_fairness_keys(self):
        figures = measure("cycle", "--tasks", "2000", "--fairness-keys", "100", "--batch", "1")
        self.assertEqual((figures["fairness_keys"], figures["completed"]), (100, 2000))

    def test_fairness_refuses_a_flood_that_ends_before_the_others_come(self):
        for option in ("--flood-tasks", "--limited-tasks"):
            told = refusal("fairness", option, "100", folder="/tmp")
            self.assertIn(f"{option}: `100` is not a whole number from 704 to", told)

    def test_cycle_runs_beside_open_dashboards(self):
        figures = measure("cycle", "--tasks", "2000", "--dashboards", "3")
        self.assertEqual((2000, 3), (figures["completed"], figures["dashboards"]))
        self.assertGreater(figures["dashboard_bytes"], 1000)

    def test_dashboard_times_pages_and_redrives_all(self):
        figures = measure("dashboard", "--tasks", "3000", "--dead", "2000", "--queues", "3",
                          "--workers", "3", "--rounds", "3", "--rate", "1000")
        self.assertEqual((2000, True), (figures["redriven"], figures["killed_midway"]))
        self.assertLess(figures["redriven_before_kill"], 2000)
        for name in ("pages_p95_ms", "tasks_p95_ms", "dead_p95_ms", "accepted_ms"):
            self.assertGreater(figures[name], 0, name)
        self.assertLess(figures["redriven_per_s"], 1400)

    def test_priority_holds_over_the_shards(self):
        for connections in ("1", "16"):
            figures = measure("priority", "--tasks", "2000", "--connections", connections)
            self.assertEqual(figures["grants"], 2000)
            self.assertLessEqual(figures["inverted"], 1)

    def test_fairness_protects_small_keys_from_a_flood(self):
        figures = measure("fairness", "--flood-tasks", "50000", "--flood-customers", "1000",
                          "--limited-tasks", "10000",
                          "--others", "200", "--claimed-tasks", "20000", "--claim-keys", "100",
                          "--waiting-tasks", "20000", "--waiting-keys", "2000")
        self.assertLessEqual(figures["flood_ratio"], 1.5)
        self.assertLessEqual(figures["tenant_flood_ratio"], 2)
        self.assertLessEqual(figures["limited_flood_ratio"], 1.5)
        for name in ("claims_per_s", "keyed_claims_per_s", "batched_ratio", "rss_mib"):
            self.assertGreater(figures[name], 0, name)

    def test_limits_cost_cycles_and_a_rate_is_kept(self):
        figures = measure("limits", "--tasks", "3000", "--keys", "3000", "--rounds", "1",
                          "--seconds", "1", "--rate", "200", "--burst", "20", "--durability", "os")
        self.assertGreater(figures["ratio"], 0)
        self.assertEqual(figures["starts"], 220)
        self.assertLessEqual(figures["most_starts_in_a_second"], 220)
        self.assertGreater(figures["starts_of_allowed"], 0.5)
        self.assertLessEqual(figures["starts_of_allowed"], 1.01)

    def test_produce_waits_before_its_tasks_and_after_them(self):
        with Coordinator() as address, subprocess.Popen(
                [PROGRAM, "produce", "--coordinator", address, "--seconds", "1", "--rate", "20"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as producing:
            steps = []
            for _ in ("ready", "accepted"):
                steps.append(json.loads(producing.stdout.readline())["now"])
                producing.stdin.write("\n")
                producing.stdin.flush()
            self.assertEqual(steps, ["ready", "accepted"])
            self.assertEqual(json.loads(producing.stdout.readline())["tasks"], 20)

    def test_schedules_fire_in_time(self):
        figures = measure("schedules", "--schedules", "1000", "--burst", "0", "--seconds", "5",
                          "--settle", "1")
        self.assertGreater(figures["fired"], 0)
        self.assertLess(figures["late_p99_ms"], 1000)

    def test_idle_uses_little(self):
        figures = measure("idle", "--seconds", "1", "--settle", "1")
        self.assertLess(figures["cpu_percent"], 50)


if __name__ == "__main__":
    unittest.main()
