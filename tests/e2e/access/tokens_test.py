# SPDX-License-Identifier: Apache-2.0
"""The roles, lifetimes and files of access tokens."""

import json
import os
import re
import stat
import threading
import time
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway

UNAUTHORIZED = "unauthorized"
TENANT = ("--tenant", "a")


class TokensTest(cluster.ClusterTest):
    """A coordinator with a token file."""

    def setUp(self):
        super().setUp()
        self.file = self.cluster.path("tokens")
        self.tokens = {
            name: self.create(name, *fields) for name, *fields in (
                ("ada", "--tenant", "a", "--role", "producer"),
                ("both", "--tenant", "a", "--role", "producer-worker", "--queues", "upper,mail"),
                ("boss", "--tenant", "a", "--role", "admin"),
                ("reader", "--tenant", "a", "--role", "reader"),
                ("auditor", "--tenant", "*", "--role", "reader"),
                ("scraper", "--tenant", "*", "--role", "metrics"))}
        self.start()

    def start(self):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file,
            "--backup-dir", self.cluster.path("backups"), access=("--tokens", self.file))
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def create(self, subject, *fields):
        return self.cluster.ctl(
            "token", "create", "--file", self.file, "--subject", subject, *fields).decode().strip()

    def listed(self):
        text = self.cluster.ctl("--json", "token", "list", "--file", self.file)
        return {entry["subject"]: entry for entry in json.loads(text)["tokens"]}

    def ctl(self, bearer, *arguments, status=0):
        self.cluster.token = self.tokens.get(bearer, bearer)
        return self.cluster.ctl(*arguments, status=status).decode()

    def refused(self, bearer, *arguments):
        self.cluster.token = self.tokens.get(bearer, bearer)
        self.assertIn(UNAUTHORIZED, self.cluster.ctl_error(*arguments), (bearer, arguments))

    def ask(self, bearer, method, path, body=None):
        fields = {"Authorization": "Bearer " + self.tokens.get(bearer, bearer)}
        return self.http.raw(method, path, None if body is None else json.dumps(body),
                             fields=fields)

    def routes(self):
        """(method, path) of each route that needs a token."""
        document = self.http.raw("GET", "/openapi.json").json
        for path, methods in document["paths"].items():
            for method, route in methods.items():
                if method != "parameters" and route.get("security") != []:
                    yield method.upper(), re.sub(r"\{\w+\}", "x", path)


class Revoked(TokensTest):
    def test_token_ends_a_change_at_a_rate(self):
        tasks = [self.ctl("ada", "enqueue", "mail", str(i), *TENANT).strip() for i in range(20)]
        for task in tasks:
            self.ctl("boss", "force", "fail", task, "--text", "x")
        self.cluster.ctl("token", "revoke", "--file", self.file, self.listed()["boss"]["token"])
        answers = []
        purge = threading.Thread(target=lambda: answers.append(self.ask(
            "boss", "POST", "/v1/codeq/admin/dead/purge", {"queue": "mail", "rate": 2})))
        purge.start()
        wait_until(lambda: self.dead() < len(tasks), 10, "the purge begins")

        self.cluster.coordinator.hang_up()

        purge.join(30)
        self.assertEqual(401, answers[0].status, answers[0].text)
        self.assertGreater(self.dead(), 5)

    def dead(self):
        return self.ask("reader", "GET", "/v1/codeq/admin/queues/mail").json["dlq"]


