# SPDX-License-Identifier: Apache-2.0
"""Access control: every request needs a token, and a token allows no more than its rights."""

import contextlib
import json
import os
import pathlib
import subprocess
import unittest

import cluster
from cluster import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNKNOWN = "unknown_task"
UNAUTHORIZED = "unauthorized"


class AccessTest(cluster.ClusterTest):
    """A coordinator with tokens; those of tenant `b` belong to attackers."""

    def setUp(self):
        super().setUp()
        self.file = self.cluster.path("tokens")
        self.tokens = {
            name: self.create(name, *fields) for name, *fields in (
                ("ada", "--tenant", "a", "--role", "producer"),
                ("boss", "--tenant", "a", "--role", "admin"),
                ("work", "--tenant", "a", "--role", "worker", "--queues", "*"),
                ("stranger", "--tenant", "b", "--role", "producer"),
                ("rival", "--tenant", "b", "--role", "admin"),
                ("spy", "--tenant", "b", "--role", "worker", "--queues", "echo"),
                ("ops", "--tenant", "*", "--role", "admin"))}
        self.cluster.start_coordinator(access=("--tokens", self.file))

    def create(self, subject, *fields):
        return self.cluster.ctl(
            "token", "create", "--file", self.file, "--subject", subject, *fields).decode().strip()

    @contextlib.contextmanager
    def bearing(self, name):
        """Runs codeqctl with the token of that name."""
        before, self.cluster.token = self.cluster.token, self.tokens.get(name, name)
        try:
            yield self.cluster
        finally:
            self.cluster.token = before

    def token_file(self, name):
        path = self.cluster.path(f"token-{name}")
        path.write_text(self.tokens[name] + "\n")
        return path

    def start_worker(self, bearer, *options, tenant="a", name="w"):
        return self.cluster.start_worker(
            name, "--token-file", self.token_file(bearer), "--tenant", tenant, *options)

    def enqueue(self, *options, queue="echo", payload="x", bearer="ada", tenant="a"):
        with self.bearing(bearer) as with_token:
            return with_token.enqueue(queue, payload, "--tenant", tenant, *options)

    def seen(self, *arguments, bearer="boss"):
        with self.bearing(bearer) as with_token:
            return json.loads(with_token.ctl("--json", *arguments))

    def state(self, task):
        return self.seen("get", task)["state"]

    def assert_refused(self, bearer, reason, *arguments):
        with self.bearing(bearer) as with_token:
            self.assertIn(reason, with_token.ctl_error(*arguments), (bearer, arguments))

    def assert_strangers_refused(self, reason, *arguments):
        self.assert_refused("rival", reason, *arguments)


