# SPDX-License-Identifier: Apache-2.0
"""The operator's tool in daily work: what it shows, what it refuses, and how it fails."""

import datetime
import json
import os
import pty
import subprocess
import time
import unittest

import cluster
from certificates import Authority
from cluster import BIN, free_port, wait_until
from gateway import Gateway

PURGE_STATUS_REFUSED = 2


class OperatorTest(cluster.ClusterTest):
    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def start_sleeper(self, queue="sleep"):
        """A task that runs until the test ends."""
        path = self.cluster.path("starts")
        self.cluster.start_worker("w", "--slots", "2", "--prefetch", "0")
        task = self.cluster.enqueue(queue, f"{path} 60000 1", "--lease", "1h")
        wait_until(lambda: self.cluster.status(task)["state"] == "leased", 10, "the handler runs")
        return task


class Shows(OperatorTest):
    def test_workers_with_their_slots_and_what_they_run(self):
        self.cluster.start_coordinator()
        self.assertEqual(self.json("workers"), {"workers": []})
        task = self.start_sleeper()

        worker, = self.json("workers")["workers"]

        self.assertEqual((worker["name"], worker["connected"], worker["free_slots"],
                          worker["leases"]), ("w", True, 1, 1))
        self.assertEqual([(one["id"], one["queue"]) for one in worker["running"]],
                         [(task, "sleep")])
        self.assertGreater(worker["running"][0]["lease_left_ms"], 3000_000)
        self.assertGreater(worker["queue_count"], 1)
        self.assertIn({"tenant": "default", "queue": "sleep"}, worker["queues"])
        self.assertIn(task, self.cluster.ctl("workers").decode())

    def test_task_that_waits_at_its_worker_is_told_from_the_one_that_runs(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "1")
        self.cluster.result(self.cluster.enqueue("echo", "connected"))
        for _ in range(2):
            self.cluster.enqueue("sleep", f"{self.cluster.path('starts')} 60000 1", "--lease", "3s")

        def waiting():
            running = self.worker()["running"]
            found = [one["id"] for one in running if one["waiting"]]
            return found if len(running) == 2 and found else None

        task, = wait_until(waiting, 20, "a heartbeat tells which task waits")
        self.assertIn("waits for a free slot at w, attempt 1 of ",
                      self.cluster.ctl("explain", task).decode())

    def test_workers_show_queues_that_had_no_task_yet(self):
        self.cluster.start_coordinator("--shards", "2")
        queues = ("fresh", "lower", "mail", "upper")
        programs = [word for queue in queues for word in ("--exec", f"{queue}=cat")]
        self.cluster.start_worker("w", *programs, handlers=())
        self.cluster.result(self.cluster.enqueue("upper", "x"))

        worker, = self.json("workers")["workers"]

        self.assertEqual(4, worker["queue_count"])
        self.assertEqual(queues, tuple(queue["queue"] for queue in worker["queues"]))
        self.assertIn(" ".join(f"default/{queue}" for queue in queues) + "\n",
                      self.cluster.ctl("workers").decode())

    def test_drained_worker_finishes_what_it_has_and_gets_no_more_until_it_is_taken_back(self):
        self.cluster.start_coordinator()
        process = self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        running = self.cluster.enqueue("sleep", f"{self.cluster.path('starts')} 1500 1")
        wait_until(lambda: self.cluster.status(running)["state"] == "leased", 10, "it runs")

        self.assertEqual({"name": "w", "draining": True}, self.json("worker", "drain", "w"))

        self.assertTrue(self.worker()["draining"])
        self.assertIn("yes, drained", self.cluster.ctl("workers").decode())
        waiting = self.cluster.enqueue("echo", "x")
        self.cluster.result(running)
        wait_until(lambda: self.worker()["leases"] == 0, 10, "its task is over")
        # A worker that may get tasks has a free slot at a shard now.
        self.assertEqual(0, self.worker()["free_slots"])
        self.assertEqual("ready", self.cluster.status(waiting)["state"])
        self.assertIn("no free slots at its 1 worker; w is drained, `codeqctl worker resume w`",
                      self.cluster.ctl("explain", waiting).decode())
        self.assertTrue(process.is_running())
        self.cluster.ctl("worker", "resume", "w")
        self.cluster.result(waiting)
        self.assertFalse(self.worker()["draining"])
        self.assertEqual(
            [("worker resume", "w"), ("worker drain", "w")],
            [(one["action"], one["detail"]) for one in self.json("audit")["commands"]])

    def worker(self):
        worker, = self.json("workers")["workers"]
        return worker

    def test_drain_ends_with_the_worker_s_process(self):
        self.cluster.start_coordinator()
        process = self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("echo", "connected"))
        self.cluster.ctl("worker", "drain", "w")
        process.kill()
        self.cluster.start_worker("w")

        self.cluster.result(self.cluster.enqueue("echo", "x"))

        self.assertFalse(self.worker()["draining"])

    def test_drain_of_an_unknown_worker_names_it(self):
        self.cluster.start_coordinator()
        for verb in ("drain", "resume"):
            self.assertIn("worker is `nobody`; no coordinator knows it",
                          self.cluster.ctl_error("worker", verb, "nobody"))
        self.assertIn("cannot be drained",
                      self.cluster.ctl_error("worker", "drain", "http:default/bob"))

    def test_counts_of_now_and_ever_apart(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")
        dead = self.cluster.enqueue("fail", "x", "--max-attempts", "1")
        self.cluster.result(dead, status=4)
        self.cluster.ctl("purge", dead)
        self.cluster.ctl("queue", "set", "waits", "--max-depth", "120")
        self.cluster.ctl("queue", "pause", "waits")
        cancelled = self.cluster.enqueue("waits", "x")
        self.cluster.enqueue("waits", "x")
        self.cluster.ctl("cancel", cancelled)
        time.sleep(0.05)

        fail, waits = self.cluster.queue_stats("fail"), self.cluster.queue_stats("waits")

        self.assertEqual((fail["dead"], fail["died"]), (0, 1))
        self.assertEqual((waits["paused"], waits["ready"], waits["cancelled"], waits["max_depth"]),
                         (True, 1, 1, 120))
        self.assertGreaterEqual(waits["oldest_ready_ms"], 50)
        self.assertIn("OLDEST", self.cluster.ctl("stats").decode())

    def test_backups_in_the_directory(self):
        backups = self.cluster.path("backups")
        self.cluster.start_coordinator("--backup-dir", backups)
        self.assertEqual(self.json("backups"), {"backups": []})
        self.cluster.enqueue("echo", "x")
        made = [self.json("backup")["backup"] for _ in range(2)]

        listed = self.json("backups")["backups"]

        self.assertEqual([one["backup"] for one in listed], made)
        self.assertAlmostEqual(listed[-1]["at_ms"] / 1000, time.time(), delta=60)
        self.assertEqual(self.json("backups", backups)["backups"], listed)
        self.cluster.coordinator.terminate(5)
        self.cluster.start_coordinator("--backup-dir", backups)
        self.assertEqual(self.json("backups")["backups"], listed)

    def test_directory_of_backups_is_checked_at_the_start(self):
        file = self.cluster.path("file")
        file.write_text("no directory")
        with self.assertRaises(RuntimeError) as refused:
            self.cluster.start_coordinator("--backup-dir", file)
        self.assertIn(f"--backup-dir is {file}: it is no directory", str(refused.exception))
        self.assertEqual(2, self.cluster.coordinator.wait(5))

    def test_backups_need_a_directory(self):
        self.cluster.start_coordinator()

        self.assertIn("--backup-dir", self.cluster.ctl_error("backups"))
        self.assertIn("is not a directory",
                      self.cluster.ctl_error("backups", self.cluster.path("none")))

    def test_result_as_json(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")
        done = self.cluster.enqueue("echo", "x")
        dead = self.cluster.enqueue("fail", "x", "--max-attempts", "1")
        later = self.cluster.enqueue("echo", "x", "--delay", "1h")
        self.cluster.result(done)
        self.cluster.result(dead, status=4)

        def result(task, status):
            return json.loads(self.cluster.ctl("--json", "result", task, status=status))

        self.assertEqual((result(done, 0)["state"], result(done, 0)["result"]), ("completed", "x"))
        self.assertEqual((result(dead, 4)["state"], result(dead, 4)["error_text"]),
                         ("dead", "told to fail"))
        self.assertEqual(result(later, 3)["state"], "scheduled")

    def test_worker_of_an_attempt_that_completed_at_once(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w")
        task = self.cluster.enqueue("echo", "x")
        self.cluster.result(task)

        granted, completed = self.json("events", task)["events"][1:]

        self.assertEqual((granted["worker"], completed["worker"]), ("w", "w"))


class Enqueues(OperatorTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def test_headers_reach_the_handler(self):
        self.cluster.start_worker("w")

        task = self.cluster.enqueue("headers", "x", "--header", "traceparent=00-ab-cd-01",
                                    "--header", "empty=")

        self.assertEqual(self.cluster.result(task), "empty=0traceparent=11")

    def test_task_starts_at_its_time(self):
        when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)

        task = self.cluster.enqueue("echo", "x", "--at", when.isoformat())

        status = self.cluster.status(task)
        self.assertEqual(status["state"], "scheduled")
        self.assertAlmostEqual(status["eligible_at_ms"] / 1000, when.timestamp(), delta=1)

    def test_header_too_long_is_refused_with_its_limit(self):
        said = self.cluster.ctl_error("enqueue", "echo", "x", "--header", "n=" + "v" * 20_000)

        self.assertIn("headers", said)
        self.assertIn("16384", said)


class TokenTest(OperatorTest):
    """A coordinator with a producer and an admin of tenant `shop`, and an admin of all tenants."""

    def setUp(self):
        super().setUp()
        file = self.cluster.path("tokens")
        self.tokens = {
            subject: self.cluster.ctl(
                "token", "create", "--file", file, "--subject", subject, "--tenant", tenant,
                "--role", role).decode().strip()
            for subject, tenant, role in (("ada", "shop", "producer"), ("boss", "shop", "admin"),
                                          ("ops", "*", "admin"))}
        self.cluster.start_coordinator(access=("--tokens", file))


class Tenants(TokenTest):
    def tenant_of(self, subject, *options):
        self.cluster.token = self.tokens[subject]
        return self.cluster.status(self.cluster.enqueue("q", "x", *options))["tenant"]

    def test_default_is_that_of_the_token(self):
        self.assertEqual(self.tenant_of("ada"), "shop")
        self.assertEqual(self.tenant_of("ada", "--key", "k"), "shop")
        self.assertEqual(self.tenant_of("ops"), "default")
        self.assertEqual(self.tenant_of("ops", "--tenant", "shop"), "shop")
        self.cluster.token = self.tokens["boss"]
        self.assertEqual(self.json("queue", "stats", "q")["queues"][0]["tenant"], "shop")
        self.assertEqual(len(self.json("list", "--queue", "q")["tasks"]), 3)
        self.assertEqual(self.json("get", "--queue", "q", "--key", "k")["tenant"], "shop")

    def test_environment_comes_before_the_token(self):
        os.environ["CODEQ_TENANT"] = "other"
        self.addCleanup(os.environ.pop, "CODEQ_TENANT")

        self.assertEqual(self.tenant_of("ops"), "other")
        self.assertEqual(self.tenant_of("ops", "--tenant", "third"), "third")
        self.cluster.token = self.tokens["ada"]
        self.assertIn("unauthorized", self.cluster.ctl_error("enqueue", "q", "x"))


class Audit(TokenTest):
    def setUp(self):
        super().setUp()
        self.cluster.coordinator.terminate(5)
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, "--backup-dir",
            self.cluster.path("backups"), access=("--tokens", self.cluster.path("tokens")))
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def act(self, subject, *arguments):
        self.cluster.token = self.tokens[subject]
        return self.cluster.ctl(*arguments).decode().strip()

    def log(self, subject, *options):
        self.cluster.token = self.tokens[subject]
        return self.json("audit", *options)["commands"]

    def test_who_did_what_from_where_to_how_many(self):
        tasks = [self.act("ada", "enqueue", "mail", str(number)) for number in range(9)]
        self.act("boss", "queue", "set", "mail", "--max-attempts", "3")
        self.act("boss", "queue", "pause", "mail")
        self.act("ops", "force", "fail", tasks[0], "--text", "broken")
        self.act("boss", "redrive", tasks[0])
        self.act("ops", "queue", "purge", "mail", "--tenant", "shop", "--yes")

        log = self.log("boss")

        self.assertEqual(
            [(one["subject"], one["action"], one["tenant"], one["queue"], one["changed"])
             for one in log],
            [("ops", "queue purge", "shop", "mail", 9), ("boss", "redrive", "shop", "mail", 1),
             ("ops", "force fail", "shop", "mail", 1), ("boss", "queue pause", "shop", "mail", 0),
             ("boss", "queue set", "shop", "mail", 0)])
        self.assertEqual((log[2]["id"], log[2]["detail"]), (tasks[0], "broken"))
        self.assertEqual(log[4]["detail"], "max-attempts 5 -> 3")
        for one in log:
            self.assertRegex(one["remote"], r"^127\.0\.0\.1:\d+$")
            self.assertAlmostEqual(one["at_ms"] / 1000, time.time(), delta=60)
        self.assertIn("queue purge", self.act("boss", "audit"))

    def test_limits_are_entered_when_they_change(self):
        self.act("boss", "limit", "set", "api", "--concurrency", "2")
        self.act("boss", "limit", "set", "api", "--concurrency", "2")
        self.act("boss", "limit", "set", "api", "--concurrency", "3", "--dry-run")
        self.act("boss", "limit", "list")
        self.act("boss", "limit", "close", "api", "acct_1", "--for", "30s")
        self.act("boss", "limit", "open", "api", "acct_1")
        self.act("boss", "--http", f"http://127.0.0.1:{self.http.port}", "limit", "delete", "api")

        self.assertEqual(
            [(one["subject"], one["action"], one["tenant"], one["detail"])
             for one in self.log("boss")],
            [("boss", "limit delete", "shop", "api: concurrency 2"),
             ("boss", "limit open", "shop", 'api: key "acct_1"'),
             ("boss", "limit close", "shop", 'api: key "acct_1" for 30s'),
             ("boss", "limit set", "shop", "api: concurrency 2")])

    def test_log_level_is_entered_when_it_changes(self):
        self.act("ops", "log-level")
        self.act("ops", "log-level", "info")
        self.act("ops", "log-level", "warn")
        fields = {"Authorization": f"Bearer {self.tokens['ops']}"}
        changed = self.http.raw("PUT", "/v1/codeq/admin/log-level", '{"level":"info"}',
                                fields=fields)

        self.assertEqual(changed.status, 200, changed.text)
        self.assertEqual(
            [(one["subject"], one["action"], one["tenant"], one["detail"])
             for one in self.log("ops")],
            [("ops", "log-level", "", "warn -> info"), ("ops", "log-level", "", "info -> warn")])
        self.assertEqual(self.log("boss"), [], "it is of no tenant")

    def test_survives_a_kill_and_a_backup(self):
        self.act("ada", "enqueue", "mail", "x")
        self.act("boss", "queue", "pause", "mail")
        self.cluster.coordinator.kill()
        options = ("--backup-dir", self.cluster.path("backups"))
        access = ("--tokens", self.cluster.path("tokens"))
        self.cluster.start_coordinator(*options, access=access)
        before = self.log("boss")
        self.assertEqual([one["action"] for one in before], ["queue pause"])
        self.act("ops", "backup")
        self.cluster.coordinator.terminate(5)

        restored = json.loads(self.cluster.ctl(
            "--json", "restore", self.cluster.path("backups"), self.cluster.path("restored")))

        self.assertEqual(restored["findings_count"], 0)
        counts = [shard["records"].get("audit", 0) for shard in restored["shards"]]
        self.assertGreater(sum(counts), 0)

    def test_admin_of_a_tenant_sees_its_tenant_only(self):
        self.act("ada", "enqueue", "mail", "x")
        self.act("ops", "enqueue", "print", "x")
        self.act("boss", "queue", "pause", "mail")
        self.act("ops", "queue", "pause", "print")
        self.act("ops", "backup")

        self.assertEqual([one["queue"] for one in self.log("boss")], ["mail"])
        self.assertEqual([(one["action"], one["tenant"], one["queue"]) for one in self.log("ops")],
                         [("backup", "", ""), ("queue pause", "default", "print"),
                          ("queue pause", "shop", "mail")])
        self.assertEqual([one["queue"] for one in self.log("ops", "--tenant", "shop")], ["mail"])
        self.cluster.token = self.tokens["boss"]
        self.assertIn("unauthorized", self.cluster.ctl_error("audit", "--tenant", "default"))
        self.cluster.token = self.tokens["ada"]
        self.assertIn("unauthorized", self.cluster.ctl_error("audit"))

    def test_producers_and_commands_that_change_nothing_are_left_out(self):
        task = self.act("ada", "enqueue", "mail", "x")
        self.act("ada", "cancel", task)
        self.act("boss", "cancel", task)
        self.cluster.ctl_error("queue", "pause", "nosuch")
        self.act("boss", "dead", "redrive")

        self.assertEqual(self.log("boss"), [])
        cancelled = self.json("events", task)["events"][-1]
        self.assertEqual((cancelled["event"], cancelled["by"], cancelled["subject"]),
                         ("cancelled", "operator", "ada"))

    def test_over_http(self):
        fields = {"Authorization": f"Bearer {self.tokens['boss']}"}
        self.act("ada", "enqueue", "mail", "x")
        tasks = [self.act("ada", "enqueue", "mail", str(number)) for number in range(4)]
        self.http.post("/admin/queues/mail/pause", fields=fields)
        for task in tasks:
            self.http.post(f"/admin/tasks/{task}/force", {"how": "fail"}, fields=fields)
        self.http.post("/admin/dead/redrive", {"ids": tasks}, fields=fields)
        self.http.post("/admin/queues/mail/purge", fields=fields)

        page = self.http.get("/admin/audit?limit=3", fields=fields)

        self.assertEqual(page.status, 200, page.text)
        commands = page.json["commands"]
        self.assertEqual(
            [(one["action"], one["subject"], one["changed"]) for one in commands],
            [("queue purge", "boss", 5), ("redrive", "boss", 4), ("force fail", "boss", 1)])
        self.assertRegex(commands[0]["remote"], r"^127\.0\.0\.1:\d+$")
        rest = self.http.get(f"/admin/audit?after={page.json['after']}", fields=fields).json
        self.assertEqual([one["action"] for one in rest["commands"]],
                         ["force fail"] * 3 + ["queue pause"])
        self.assertNotIn("after", rest)
        none = self.http.get("/admin/audit?since=2099-01-01T00:00:00Z", fields=fields).json
        self.assertEqual(none["commands"], [])
        self.assertEqual(self.http.get("/admin/audit?after=x", fields=fields).status, 400)
        producer = {"Authorization": f"Bearer {self.tokens['ada']}"}
        self.assertEqual(self.http.get("/admin/audit", fields=producer).status, 403)
        url = f"http://127.0.0.1:{self.http.port}"
        self.assertIn("queue purge", self.act("boss", "--http", url, "audit"))

    def test_pages_of_the_tool_follow_each_other(self):
        self.act("ada", "enqueue", "mail", "x")
        for number in range(5):
            self.act("boss", "queue", "set", "mail", "--max-attempts", str(number + 1))
        seen, options = [], ()
        while True:
            page = self.json("audit", "--limit", "2", *options)
            seen += [one["detail"] for one in page["commands"]]
            if "after" not in page:
                break
            options = ("--after", page["after"])

        self.assertEqual(seen, [f"max-attempts {before} -> {after}" for before, after in
                                ((4, 5), (3, 4), (2, 3), (1, 2), (5, 1))])


class Refusals(OperatorTest):
    def test_unknown_queue_over_http(self):
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

        for verb in ("pause", "resume", "purge"):
            answer = http.post(f"/admin/queues/nosuch/{verb}")
            self.assertEqual(404, answer.status)
            self.assertTrue(answer.json["error"].startswith(
                'queue not found: tenant "default" has no queue "nosuch"; '), answer.text)
        self.assertIsNone(self.cluster.queue_stats("nosuch"))

        url = f"http://127.0.0.1:{http.port}"
        self.cluster.enqueue("q", '"x"')
        counts, = json.loads(
            self.cluster.ctl("--http", url, "--json", "queue", "stats", "q"))["queues"]
        self.assertEqual((counts["ready"], counts["paused"], counts["died"]), (1, False, 0))
        self.assertIn("HTTP 404: queue not found",
                      self.cluster.ctl_error("--http", url, "queue", "pause", "nosuch"))
        self.assertIn("404",
                      self.cluster.ctl_error("--http", url, "queue", "purge", "nosuch", "--yes"))

    def test_purge_has_to_be_confirmed(self):
        self.cluster.start_coordinator()
        task = self.cluster.enqueue("q", "x")

        for words in (("queue", "purge", "q"), ("tenant", "purge", "default"), ("dead", "purge")):
            done = self.cluster.try_ctl(*words)
            self.assertEqual(done.returncode, PURGE_STATUS_REFUSED, words)
            self.assertIn(b"--yes", done.stderr)
        self.assertEqual(self.cluster.status(task)["state"], "ready")

        self.assertIn("nothing was changed", self.typed("n"))
        self.assertEqual(self.cluster.status(task)["state"], "ready")
        self.assertIn("purged 1 task", self.typed("y"))
        self.cluster.ctl("get", task, status=1)

    def typed(self, answer):
        """The words of a purge on a terminal, where it is given this answer."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(
                [BIN / "codeqctl", "--coordinator", self.cluster.address, "queue", "purge", "q"],
                stdin=theirs, stdout=theirs, stderr=theirs) as running:
            os.close(theirs)
            said = os.read(ours, 1000)
            os.write(ours, answer.encode() + b"\n")
            running.wait(20)
            try:
                while part := os.read(ours, 1000):
                    said += part
            except OSError:
                pass  # The terminal of an ended program has no end of file.
            os.close(ours)
        return said.decode()

    def test_refused_connection_fails_within_a_second(self):
        self.cluster.port = free_port()
        self.cluster.start_coordinator()
        task = self.cluster.enqueue("q", "x")
        self.cluster.coordinator.terminate(5)

        for words in (("stats",), ("enqueue", "q", "x"), ("result", task, "--wait", "1h"),
                      ("queue", "pause", "q")):
            begin = time.monotonic()
            said = self.cluster.ctl_error(*words)
            self.assertLess(time.monotonic() - begin, 1.5, words)
            self.assertIn("refused", said.lower(), words)

    def test_http_port_is_recognized_within_a_second(self):
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        port = wait_until(lambda: port_file.exists() and port_file.read_text().strip(), 10, "it")

        begin = time.monotonic()
        said = subprocess.run(
            [cluster.BIN / "codeqctl", "--coordinator", f"127.0.0.1:{port}", "stats"],
            capture_output=True, text=True, timeout=30, check=False).stderr
        self.assertLess(time.monotonic() - begin, 1.5)
        self.assertIn("the peer speaks HTTP", said)
        self.assertIn("there is --http http://HOST:PORT", said)

    def test_store_in_use_is_named_without_the_words_of_its_library(self):
        self.cluster.start_coordinator()

        done = self.cluster.try_ctl("verify", self.cluster.path("store"))

        self.assertEqual(done.returncode, 2)
        said = done.stderr.decode()
        self.assertIn(f"the store in {self.cluster.path('store')} is in use", said)
        self.assertNotIn("IO error", said)


class TlsWords(OperatorTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.cluster.directory)
        certificate, key = self.authority.issue("node")
        self.options = ("--tls-cert", certificate, "--tls-key", key)
        (self.cluster.path("other")).mkdir()
        self.stranger = Authority(self.cluster.path("other"))

    def refused(self, *options):
        begin = time.monotonic()
        said = self.cluster.ctl_error(*options, "stats")
        self.assertLess(time.monotonic() - begin, 2)
        return said

    def test_says_what_is_wrong_with_files_and_peers(self):
        self.cluster.start_coordinator(*self.options)

        self.cluster.ctl("--tls-ca", self.authority.file, "stats")
        self.assertIn("it may expect TLS, which takes --tls-ca", self.refused())
        self.assertIn("no authority of --tls-ca signed the peer's certificate",
                      self.refused("--tls-ca", self.stranger.file))
        self.assertIn("No such file or directory", self.refused("--tls-ca", "/nowhere.pem"))
        not_pem = self.cluster.path("not.pem")
        not_pem.write_text("nothing")
        self.assertIn("not a PEM file", self.refused("--tls-ca", not_pem))
        other_key = self.authority.issue("other-key")[1]
        self.assertIn("not the key of the certificate", self.refused(
            "--tls-ca", self.authority.file, "--tls-cert", self.options[1], "--tls-key", other_key))

    def test_coordinator_without_tls(self):
        self.cluster.start_coordinator()

        self.assertIn("does not speak TLS", self.refused("--tls-ca", self.authority.file))

    def test_certificate_of_another_host(self):
        certificate, key = self.authority.issue("elsewhere", "DNS:elsewhere.example")
        self.cluster.start_coordinator("--tls-cert", certificate, "--tls-key", key)

        self.assertIn("does not name the host",
                      self.refused("--tls-ca", self.authority.file))


if __name__ == "__main__":
    unittest.main()