class Roles(TokensTest):
    def test_reader_changes_nothing_over_http(self):
        writing = [route for route in self.routes() if route[0] != "GET"]
        self.assertGreater(len(writing), 20)
        for method, path in writing:
            answer = self.ask("reader", method, path, {})
            self.assertEqual(403, answer.status, (method, path))
            self.assertIn("forbidden: the token's role is reader; this route takes ",
                          answer.json["error"], (method, path))

    def test_reader_reads_what_an_admin_reads_over_http(self):
        of_the_process = ("/metrics", "/v1/codeq/admin/log-level")
        of_the_cluster = "/v1/codeq/admin/cluster"
        endless = "/v1/codeq/admin/live"
        for method, path in self.routes():
            if method == "GET" and path not in (endless, of_the_cluster, *of_the_process):
                answers = [self.ask(who, method, path).status for who in ("reader", "boss")]
                self.assertEqual(answers[0], answers[1], path)
                self.assertNotEqual(403, answers[0], path)
        for path in ("/metrics", of_the_cluster):
            self.assertEqual(403, self.ask("reader", "GET", path).status)
        for path in of_the_process:
            self.assertEqual(200, self.ask("auditor", "GET", path).status)

    def test_reader_changes_nothing_at_the_node_port(self):
        task = self.ctl("ada", "enqueue", "mail", "x", *TENANT).strip()
        dead = self.ctl("ada", "enqueue", "mail", "y", *TENANT).strip()
        self.ctl("boss", "force", "fail", dead, "--text", "x")
        key = ("--queue", "mail", "--key", "K", *TENANT)
        for verb in (
                ("enqueue", "mail", "x", *TENANT), ("cancel", task), ("cancel", *key),
                ("promote", task), ("redrive", dead), ("purge", dead),
                ("dead", "redrive", "--queue", "mail", *TENANT),
                ("dead", "purge", "--queue", "mail", "--yes", *TENANT), ("force", "revoke", task),
                ("force", "complete", task, "--text", "x"), ("force", "fail", task, "--text", "x"),
                ("queue", "set", "mail", "--lease", "9s", *TENANT),
                ("queue", "pause", "mail", *TENANT), ("queue", "resume", "mail", *TENANT),
                ("queue", "purge", "mail", "--yes", *TENANT), ("tenant", "purge", "a", "--yes"),
                ("schedule", "set", "s", "--every", "1h", "--queue", "mail", *TENANT),
                ("schedule", "pause", "s", *TENANT), ("schedule", "run", "s", *TENANT),
                ("schedule", "delete", "s", *TENANT),
                ("backup",), ("log-level", "debug")):
            self.refused("reader", *verb)
            self.refused("auditor", *verb)
        for one, state in ((task, "ready"), (dead, "dead")):
            self.assertEqual(state, json.loads(self.ctl("boss", "--json", "get", one))["state"])

    def test_refused_change_tells_whose_token_it_takes(self):
        self.ctl("ada", "enqueue", "mail", "x", *TENANT)
        for bearer in ("ada", "reader"):
            for verb in (("pause", "mail"), ("purge", "mail", "--yes"),
                         ("set", "mail", "--lease", "9s")):
                self.cluster.token = self.tokens[bearer]
                said = self.cluster.ctl_error("queue", *verb, *TENANT)
                self.assertEqual("codeqctl: unauthorized: this takes an admin's token\n", said)

    def test_reader_reads_at_the_node_port(self):
        task = self.ctl("ada", "enqueue", "mail", "x", *TENANT).strip()
        for reader in ("reader", "auditor"):
            self.assertIn(task, self.ctl(reader, "list", *TENANT))
            for verb in ("get", "explain", "events"):
                self.ctl(reader, verb, task)
            self.ctl(reader, "result", task, status=3)
            self.ctl(reader, "dead", "list", *TENANT)
            self.ctl(reader, "queue", "show", "mail", *TENANT)
            self.assertIn("mail", self.ctl(reader, "stats"))
            self.ctl(reader, "audit")
            self.ctl(reader, "workers")
        self.ctl("auditor", "backups")
        self.ctl("auditor", "log-level")
        self.refused("reader", "list", "--tenant", "b")

    def test_producer_and_worker_in_one(self):
        path = self.cluster.path("both.token")
        self.cluster.path("both.token").touch(0o600)
        path.write_text(self.tokens["both"])
        self.cluster.start_worker("w", "--token-file", path, *TENANT, "--exec",
                                  "upper=tr a-z A-Z", handlers=())
        task = self.ctl("both", "enqueue", "upper", "x", *TENANT).strip()
        self.assertEqual("X", self.ctl("both", "result", task, "--wait", "20s"))

        body = {"command": "mail", "payload": 1}
        self.assertEqual(202, self.ask("both", "POST", "/v1/codeq/tasks", body).status)
        self.assertEqual(200, self.ask("both", "POST", "/v1/codeq/tasks/claim",
                                       {"commands": ["mail"]}).status)
        self.refused("both", "enqueue", "other", "x", *TENANT)
        self.assertEqual(403, self.ask("both", "POST", "/v1/codeq/tasks",
                                       {**body, "command": "other"}).status)
        self.refused("both", "queue", "pause", "mail", *TENANT)

    def test_metrics_token_opens_metrics_alone(self):
        self.assertIn("codeq_", self.ask("scraper", "GET", "/metrics").text)
        for method, path in self.routes():
            if path != "/metrics":
                self.assertEqual(403, self.ask("scraper", method, path, {}).status, path)
        for verb in (("stats",), ("list", *TENANT), ("enqueue", "mail", "x", *TENANT)):
            self.refused("scraper", *verb)

    def test_scopes_limit_a_worker(self):
        self.tokens["claimer"] = self.create(
            "claimer", "--tenant", "a", "--role", "worker", "--queues", "*", "--scopes",
            "codeq:claim")
        self.coordinator.hang_up()
        wait_until(lambda: self.ask("claimer", "GET", "/v1/codeq/tasks").status == 200, 10, "it")

        self.assertEqual(204, self.ask("claimer", "POST", "/v1/codeq/tasks/claim", {}).status)
        answer = self.ask("claimer", "POST", "/v1/codeq/tasks/x/nack", {})
        self.assertEqual((403, "missing scope codeq:nack"), (answer.status, answer.json["error"]))


