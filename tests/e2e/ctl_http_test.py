# SPDX-License-Identifier: Apache-2.0
"""codeqctl with the HTTP gateway in place of the node port."""

import json
import subprocess
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway


class CtlOverHttp(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        port = int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port"))
        self.http = Gateway(port)
        self.url = f"http://127.0.0.1:{port}"

    def ctl(self, *words, status=0, payload=None):
        return self.cluster.ctl("--http", self.url, *words, status=status, payload=payload).decode()

    def refusal(self, *words):
        return self.cluster.ctl_error("--http", self.url, *words)

    def add(self, *words):
        return self.ctl("enqueue", *words).strip()

    def test_tasks_go_all_the_way(self):
        task = self.add("q", '{"n":1}', "--priority", "7", "--max-attempts", "2", "--lease", "90s",
                        "--key", "K", "--group", "G", "--retry", "fixed", "--retry-base", "1500ms")
        shown = json.loads(self.ctl("--json", "get", task))
        self.assertEqual(("q", 7, 2, "K", "G", '{"n":1}'), tuple(shown[name] for name in (
            "queue", "priority", "max_attempts", "key", "group", "payload")))
        self.assertEqual(task, json.loads(
            self.ctl("--json", "get", "--queue", "q", "--key", "K", "--group", "G"))["id"])
        self.assertIn("max_attempts", self.ctl("get", task))
        self.ctl("result", task, status=3)
        claimed = self.http.claim("q", lease=0)
        self.http.complete(claimed, {"ok": True})
        self.assertEqual('{"ok": true}', self.ctl("result", task, "--wait", "5s"))
        ended = json.loads(self.ctl("--json", "result", task))
        self.assertEqual({"id": task, "state": "completed", "attempt": 1,
                          "result": '{"ok": true}'}, ended)
        self.assertIn("completed", self.ctl("events", task))
        self.assertEqual("completed", json.loads(self.ctl("--json", "explain", task))["reason"])

    def test_what_both_ways_tell_has_one_form(self):
        self.cluster.start_worker("w")
        self.ctl("result", self.add("echo", '"x"'), "--wait", "20s")
        dead = self.add("fail", '"broken"', "--max-attempts", "1", "--lease", "5s")
        self.ctl("result", dead, "--wait", "20s", status=4)
        self.ctl("limit", "set", "api", "--concurrency", "3", "--rate", "5/1s")
        waiting = self.add("q", "1", "--delay", "1h", "--key", "k", "--limit", "api:a:2")
        self.ctl("schedule", "set", "s", "--queue", "q", "--every", "1h", "--payload", '{"a": 1}')
        # Only HTTP tells these.
        more = {"payload", "headers", "http", "exists", "state", "queue", "priority"}
        for words in (("get", waiting), ("get", dead), ("list",), ("dead", "list"),
                      ("dead", "summary"), ("explain", waiting), ("events", dead),
                      ("queue", "show", "q"), ("queue", "stats", "q"), ("stats",),
                      ("explain", "--queue", "q"), ("queue", "fairness", "q"), ("workers",),
                      ("limit", "show", "api"), ("limit", "list"), ("audit",), ("log-level",),
                      ("schedule", "show", "s"), ("result", dead)):
            status = 4 if words[0] == "result" else 0
            told = json.loads(self.ctl("--json", *words, status=status))
            self.compare(json.loads(self.cluster.ctl("--json", *words, status=status)), told, more,
                         words)

    def compare(self, node, http, more, words):
        """Everything that is told over HTTP is told by the node port, too, and is the same there,
        as long as it does not change with time."""
        if isinstance(node, list):
            self.assertEqual(len(node), len(http), words)
            for one, other in zip(node, http):
                self.compare(one, other, more, words)
        elif isinstance(node, dict):
            self.assertEqual(set(), set(http) - set(node) - more, words)
            for name in set(http) & set(node):
                self.compare(node[name], http[name], more, (*words, name))
        elif not words[-1].endswith(("_left_ms", "explanation", "sentence")):
            self.assertEqual(node, http, words)

    def test_change_that_is_not_made_fails(self):
        waiting = self.add("q", "1", "--delay", "1h")
        self.assertIn("guarded", self.ctl("promote", waiting, status=1))
        self.ctl("cancel", waiting)
        self.assertIn("unchanged", self.ctl("cancel", waiting))

        dead = self.add("q", "1", "--key", "k", "--max-attempts", "1")
        claimed = self.http.claim("q")
        self.http.post(f"/tasks/{claimed['id']}/result", {"status": "FAILED", "error": "broken"})
        self.add("q", "1", "--key", "k", "--on-duplicate", "replace_ended")
        self.assertIn("key_taken", self.ctl("redrive", dead, status=1))

    def test_full_queue_refuses_a_task_by_that_name(self):
        self.ctl("queue", "set", "small", "--max-depth", "1")
        self.add("small", "1")

        self.assertIn("queue_full", self.refusal("enqueue", "small", "2"))

    def test_limits(self):
        set_limit = ("limit", "set", "stripe", "--concurrency", "1", "--rate", "100/1s")
        self.assertEqual(1, json.loads(self.ctl("--json", *set_limit))["concurrency"])
        tasks = [self.add("q", str(number), "--limit", "stripe:a b:2") for number in range(2)]
        self.assertEqual([{"name": "stripe", "key": "a b", "cost": 2}],
                         json.loads(self.ctl("--json", "get", tasks[0]))["limits"])
        claimed = self.http.claim("q")
        self.assertIsNone(self.http.claim("q"))
        self.assertEqual("limited", json.loads(self.ctl("--json", "explain", tasks[1]))["reason"])
        keys = json.loads(self.ctl("--json", "limit", "keys", "stripe", "--busy"))["keys"]
        self.assertEqual([("a b", 1, 1)], [
            (key["key"], key["leased"], key["held"]) for key in keys])
        closed = json.loads(self.ctl("--json", "limit", "close", "stripe", "a b", "--for", "1h"))
        self.assertIn("closed_until", closed)
        self.http.complete(claimed, {})
        self.assertIsNone(self.http.claim("q"))
        self.ctl("limit", "open", "stripe", "a b")
        self.assertEqual(tasks[1], self.http.claim("q", wait=5)["id"])
        self.assertIn("stripe", self.ctl("limit", "list"))
        would = json.loads(self.ctl("--json", "limit", "set", "stripe", "--concurrency", "0",
                                    "--dry-run"))
        self.assertEqual(1, would["keys_above"])
        self.ctl("limit", "delete", "stripe")
        self.assertIn('has no limit "stripe"', self.refusal("limit", "show", "stripe"))

    def test_worker_is_drained_and_taken_back(self):
        self.cluster.start_worker("w1")
        self.cluster.result(self.cluster.enqueue("echo", "connected"))
        self.assertEqual({"name": "w1", "draining": True},
                         json.loads(self.ctl("--json", "worker", "drain", "w1")))
        waiting = self.add("echo", '"x"')
        worker, = json.loads(self.ctl("--json", "workers"))["workers"]
        self.assertEqual(("w1", True, True),
                         (worker["name"], worker["connected"], worker["draining"]))
        self.assertEqual("ready", json.loads(self.ctl("--json", "get", waiting))["state"])
        self.ctl("worker", "resume", "w1")
        self.ctl("result", waiting, "--wait", "20s")
        self.assertIn("worker not found", self.refusal("worker", "drain", "w2"))

    def test_many_and_stdin(self):
        ids = self.ctl("enqueue", "many", "--count", "250", payload=b'"x"').split()
        self.assertEqual(250, len(set(ids)))
        listed = json.loads(self.ctl("--json", "list", "--queue", "many", "--limit", "1000"))
        self.assertEqual(set(ids), {task["id"] for task in listed["tasks"]})
        table = self.ctl("list", "--queue", "many", "--limit", "3").splitlines()
        self.assertIn("MAX_ATTEMPTS", table[0])
        many, = json.loads(self.ctl("--json", "queue", "stats", "many"))["queues"]
        self.assertEqual(250, many["ready"])
        header, *rows = self.ctl("stats").splitlines()
        self.assertEqual("TENANT QUEUE PAUSED SCHEDULED GATED READY HELD OLDEST_READY_MS".split(),
                         header.split()[:8])
        self.assertEqual([["default", "many"]], [row.split()[:2] for row in rows])
        purged = self.ctl("--json", "queue", "purge", "many", "--yes")
        self.assertEqual({"changed": 250}, json.loads(purged))

    def test_changes_and_the_dead(self):
        task = self.add("q", "1", "--delay", "1h", "--allow-promotion")
        self.assertIn("changed", self.ctl("promote", task))
        self.assertIn("changed", self.ctl("force", "fail", task, "--text", "broken"))
        self.assertIn(task, self.ctl("dead", "list"))
        self.ctl("result", task, status=4)
        self.assertIn("changed", self.ctl("redrive", task))
        self.assertIn("changed", self.ctl("cancel", task))
        other = self.add("q", "1")
        self.ctl("force", "fail", other)
        self.assertEqual(1, json.loads(self.ctl("--json", "dead", "redrive"))["changed"])
        self.ctl("force", "fail", self.add("other", "2"), "--text", "broken")
        purged = self.ctl("--json", "dead", "purge", "--yes")
        self.assertEqual(1, json.loads(purged)["changed"])
        self.add("other", "3")
        self.ctl("operation", "start", "cancel", "--yes")
        self.assertIn("true", self.ctl("queue", "pause", "q"))
        self.assertIn("false", self.ctl("queue", "resume", "q"))
        self.ctl("queue", "set", "q", "--max-depth", "24", "--retry", "linear")
        self.ctl("queue", "set", "q", "--retry-base", "1500ms", "--on-dead", "block")
        settings = json.loads(self.ctl("--json", "queue", "show", "q"))
        self.assertTrue(json.loads(self.ctl("--json", "queue", "show", "q"))["exists"])
        self.assertEqual((5, 24, "linear", 1500, "block"), (
            settings["max_attempts"], settings["max_depth"], settings["retry"],
            settings["retry_base_ms"], settings["on_dead"]))

    def test_queue_that_nobody_knows_is_refused_and_one_that_is_empty_is_not(self):
        questions = cluster.questions_about("none")
        for words in questions:
            said = self.refusal(*words)
            self.assertIn("unknown_queue", said, words)
            self.assertIn('tenant "default" has no queue "none"', said, words)
        self.ctl("queue", "set", "none", "--lease", "5s")
        for words in questions:
            self.ctl(*words)

    def test_coordinator_that_is_alone_says_so(self):
        for words in (("cluster", "status"), ("cluster", "balance")):
            for said in (self.refusal(*words), self.cluster.ctl_error(*words)):
                self.assertIn("codeqctl: unsupported: ", said)
                self.assertIn("this coordinator is alone; it belongs to no cluster", said)

    def test_waits_for_the_end(self):
        self.cluster.start_worker("w")
        self.assertTrue(self.ctl("enqueue", "echo", '"hi"', "--wait", "20s").strip().endswith(
            " completed"))

    def test_what_is_not_possible_says_so(self):
        task = self.add("q", "1")
        for words in (("watch", task), ("tenant", "purge", "x", "--yes"), ("backup",),
                      ("list", "--tenant", "other")):
            said = self.cluster.try_ctl("--http", self.url, *words)
            self.assertNotEqual(0, said.returncode, words)
            self.assertIn(b"not possible over --http", said.stderr, words)
        self.assertIn("payload has to be JSON", self.refusal("enqueue", "q", "no json"))
        self.assertIn("HTTP 404: not found", self.refusal("get", "--queue", "q", "--key", "none"))

    def test_port_of_nodes_is_told_from_that_of_the_gateway(self):
        said = self.cluster.ctl_error("--http", f"http://{self.cluster.address}", "list")
        self.assertIn("not that of its --listen", said)
        gateway = self.url.removeprefix("http://")
        asked = subprocess.run(
            [cluster.BIN / "codeqctl", "--coordinator", gateway, "list"],
            capture_output=True, timeout=60, check=False)
        self.assertIn(b"there is --http http://HOST:PORT", asked.stderr)

    def test_https_is_not_suggested_where_nobody_listens(self):
        said = self.cluster.ctl_error("--http", "http://127.0.0.1:1", "list")
        self.assertIn("cannot connect: Connection refused", said)
        self.assertNotIn("https", said)

    def test_token_is_not_sent_unencrypted_over_a_network(self):
        self.cluster.token = "codeq_x"
        said = self.cluster.ctl_error("--http", "http://192.0.2.1:1", "list")
        self.assertIn("by https only", said)
        said = self.cluster.ctl_error("--http", "127.0.0.1:1", "list")
        self.assertIn("must be http://HOST:PORT", said)

    def test_nobody_there(self):
        said = self.cluster.ctl_error("--http", "http://127.0.0.1:1", "list")
        self.assertIn("refused", said)


if __name__ == "__main__":
    unittest.main()
