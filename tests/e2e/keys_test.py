# SPDX-License-Identifier: Apache-2.0
"""Duplicate keys, deferral and promotion: each case of the contract, with the real programs."""

import json
import time
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway


class KeyTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def put(self, queue, payload, *options, key="X"):
        """Enqueues a task with a key; returns (id, kind of the answer)."""
        answer = json.loads(self.cluster.ctl(
            "--json", "enqueue", queue, "-", "--key", key, *options, payload=payload.encode()))
        return answer["ids"][0], answer["outcomes"][0]

    def by_key(self, command, queue, key="X", status=0):
        return self.cluster.ctl("--json", command, "--queue", queue, "--key", key, status=status)

    def starts(self):
        """(monotonic seconds, pid, attempt) of each start of a handler that logs."""
        text = self.path.read_text() if self.path.exists() else ""
        rows = [line.split() for line in text.splitlines()]
        return [(int(row[0]) / 1000, int(row[1]), int(row[2])) for row in rows if len(row) == 5]


class Scenarios(KeyTest):
    def test_deferred_duplicate_does_not_bring_the_time_forward(self):
        self.cluster.start_worker("w")
        begin = time.monotonic()
        task, _ = self.put("sleep", f"{self.path} 0 0", "--delay", "3s")

        again = self.put("sleep", "y", "--delay", "1s", "--on-duplicate", "defer")

        self.assertEqual(again, (task, "unchanged"))
        self.assertEqual(self.cluster.result(task), "1")
        self.assertGreaterEqual(self.starts()[0][0] - begin, 3)

    def test_promoting_duplicate_brings_the_time_forward_when_allowed(self):
        self.cluster.start_worker("w")
        task, _ = self.put("echo", "x", "--delay", "1h", "--allow-promotion")

        again = self.put("echo", "y", "--delay", "500ms", "--on-duplicate", "promote")

        self.assertEqual(again, (task, "promoted"))
        self.assertEqual(self.cluster.result(task), "x")

    def test_retry_is_not_delayed_by_the_lease(self):
        self.cluster.start_worker("w")
        task, _ = self.put("log_and_fail", str(self.path), "--lease", "60s", "--retry", "fixed",
                           "--retry-base", "1s", "--max-attempts", "2")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 20, "both attempts fail")

        (first, _, _), (second, _, _) = self.starts()
        self.assertGreaterEqual(second - first, 1)
        self.assertLess(second - first, 20)

    def test_promotion_of_a_leased_task_hands_it_to_nobody_else(self):
        self.cluster.start_worker("a", "--slots", "1", "--prefetch", "0")
        task, _ = self.put("sleep", f"{self.path} 2000 9", "--lease", "60s")
        wait_until(lambda: self.starts(), 10, "a runs it")
        self.cluster.start_worker("b", "--slots", "1")
        self.cluster.result(self.cluster.enqueue("echo", "b is connected"))

        answer = json.loads(self.by_key("promote", "sleep"))

        self.assertEqual((answer["outcome"], answer["state"]), ("unchanged", "leased"))
        self.assertEqual(self.cluster.result(task), "1")
        self.assertEqual(len(self.starts()), 1)

    def test_promotion_of_a_key_that_is_gone_makes_nothing(self):
        self.cluster.start_worker("w")
        task, _ = self.put("echo", "x")
        self.cluster.result(task)
        self.cluster.ctl("queue", "purge", "echo", "--yes")

        self.by_key("promote", "echo", status=1)
        self.assertIn("codeqctl: unknown_task: no task has that key", self.cluster.ctl_error(
            "promote", "--queue", "echo", "--key", "X"))

        self.by_key("get", "echo", status=1)
        self.cluster.ctl("get", task, status=1)

    def test_enqueue_that_fails_leaves_its_key_free(self):
        self.cluster.ctl("queue", "set", "echo", "--max-depth", "1")
        for number in range(8):
            key = f"fill-{number}"
            tried = self.cluster.try_ctl("enqueue", "echo", "-", "--key", key, payload=b"fill")
            if tried.returncode != 0:
                break
        self.assertIn("queue_full", tried.stderr.decode())

        self.cluster.ctl("queue", "set", "echo", "--max-depth", "0")
        _, kind = self.put("echo", "x", key=key)

        self.assertEqual(kind, "created")