class Lifetimes(TokensTest):
    def test_token_expires(self):
        self.tokens["short"] = self.create(
            "short", *TENANT, "--role", "producer", "--expires", "5s")
        self.coordinator.hang_up()
        wait_until(lambda: self.ask("short", "GET", "/v1/codeq/tasks").status == 200, 4, "it")

        wait_until(lambda: self.ask("short", "GET", "/v1/codeq/tasks").status == 401, 8, "its end")
        self.refused("short", "get", "--queue", "mail", "--key", "K", *TENANT)
        self.assertRegex(
            self.coordinator.text(), 'reason="it has expired at [^"]*, subject short; `codeqctl')
        self.assertIn("expired", self.ctl("ada", "token", "list", "--file", self.file))

    def test_both_tokens_of_a_rotation_work(self):
        old = self.tokens["ada"]
        name = self.listed()["ada"]["token"]
        out = self.cluster.path("ada.token")
        self.ctl("ada", "token", "rotate", name, "--file", self.file, "--overlap", "4s", "--out",
                 out)
        new = out.read_text().strip()
        self.assertEqual(0o600, stat.S_IMODE(out.stat().st_mode))
        self.coordinator.hang_up()
        wait_until(lambda: self.ask(new, "GET", "/v1/codeq/tasks").status == 200, 3, "the new one")
        self.assertEqual(200, self.ask(old, "GET", "/v1/codeq/tasks").status)

        wait_until(lambda: self.ask(old, "GET", "/v1/codeq/tasks").status == 401, 10, "its end")
        self.assertEqual(200, self.ask(new, "GET", "/v1/codeq/tasks").status)

    def test_worker_goes_through_a_rotation(self):
        self.tokens["w"] = self.create("w", *TENANT, "--role", "worker", "--queues", "*")
        self.coordinator.hang_up()
        # A worker whose token is not known gives up.
        wait_until(lambda: "has read tokens" in self.coordinator.text(), 10, "the token is read")
        path = self.cluster.path("w.token")
        path.touch(0o600)
        path.write_text(self.tokens["w"])
        worker = self.cluster.start_worker("w", "--token-file", path, *TENANT, "--exec",
                                           "upper=tr a-z A-Z", handlers=())
        task = self.ctl("ada", "enqueue", "upper", "x", *TENANT).strip()
        self.ctl("ada", "result", task, "--wait", "20s")
        self.ctl("ada", "token", "rotate", self.listed()["w"]["token"], "--file", self.file,
                 "--overlap", "3s", "--out", path)
        self.coordinator.hang_up()

        time.sleep(5)
        task = self.ctl("ada", "enqueue", "upper", "y", *TENANT).strip()
        self.assertEqual("Y", self.ctl("ada", "result", task, "--wait", "20s"))
        self.assertTrue(worker.is_running())

    def test_list_shows_scopes_and_expiry(self):
        self.create("w", *TENANT, "--role", "worker", "--queues", "*", "--scopes",
                    "codeq:claim,codeq:result", "--expires", "90d")
        entry = self.listed()["w"]
        self.assertEqual(["codeq:claim", "codeq:result"], entry["scopes"])
        self.assertRegex(entry["expires"], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(6, len(self.listed()["both"]["scopes"]))
        text = self.ctl("ada", "token", "list", "--file", self.file)
        self.assertRegex(text, r"w +a +worker +\* +codeq:claim,codeq:result +20")

    def test_bad_options_are_refused(self):
        for wrong, *options in (
                ("must be names", "--scopes", "claim"),
                ("--expires", "--expires", "0s"), ("--expires", "--expires", "3651d"),
                ("--expires", "--expires", "soon")):
            error = self.cluster.ctl_error(
                "token", "create", "--file", self.file, "--subject", "x", *TENANT, "--role",
                "worker", "--queues", "*", *options)
            self.assertIn(wrong, error)
        self.assertNotIn("x", self.listed())

    def test_wrong_role_is_wrong_usage(self):
        done = self.cluster.try_ctl("token", "create", "--file", self.file, "--subject", "x",
                                    *TENANT, "--role", "boss")
        self.assertEqual(2, done.returncode)
        self.assertIn("--role must be producer, worker", done.stderr.decode())

    def test_role_that_does_not_fit_its_options_is_wrong_usage(self):
        for options in (("--role", "worker"), ("--role", "metrics")):
            done = self.cluster.try_ctl("token", "create", "--file", self.file, "--subject", "x",
                                        *TENANT, *options)
            self.assertEqual(2, done.returncode, done.stderr)

    def test_second_rotation_names_the_token_to_rotate(self):
        name = self.listed()["ada"]["token"]
        out = self.cluster.path("ada.token")
        self.ctl("ada", "token", "rotate", name, "--file", self.file, "--out", out)
        error = self.cluster.ctl_error("token", "rotate", name, "--file", self.file)
        successor = re.search(r"If it was rotated before, rotate its successor (\w+)", error)[1]
        self.assertNotEqual(successor, name)
        self.ctl("ada", "token", "rotate", successor, "--file", self.file, "--out", out)


class ClusterToken(TokensTest):
    """The token that a coordinator shows to the others; etcd is not asked before it was checked."""

    def refused_start(self, bearer):
        path = self.cluster.path("cluster.token")
        path.write_text(bearer)
        path.chmod(0o600)
        process = self.cluster.start("member", [
            cluster.BIN / "codeq-coordinator", "--tokens", self.file,
            "--data", self.cluster.path("member"), "--listen", "127.0.0.1:9",
            "--cluster", "c", "--etcd", "http://127.0.0.1:9", "--cluster-token-file", path])
        self.assertEqual(2, process.wait(20))
        return process.text()

    def test_that_is_not_an_admins_of_all_tenants_is_wrong_usage(self):
        for name, words in (("ada", "has the role producer for tenant a"),
                            ("boss", "has the role admin for tenant a"),
                            ("auditor", "has the role reader for tenant *")):
            text = self.refused_start(self.tokens[name])
            self.assertIn("--cluster-token-file: the token of ", text)
            self.assertIn(words + "; it has to be an admin's of tenant *", text)

    def test_that_the_tokens_do_not_have_is_wrong_usage(self):
        self.assertIn("the file of --tokens, or has expired", self.refused_start("codeq_x"))


class Files(TokensTest):
    def test_tokens_are_written_to_private_files(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        out = self.cluster.path("x.token")
        create = ("token", "create", "--file", self.cluster.path("new"), "--subject", "x", *TENANT,
                  "--role", "producer", "--out", out)
        self.assertEqual(b"", self.cluster.ctl(*create))
        for path in (out, self.cluster.path("new")):
            self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode), path)
        self.assertRegex(out.read_text(), r"^codeq_[0-9a-f]{64}\n$")
        self.assertIn("exists already", self.cluster.ctl_error(*create))

    def test_file_that_everybody_reads_is_warned_about(self):
        self.file.chmod(0o644)
        self.coordinator.terminate(10)
        self.start()
        self.assertIn("can be read by every user", self.coordinator.text())

        path = self.cluster.path("ada.token")
        path.write_text(self.tokens["ada"])
        path.chmod(0o644)
        done = self.cluster.try_ctl("--token-file", path, "enqueue", "mail", "x", *TENANT)
        self.assertEqual(0, done.returncode)
        self.assertIn("can be read by every user", done.stderr.decode())
        path.chmod(0o600)
        done = self.cluster.try_ctl("--token-file", path, "enqueue", "mail", "x", *TENANT)
        self.assertEqual(b"", done.stderr)

    def test_file_that_everybody_may_write_is_refused(self):
        self.file.chmod(0o606)
        self.coordinator.hang_up()
        wait_until(lambda: "every user may write it" in self.coordinator.text(), 10, "the refusal")
        self.assertEqual(200, self.ask("ada", "GET", "/v1/codeq/tasks").status)
        self.coordinator.terminate(10)

        with self.assertRaises(RuntimeError) as caught:
            self.start()
        self.assertIn("every user may write it", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