class Verbs(AccessTest):
    """Attackers try each verb on the task of tenant `a`, which must not change."""

    def test_nobody_comes_in_without_a_good_token(self):
        task = self.enqueue("--delay", "1h")

        for token in (None, "codeq_" + "0" * 64, "x"):
            self.assert_refused(token, UNAUTHORIZED, "stats")
            self.assert_refused(token, UNAUTHORIZED, "get", task)
            self.assert_refused(token, UNAUTHORIZED, "result", task, "--wait", "5s")
            self.assert_refused(token, UNAUTHORIZED, "enqueue", "echo", "x")
        self.assert_refused(None, "give one with --token-file or CODEQ_TOKEN", "stats")

        self.assertEqual(self.state(task), "scheduled")

    def test_enqueue(self):
        for bearer in ("stranger", "rival"):
            self.assert_refused(
                bearer, UNAUTHORIZED, "enqueue", "echo", "x", "--tenant", "a")
        self.assert_refused("work", UNAUTHORIZED, "enqueue", "echo", "x", "--tenant", "a")

        self.assertEqual(self.seen("list", "--tenant", "a")["tasks"], [])
        for bearer in ("ada", "boss", "ops"):
            self.enqueue(bearer=bearer)
        self.assertEqual(len(self.seen("list", "--tenant", "a")["tasks"]), 3)

    def test_get_and_result(self):
        task = self.enqueue("--delay", "1h", "--key", "K")
        key = ("--queue", "echo", "--key", "K", "--tenant", "a")

        for bearer in ("stranger", "rival"):
            self.assert_refused(bearer, UNKNOWN, "get", task)
            self.assert_refused(bearer, UNKNOWN, "result", task)
            self.assert_refused(bearer, UNKNOWN, "result", task, "--wait", "5s")
            self.assert_refused(bearer, UNAUTHORIZED, "get", *key)
        for bearer in ("ada", "boss", "ops"):
            self.assertEqual(self.seen("get", task, bearer=bearer)["id"], task)
            self.assertEqual(self.seen("get", *key, bearer=bearer)["id"], task)

    def test_task_that_ended_long_ago(self):
        self.start_worker("work")
        task = self.enqueue()
        with self.bearing("ada") as with_token:
            self.assertEqual(with_token.result(task), "x")
            self.assertEqual(with_token.ctl("watch", task), b"completed\n")
        # After a restart only its record on disk is left.
        self.cluster.coordinator.terminate(10)
        self.cluster.start_coordinator(access=("--tokens", self.file))

        for command in ("get", "result", "explain", "events", "cancel", "promote", "redrive",
                        "purge"):
            self.assert_strangers_refused(UNKNOWN, command, task)
        self.assert_strangers_refused(UNKNOWN, "result", task, "--wait", "5s")
        self.assert_strangers_refused(UNKNOWN, "watch", task, "--wait", "5s")

        self.assertEqual(self.state(task), "completed")

    def test_list(self):
        self.enqueue("--delay", "1h")

        self.assert_strangers_refused(UNAUTHORIZED, "list", "--tenant", "a")
        self.assert_refused("ada", UNAUTHORIZED, "list", "--tenant", "a")

        self.assertEqual(self.seen("list", "--tenant", "b", bearer="rival")["tasks"], [])

    def test_cancel_and_promote(self):
        task = self.enqueue("--delay", "1h", "--allow-promotion", "--key", "K")
        key = ("--queue", "echo", "--key", "K", "--tenant", "a")

        for bearer in ("stranger", "rival"):
            for command in ("cancel", "promote"):
                self.assert_refused(bearer, UNKNOWN, command, task)
                self.assert_refused(bearer, UNAUTHORIZED, command, *key)

        self.assertEqual(self.state(task), "scheduled")
        self.assertEqual(self.seen("promote", task, bearer="ada")["outcome"], "changed")
        self.assertEqual(self.seen("cancel", task, bearer="ada")["outcome"], "changed")

    def test_claim(self):
        task = self.enqueue()
        spy = self.start_worker("spy", tenant="a")
        self.assertEqual(spy.wait(20), 2)
        self.assertIn("does not allow to claim from queue", spy.text())
        self.assertIn("if the token is for another tenant, give that with --tenant", spy.text())

        # Its attempt must not take over the name of tenant a's worker either.
        worker = self.start_worker("work")
        with self.bearing("ada") as with_token:
            self.assertEqual(with_token.result(task), "x")
        self.assertTrue(worker.is_running())

    def test_worker_gets_its_queues_only(self):
        worker = self.start_worker("spy", tenant="b")  # Its library handles more than `echo`.
        self.assertNotEqual(worker.wait(20), 0)
        self.assertIn("does not allow to claim from queue", worker.text())

        producer = self.start_worker("ada", name="w2")
        self.assertNotEqual(producer.wait(20), 0)
        self.assertIn("is not a worker's", producer.text())

    def test_stats(self):
        self.enqueue("--delay", "1h")

        self.assertEqual(self.seen("stats", bearer="rival"), {"queues": [], "gauges": {}})
        self.assertEqual([q["tenant"] for q in self.seen("stats")["queues"]], ["a"])
        self.assertIn("codeq_leases", self.seen("stats", bearer="ops")["gauges"])
        self.assert_refused("ada", UNAUTHORIZED, "stats")

    def test_explain_and_events(self):
        task = self.enqueue("--delay", "1h")

        for command in ("explain", "events"):
            self.assert_refused("stranger", UNKNOWN, command, task)
            self.assert_strangers_refused(UNKNOWN, command, task)
            self.seen(command, task, bearer="ada")

    def test_dead_list_redrive_and_purge(self):
        task = self.enqueue()
        self.seen("force", "fail", task)

        self.assert_strangers_refused(UNAUTHORIZED, "dead", "list", "--tenant", "a")
        self.assert_strangers_refused(UNAUTHORIZED, "dead", "summary", "--tenant", "a")
        self.assert_strangers_refused(UNAUTHORIZED, "dead", "redrive", "--tenant", "a")
        self.assert_strangers_refused(
            UNAUTHORIZED, "dead", "redrive", "--tenant", "a", "--error", "x", "--dry-run")
        self.assert_strangers_refused(UNAUTHORIZED, "dead", "purge", "--yes", "--tenant", "a")
        self.assert_strangers_refused(UNKNOWN, "redrive", task)
        self.assert_refused("ada", UNAUTHORIZED, "redrive", task)

        self.assertEqual(self.state(task), "dead")
        self.assertEqual(self.seen("redrive", task)["outcome"], "changed")

    def test_force(self):
        task = self.enqueue("--delay", "1h")

        for how in ("revoke", "complete", "fail"):
            self.assert_strangers_refused(UNKNOWN, "force", how, task)
            self.assert_refused("ada", UNAUTHORIZED, "force", how, task)

        self.assertEqual(self.state(task), "scheduled")

    def test_queues_and_tenants(self):
        task = self.enqueue("--delay", "1h")

        for command in (("queue", "set", "echo", "--max-depth", "1"), ("queue", "show", "echo"),
                        ("queue", "pause", "echo"), ("queue", "resume", "echo"),
                        ("queue", "purge", "echo", "--yes")):
            self.assert_strangers_refused(UNAUTHORIZED, *command, "--tenant", "a")
            self.assert_refused("ada", UNAUTHORIZED, *command, "--tenant", "a")
        self.assert_strangers_refused(UNAUTHORIZED, "tenant", "purge", "a", "--yes")

        self.assertEqual(self.state(task), "scheduled")
        shown = self.seen("queue", "show", "echo", "--tenant", "a")
        self.assertEqual((shown["paused"], shown["max_depth"]), (False, 0))