class Policies(KeyTest):
    def test_unleased_record(self):
        task, kind = self.put("echo", "x", "--delay", "1h")
        self.assertEqual(kind, "created")

        self.assertEqual(self.put("echo", "y"), (task, "existing"))
        self.assertEqual(
            self.put("echo", "y", "--on-duplicate", "defer", "--delay", "2h"), (task, "deferred"))
        self.assertEqual(
            self.put("echo", "y", "--on-duplicate", "defer", "--delay", "1h"), (task, "unchanged"))
        with self.assertRaisesRegex(AssertionError, "duplicate"):
            self.put("echo", "y", "--on-duplicate", "reject")
        self.assertEqual(
            self.put("echo", "y", "--on-duplicate", "replace_ended"), (task, "existing"))

    def test_leased_record(self):
        self.cluster.start_worker("w")
        task, _ = self.put("sleep", f"{self.path} 60000 9", "--lease", "1h")
        wait_until(lambda: self.starts(), 10, "it runs")

        for policy in ("defer", "promote"):
            self.assertEqual(self.put("sleep", "y", "--on-duplicate", policy), (task, "running"))
        for policy in ("existing", "replace_ended"):
            self.assertEqual(self.put("sleep", "y", "--on-duplicate", policy), (task, "existing"))

    def test_terminal_record(self):
        self.cluster.start_worker("w")
        task, _ = self.put("echo", "x")
        self.cluster.result(task)

        self.assertEqual(self.put("echo", "y"), (task, "existing"))
        fresh, kind = self.put("echo", "y", "--on-duplicate", "defer")

        self.assertEqual(kind, "created")
        self.assertNotEqual(fresh, task)
        self.assertEqual(self.cluster.result(fresh), "y")

    def test_ended_record_is_replaced_by_each_policy_that_may(self):
        self.cluster.start_worker("w")
        task, _ = self.put("echo", "0")
        self.cluster.result(task)

        for policy in ("replace_ended", "defer", "promote"):
            fresh, kind = self.put("echo", policy, "--on-duplicate", policy)
            self.assertEqual((kind, self.cluster.result(fresh)), ("created", policy))
            self.assertNotEqual(fresh, task)
        for policy in ("existing", "reject"):
            tried = self.cluster.try_ctl("enqueue", "echo", "y", "--key", "X",
                                         "--on-duplicate", policy)
            self.assertIn(fresh, (tried.stdout + tried.stderr).decode())

    def test_dead_record_is_replaced_and_stays(self):
        self.cluster.start_worker("w")
        task, _ = self.put("fail", "x", "--max-attempts", "1")
        wait_until(lambda: self.cluster.status(task)["state"] == "dead", 20, "it fails")

        self.assertEqual(self.put("fail", "y"), (task, "existing"))
        fresh, kind = self.put("fail", "y", "--on-duplicate", "replace_ended", "--delay", "1h")

        self.assertEqual(kind, "created")
        self.assertNotEqual(fresh, task)
        self.assertEqual(self.cluster.status(task)["state"], "dead")

    def test_replaced_payload_is_what_runs(self):
        task, _ = self.put("echo", "old", "--delay", "1h", "--allow-promotion")
        self.put("echo", "new", "--on-duplicate", "promote", "--replace-payload")
        self.cluster.start_worker("w")

        self.assertEqual(self.cluster.result(task), "new")

    def test_key_is_one_per_group_and_survives_a_restart(self):
        task, _ = self.put("echo", "x", "--delay", "1h")
        grouped, kind = self.put("echo", "x", "--delay", "1h", "--group", "g")
        self.assertEqual(kind, "created")

        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()

        self.assertEqual(self.put("echo", "y"), (task, "existing"))
        self.assertEqual(self.put("echo", "y", "--group", "g"), (grouped, "existing"))

    def test_get_and_cancel_take_a_key(self):
        task, _ = self.put("echo", "x", "--delay", "1h")

        self.assertEqual(json.loads(self.by_key("get", "echo"))["id"], task)
        self.assertEqual(json.loads(self.by_key("cancel", "echo"))["state"], "cancelled")

        self.assertEqual(self.cluster.status(task)["state"], "cancelled")


class OverHttp(cluster.ClusterTest):
    def test_ended_record_is_replaced_when_asked(self):
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))
        keyed = {"idempotencyKey": "k", "onDuplicate": "replace_ended"}
        first = http.enqueue("echo", "x", **keyed)["id"]
        self.assertEqual(http.enqueue("echo", "y", **keyed)["id"], first)
        self.cluster.start_worker("w")
        self.cluster.result(first)

        fresh = http.enqueue("echo", "z", **keyed)["id"]

        self.assertNotEqual(fresh, first)
        self.assertEqual(self.cluster.result(fresh), '"z"')


if __name__ == "__main__":
    unittest.main()