class Tokens(AccessTest):
    """Token files, reloads and rates."""

    def reload(self):
        lines = len(self.cluster.coordinator.text().splitlines())
        self.cluster.coordinator.hang_up()

        def answered():
            return [line for line in self.cluster.coordinator.text().splitlines()[lines:]
                    if "coordinator has read" in line or "coordinator keeps" in line]

        return wait_until(answered, 10, "the files are read again")[0]

    def test_revoked_token_ends_its_sessions_and_others_go_on(self):
        worker = self.start_worker("work")
        with self.bearing("ada") as with_token:
            with_token.result(self.enqueue())
        listed = self.cluster.ctl("--json", "token", "list", "--file", self.file)
        name = next(token["token"] for token in json.loads(listed)["tokens"]
                    if token["subject"] == "work")

        self.cluster.ctl("token", "revoke", "--file", self.file, name)
        self.assertTrue(worker.is_running())
        self.assertIn("has read tokens", self.reload())

        self.assertNotEqual(worker.wait(20), 0)
        self.assertIn("the token was revoked", worker.text())
        self.enqueue()

    def test_new_token_is_known_after_a_reload(self):
        self.tokens["new"] = self.create("new", "--tenant", "a", "--role", "producer")
        self.assert_refused("new", UNAUTHORIZED, "get", self.enqueue())

        self.reload()

        self.enqueue(bearer="new")

    def test_bad_file_keeps_the_old_tokens(self):
        good = self.file.read_text()
        self.file.write_text(good + "sha256=zz subject=x\n")

        answer = self.reload()

        self.assertIn("line 8: sha256 must be 64 digits", answer)
        self.enqueue()

    def test_rate_of_enqueues_is_kept_and_waited_for(self):
        self.tokens["slow"] = self.create(
            "slow", "--tenant", "a", "--role", "producer", "--rate-producer", "10:10")
        self.tokens["slow-boss"] = self.create(
            "slow-boss", "--tenant", "a", "--role", "admin", "--rate-admin", "1:1")
        self.reload()

        with self.bearing("slow") as with_token:
            ids = with_token.ctl(
                "enqueue", "echo", "x", "--tenant", "a", "--delay", "1h", "--count", "15")
            # The library waits as long as it is told to, so no task is refused for good.
            more = with_token.enqueue("echo", "x", "--tenant", "a", "--delay", "1h")

        self.assertEqual(len(ids.split()), 15)
        self.assertTrue(more)
        with self.bearing("slow-boss") as with_token:
            self.assertIn("overloaded: over the rate of the token; retry after",
                          with_token.ctl_error("list", "--tenant", "a"))

    def test_tokens_are_not_logged_nor_stored(self):
        self.start_worker("work")
        with self.bearing("ada") as with_token:
            with_token.result(self.enqueue())
        self.assert_refused("codeq_wrong", UNAUTHORIZED, "stats")

        texts = [log.read_text() for log in self.cluster.directory.glob("*.log")]
        texts.append(self.file.read_text())
        for token in (*self.tokens.values(), "codeq_wrong"):
            self.assertFalse(any(token in text for text in texts))

    def test_token_is_not_sent_unencrypted_over_a_network(self):
        self.cluster.port = 0  # codeqctl is told of no coordinator but by the option below.
        with self.bearing("ada") as with_token:
            said = with_token.ctl_error("--coordinator", "192.0.2.1:1", "stats")

        self.assertIn("by TLS only", said)


class Tls(unittest.TestCase):
    """The test runs the example, which checks its own output."""

    def test_example_runs_a_cluster_over_tls(self):
        script = ROOT / "examples" / "tls" / "run.sh"
        done = subprocess.run(
            [script], env={**os.environ, "CODEQ_BUILD": str(cluster.BUILD)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=180, check=False)
        text = done.stdout.decode()

        self.assertEqual(done.returncode, 0, text)
        for line in ("a task went over TLS: hello Ada", 'a task went over HTTPS: hello "Edith"',
                     "renewed without a restart: hello Grace"):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
