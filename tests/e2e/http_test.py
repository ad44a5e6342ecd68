# SPDX-License-Identifier: Apache-2.0
"""Every route of the HTTP gateway, and its limits as a server."""

import json
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

import cluster
from cluster import free_port
from gateway import BASE, Gateway

UNKNOWN = "00000000-0000-0001-0000-000000000000"
NO_TASK = f'task not found: tenant "default" has no task "{UNKNOWN}", or its retention is over'
RFC3339 = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"


class HttpTest(cluster.ClusterTest):
    """A coordinator with a gateway; each test uses queues of its own."""

    def setUp(self):
        super().setUp()
        self.start()

    def start(self, *options):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, "--durability", "os", *options)
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def expect(self, answer, status, error=None):
        self.assertEqual(status, answer.status, answer.text)
        # What it is about, and why, stands behind what the contract says.
        if error is not None:
            self.assertEqual(["error"], list(answer.json))
            self.assertTrue(answer.json["error"].startswith(error), answer.text)
        return answer.json


class RoutesTest(HttpTest):

    @classmethod
    def tearDownClass(cls):
        """Prints a table of the routes that were called and their statuses."""
        table = {}
        for method, target, status in cls.seen:
            path = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", ":id",
                          target.split("?")[0]).removeprefix(BASE)
            table.setdefault(f"{method} {path}", set()).add(status)
        for route, statuses in sorted(table.items()):
            print(f"{route:50} {' '.join(str(s) for s in sorted(statuses))}")

    seen = []

    def tearDown(self):
        RoutesTest.seen += self.http.seen
        super().tearDown()

    def test_enqueue(self):
        task = self.http.enqueue("GENERATE_MASTER", {"jobId": "j-1"}, priority=3)
        self.assertEqual('{"jobId": "j-1"}', task["payload"])
        self.assertEqual(("GENERATE_MASTER", 3, "PENDING", "PENDING_LIST", 5, "default"),
                         tuple(task[name] for name in ("command", "priority", "status",
                                                       "lastKnownLocation", "maxAttempts",
                                                       "tenantId")))
        self.assertRegex(task["createdAt"], RFC3339)
        again = self.http.post("/tasks", {"command": "q", "payload": 1, "idempotencyKey": "k"})
        same = self.http.post("/tasks", {"command": "q", "payload": 2, "idempotencyKey": "k"})
        self.expect(same, 202)
        self.assertEqual((again.json["id"], "1"), (same.json["id"], same.json["payload"]))
        self.expect(self.http.post("/tasks", {
            "command": "q", "payload": 2, "idempotencyKey": "k", "onDuplicate": "reject"}), 409)
        self.expect(self.http.raw("POST", BASE + "/tasks", "{"), 400, "invalid body")
        self.expect(self.http.post("/tasks", {"payload": 1}), 400, "invalid command")
        self.expect(self.http.post("/tasks", {"command": "q", "payload": 1, "runAt": "x"}), 400,
                    "invalid 'runAt' (use RFC3339)")
        self.expect(self.http.post("/tasks", {"command": "q", "payload": 1, "delaySeconds": -1}),
                    400, "invalid 'delaySeconds' (must be >= 0)")
        self.expect(self.http.post("/tasks", {"command": "q", "payload": 1, "webhook": "x:"}), 400)

    def test_batch(self):
        done = self.expect(self.http.post("/tasks/batch", {"tasks": [
            {"command": "q", "payload": n} if n != 1 else {"payload": n} for n in range(3)]}), 200)
        self.assertEqual(["task", "error", "task"], [next(iter(r)) for r in done["results"]])
        self.assertEqual(("invalid_argument", 400),
                         (done["results"][1]["code"], done["results"][1]["httpStatus"]))
        done = self.expect(self.http.post("/tasks/batch/results", {"results": [
            {"taskId": UNKNOWN, "status": "COMPLETED"}]}), 200)
        self.assertEqual({"taskId": UNKNOWN, "error": NO_TASK,
                          "code": "unknown_task", "httpStatus": 404}, done["results"][0])
        self.expect(self.http.post("/tasks/batch", {"tasks": [1] * 101}), 400,
                    "batch size exceeds maximum of 100")
        self.expect(self.http.post("/tasks/batch", {}), 400, "invalid body")

    def test_claim(self):
        added = self.http.enqueue("q", {"n": 1})
        self.expect(self.http.raw("POST", BASE + "/tasks/claim", ""), 400, "invalid body")
        task = self.http.claim("q", lease=60)
        self.assertEqual((added["id"], "IN_PROGRESS", "INPROG_SET", "worker-dev", 1),
                         tuple(task[name] for name in ("id", "status", "lastKnownLocation",
                                                       "workerId", "attempts")))
        self.assertRegex(task["leaseUntil"], RFC3339)
        self.assertIsInstance(task["fencingToken"], str)
        self.assertIsNone(self.http.claim("q"))
        for n in range(12):
            self.http.enqueue("many", n)
        batch = self.http.post("/tasks/claim/batch", {"commands": ["many"], "count": 10})
        self.assertEqual(10, len(self.expect(batch, 200)["tasks"]))
        self.assertEqual(2, len(self.http.post(
            "/tasks/claim/batch", {"commands": ["many"], "count": 10}).json["tasks"]))
        self.expect(self.http.post("/tasks/claim/batch", {"commands": ["many"], "count": 10}), 204)
        self.expect(self.http.post("/tasks/claim/batch", {"count": 11}), 400,
                    "count exceeds maximum of 10")
        self.expect(self.http.post("/tasks/claim/batch", {"count": 0}), 400, "invalid body")

    def test_leases(self):
        self.http.enqueue("q", 1)
        task = self.http.claim("q")
        path = f"/tasks/{task['id']}"
        for route in ("heartbeat", "abandon", "nack"):
            self.expect(self.http.post(f"/tasks/{UNKNOWN}/{route}", {}), 404, "not-found")
        self.expect(self.http.post(path + "/heartbeat"), 400, "invalid body")
        beat = self.expect(self.http.post(path + "/heartbeat", {"extendSeconds": 30}), 200)
        self.assertEqual((True, False), (beat["ok"], beat["cancelRequested"]))
        self.assertGreaterEqual(beat["leaseUntil"], task["leaseUntil"])
        self.assertEqual({"status": "requeued", "state": "ready"},
                         self.expect(self.http.post(path + "/abandon"), 200))
        self.expect(self.http.post(path + "/heartbeat", {}), 409, "not-in-progress")
        self.expect(self.http.post(path + "/abandon"), 409, "not-in-progress")
        self.expect(self.http.post(path + "/nack", {}), 409, "not-in-progress")
        self.assertEqual(1, self.http.claim("q")["attempts"])
        self.expect(self.http.post(path + "/nack"), 400, "invalid body")
        self.assertLessEqual({"status": "requeued", "delaySeconds": 0}.items(), self.expect(
            self.http.post(path + "/nack", {"delaySeconds": 0, "reason": "X"}), 200).items())
        self.assertEqual(2, self.http.claim("q")["attempts"])
        # The answer repeats the wish, however the clocks of the threads differ.
        self.assertLessEqual({"status": "requeued", "delaySeconds": 60}.items(), self.expect(
            self.http.post(path + "/nack", {"delay": "60s"}), 200).items())

    def test_progress_and_a_wished_cancel_are_seen_by_both_sides(self):
        self.http.enqueue("q", 1)
        task = self.http.claim("q")
        path = f"/tasks/{task['id']}"
        self.assertNotIn("progress", self.expect(self.http.get(path), 200))
        self.expect(self.http.post(path + "/progress", {"percent": 40, "note": "page 2"}), 200)
        shown = self.expect(self.http.get(path), 200)
        self.assertEqual({"percent": 40, "note": "page 2"}, shown["progress"])
        self.assertNotIn("cancelRequested", shown)
        self.assertIn("40% page 2", self.cluster.ctl("get", task["id"]).decode())

        self.expect(self.http.post(path + "/cancel"), 200)
        self.assertTrue(self.expect(self.http.post(path + "/heartbeat", {}), 200)
                        ["cancelRequested"])
        self.assertTrue(self.expect(self.http.post(path + "/progress", {"percent": 41}), 200)
                        ["cancelRequested"])
        self.assertTrue(self.expect(self.http.get(path), 200)["cancelRequested"])
        why = self.expect(self.http.get(path + "/explain"), 200)
        self.assertTrue(why["cancelRequested"])
        self.assertIn("a cancel was requested", why["sentence"])
        self.assertIn("a cancel was requested",
                      self.cluster.ctl("explain", task["id"]).decode())
        self.assertIn("cancel", self.cluster.ctl("get", task["id"]).decode())

        self.expect(self.http.post(path + "/abandon"), 200)
        ended = self.expect(self.http.get(path), 200)
        self.assertEqual("cancelled", ended["state"])
        self.assertNotIn("cancelRequested", ended)
        self.assertNotIn("progress", ended)

    def test_not_owner(self):
        self.cluster.start_worker("native-worker")
        task = self.cluster.enqueue("sleep", f"{self.cluster.path('starts')} 60000 1")
        cluster.wait_until(lambda: self.http.get(f"/tasks/{task}").json["status"] == "IN_PROGRESS",
                           20, "the native worker claims")
        self.assertEqual("native-worker", self.http.get(f"/tasks/{task}").json["workerId"])
        for route in ("heartbeat", "abandon", "nack"):
            self.expect(self.http.post(f"/tasks/{task}/{route}", {}), 403, "not-owner")
        self.expect(self.http.post(f"/tasks/{task}/result", {"status": "COMPLETED"}), 403,
                    "not-owner")

    def test_results(self):
        self.http.enqueue("q", 1)
        task = self.http.claim("q")
        path = f"/tasks/{task['id']}/result"
        self.expect(self.http.post(f"/tasks/{UNKNOWN}/result", {"status": "COMPLETED"}), 404,
                    "task not found")
        self.expect(self.http.raw("POST", BASE + path, "x"), 400, "invalid request body")
        self.expect(self.http.post(path, {"status": "X"}), 400, "invalid status")
        self.expect(self.http.post(path, {"status": "FAILED"}), 400,
                    "error required when status=FAILED")
        self.expect(self.http.get(path), 404, "result not found")
        done = self.expect(self.http.complete(task, {"ok": True}), 200)
        self.assertEqual((task["id"], "COMPLETED", {"ok": True}),
                         (done["taskId"], done["status"], done["result"]))
        self.assertRegex(done["completedAt"], RFC3339)
        self.expect(self.http.complete(task, {"ok": True}), 409, "not-in-progress")
        both = self.expect(self.http.get(path + "?waitSeconds=5"), 200)
        self.assertEqual(("COMPLETED", "NONE", 1, "codeq:results"),
                         tuple(both["task"][name] for name in ("status", "lastKnownLocation",
                                                               "attempts", "resultKey")))
        self.assertEqual({"ok": True}, both["result"]["result"])
        self.expect(self.http.get(f"/tasks/{UNKNOWN}/result?waitSeconds=5"), 404, "task not found")
        self.http.enqueue("f", 1, maxAttempts=1)
        failed = self.http.claim("f")
        record = self.expect(self.http.post(
            f"/tasks/{failed['id']}/result", {"status": "FAILED", "error": "broken"}), 200)
        self.assertEqual(("FAILED", False), (record["status"], record["willRetry"]))
        self.http.enqueue("b", 1)
        one = self.http.claim("b")
        batch = self.expect(self.http.post("/tasks/batch/results", {"results": [
            {"taskId": one["id"], "status": "COMPLETED", "result": {}},
            {"taskId": UNKNOWN, "status": "COMPLETED"}]}), 200)
        self.assertEqual([one["id"], UNKNOWN], [r["taskId"] for r in batch["results"]])
        self.assertEqual(NO_TASK, batch["results"][1]["error"])
        self.expect(self.http.post("/tasks/batch/results", {"results": []}), 400, "invalid body")

    def test_times_may_be_ages(self):
        task = self.http.enqueue("aged", 1)
        for query, count in (("since=1h", 1), ("until=1h", 0)):
            page = self.expect(self.http.get(f"/tasks?queue=aged&{query}"), 200)
            self.assertEqual(count, len(page["tasks"]), query)
        self.assertIsNotNone(task)
        self.expect(self.http.get("/admin/audit?since=1h"), 200)

    def test_values_that_do_not_fit_are_refused(self):
        self.expect(self.http.post("/tasks", {"queue": "", "payload": 1}), 400,
                    "invalid command: 'queue' is \"\"")
        retry = {"baseMs": 100, "capMs": 10}
        self.expect(self.http.post("/tasks", {"queue": "q", "payload": 1, "retry": retry}), 400,
                    "'retry.capMs' is 10; it must be at least 'retry.baseMs', 100")
        self.expect(self.http.call("PUT", "/admin/queues/q/settings", {"retry": retry}), 400,
                    "'retry.capMs' is 10")
        self.expect(self.http.post("/tasks", {
            "queue": "q", "payload": 1, "retry": {"kind": "fixed", "baseMs": 3_600_000}}), 202)
        said = self.cluster.ctl_error("queue", "set", "q", "--retry-base", "1h")
        self.assertIn("retry.cap is 900000 ms; it must be at least retry.base, 3600000 ms", said)

    def test_reads(self):
        task = self.http.enqueue("q", {"n": 1}, delaySeconds=60, allowPromotion=True,
                                 idempotencyKey="k")
        path = f"/tasks/{task['id']}"
        read = self.expect(self.http.get(path), 200)
        self.assertEqual(("PENDING", "DELAYED_ZSET", '{"n": 1}'),
                         tuple(read[name] for name in ("status", "lastKnownLocation", "payload")))
        self.expect(self.http.get(f"/tasks/{UNKNOWN}"), 404)
        self.expect(self.http.get("/tasks/mail-7"), 404, 'not found: "mail-7" is not a task id')
        self.assertEqual("deferred", self.http.get(path + "/explain").json["reason"])
        self.assertEqual(["enqueued"],
                         [e["event"] for e in self.http.get(path + "/events").json["events"]])
        self.assertEqual([task["id"]], [
            t["id"] for t in self.http.get("/tasks?queue=q&state=scheduled").json["tasks"]])
        self.expect(self.http.get("/tasks?state=x"), 400)
        self.assertEqual(task["id"], self.http.get("/queues/q/keys/k").json["id"])
        self.expect(self.http.get("/queues/q/keys/x"), 404)
        self.assertEqual("changed", self.http.post(path + "/promote").json["outcome"])
        self.assertEqual("changed", self.http.post("/queues/q/keys/k/cancel").json["outcome"])
        self.assertEqual("unchanged", self.http.post(path + "/cancel").json["outcome"])
        self.expect(self.http.post("/queues/q/keys/k/promote"), 200)
        for route in ("explain", "events"):
            self.expect(self.http.get(f"/tasks/{UNKNOWN}/{route}"), 404)
        for route in ("cancel", "promote"):
            self.expect(self.http.post(f"/tasks/{UNKNOWN}/{route}"), 404)

    def test_admin(self):
        for _ in range(2):
            self.http.enqueue("q", 1, maxAttempts=1)
        for _ in range(2):
            task = self.http.claim("q")
            self.http.post(f"/tasks/{task['id']}/nack", {"reason": "x"})
        counts = self.expect(self.http.get("/admin/queues"), 200)
        self.assertEqual(2, counts["codeq:q:q:default:dlq"])
        self.assertEqual({"ready": 0, "delayed": 0, "inProgress": 0, "dlq": 2}.items(),
                         self.http.get("/admin/queues/q").json.items()
                         & {"ready": 0, "delayed": 0, "inProgress": 0, "dlq": 2}.items())
        self.expect(self.http.get("/admin/queues/a%20b"), 400)
        dead = self.http.get("/admin/dead?queue=q").json["tasks"]
        self.assertEqual(2, len(dead))
        self.assertEqual(1, self.http.post(
            "/admin/dead/redrive", {"ids": [dead[0]["id"]]}).json["changed"])
        self.assertEqual(1, self.http.post("/admin/dead/purge", {"queue": "q"}).json["changed"])
        self.assertTrue(self.http.post("/admin/queues/q/pause").json["paused"])
        self.assertIsNone(self.http.claim("q"))
        self.assertFalse(self.http.post("/admin/queues/q/resume").json["paused"])
        settings = self.http.call("PUT", "/admin/queues/q/settings", {"maxAttempts": 9}).json
        self.assertEqual(9, settings["settings"]["maxAttempts"])
        self.assertEqual(settings, self.http.get("/admin/queues/q/settings").json)
        self.expect(self.http.call("PUT", "/admin/queues/q/settings", {"maxAttempts": 0}), 400)
        task = self.http.claim("q")
        self.assertEqual("changed", self.http.post(
            f"/admin/tasks/{task['id']}/force", {"how": "revoke"}).json["outcome"])
        self.expect(self.http.post(f"/admin/tasks/{UNKNOWN}/force", {"how": "revoke"}), 404)
        self.assertEqual(1, self.http.post("/admin/queues/q/purge").json["changed"])
        self.assertEqual(0, self.http.post("/admin/tasks/cleanup", {}).json["deleted"])
        self.expect(self.http.post("/admin/tasks/cleanup", {"before": "x"}), 400,
                    "invalid 'before' (use RFC3339)")
        self.assertEqual(12, len(self.http.get("/admin/shards").json["shards"]))
        self.expect(self.http.get("/admin/workers"), 200)

    def test_topics(self):
        wish = {"priorityTiers": [0, 9], "maxAttempts": 8, "retentionSeconds": 3600}
        made = self.expect(self.http.call("PUT", "/admin/topics/q", wish), 201)
        self.assertEqual({**wish, "maxConsumers": 0}, made["policy"])
        self.assertEqual(made, self.expect(self.http.call("PUT", "/admin/topics/q", wish), 200))
        self.cluster.coordinator.kill()
        self.start()
        self.assertEqual(made, self.expect(self.http.get("/admin/topics/q"), 200))
        self.assertEqual(8, self.http.enqueue("q", 1)["maxAttempts"])
        self.assertEqual(204, self.http.call(
            "DELETE", "/admin/topics/q?deletionPolicy=Delete").status)
        self.expect(self.http.get("/admin/topics/q"), 404)

    def test_extended_batches(self):
        tasks = [{"queue": "q", "payload": {"n": n}} for n in range(1000)]
        self.expect(self.http.post("/tasks/batch", {"tasks": tasks}), 400)
        added = self.expect(self.http.post("/tasks/batch?limit=extended", {"tasks": tasks}), 200)
        ids = {one["task"]["id"] for one in added["results"]}
        self.assertEqual(1000, len(ids))
        claimed = self.expect(self.http.post(
            "/tasks/claim/batch?limit=extended&payload=json",
            {"queues": ["q"], "count": 1000, "lease": "5m"}), 200)["tasks"]
        self.assertEqual(ids, {task["id"] for task in claimed})
        self.assertEqual(set(range(1000)), {task["payload"]["n"] for task in claimed})
        done = self.expect(self.http.post("/tasks/batch/results?limit=extended", {"results": [
            {"taskId": task["id"], "status": "COMPLETED"} for task in claimed]}), 200)
        self.assertEqual({"completed"}, {one["result"]["state"] for one in done["results"]})

    def test_root(self):
        self.assertEqual({"status": "ok"}, self.expect(self.http.raw("GET", "/healthz"), 200))
        self.assertEqual({"status": "ready", "shards": 12},
                         self.expect(self.http.raw("GET", "/readyz"), 200))
        self.expect(self.http.raw("GET", "/nothing"), 404,
                    "not found: no such route; /openapi.json lists all routes")
        self.expect(self.http.call("DELETE", "/tasks"), 405)


class ServerTest(HttpTest):
    """Tests of the gateway as a server."""

    def talk(self, *parts, seconds=5):
        """Sends bytes and reads until the other side closes or sends nothing more."""
        with socket.create_connection(("127.0.0.1", self.http.port), timeout=seconds) as client:
            for part in parts:
                client.sendall(part)
            heard = b""
            try:
                while True:
                    more = client.recv(65536)
                    if not more:
                        return heard
                    heard += more
            except TimeoutError:
                return heard

    def test_request_ids(self):
        echoed = self.http.raw("GET", "/healthz", fields={"X-Request-Id": "abc-1"})
        self.assertEqual("abc-1", echoed.fields["x-request-id"])
        for fields in ({}, {"X-Request-Id": "x" * 200}):
            made = self.http.raw("GET", "/healthz", fields=fields)
            self.assertRegex(made.fields["x-request-id"], "^[0-9a-f]{32}$")

    def test_keeps_connections(self):
        connection = self.http.connect()
        for _ in range(100):
            self.http.raw("GET", "/healthz", connection=connection)
        connection.close()

    def test_pipelined_requests_are_answered_in_order(self):
        get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: %d\r\n\r\n"
        last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" \
               b"X-Request-Id: 50\r\n\r\n"
        heard = self.talk(b"".join(get % n for n in range(50)) + last).decode()
        self.assertEqual([str(n) for n in range(51)], re.findall(r"X-Request-Id: (\d+)", heard))

    def test_limits(self):
        self.expect(self.http.raw("GET", "/" + "x" * 9000), 431)
        big = json.dumps({"command": "q", "payload": "x" * (2 << 20)})
        self.expect(self.http.raw("POST", BASE + "/tasks", big), 413,
                    f"request body is too large: it has {len(big)} bytes; it must have at most "
                    "2097152 bytes")
        chunk = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
        heard = self.talk(b"POST /v1/codeq/tasks HTTP/1.1\r\nHost: localhost\r\n"
                          b"Transfer-Encoding: chunked\r\n\r\n", chunk * 3)
        self.assertIn(b" 413 ", heard.split(b"\r\n")[0])
        self.assertIn(b"too large: it must have at most 2097152 bytes", heard)
        self.expect(self.http.post("/tasks", {"command": "q", "payload": "x" * (1 << 20)}), 400)
        batch = {"tasks": [{"command": "q", "payload": "x" * (1 << 19)} for _ in range(20)]}
        self.expect(self.http.post("/tasks/batch", batch), 200)
        deep = '{"command":"q","payload":' + "[" * 100 + "]" * 100 + "}"
        self.expect(self.http.raw("POST", BASE + "/tasks", deep), 400, "invalid body")

    def test_malformed_requests(self):
        for text in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"nonsense\r\n\r\n",
                     b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"):
            self.assertIn(b" 400 ", self.talk(text).split(b"\r\n")[0], text)
        self.expect(self.http.raw("GET", "/healthz"), 200)

    def test_expect_continue(self):
        with socket.create_connection(("127.0.0.1", self.http.port), timeout=5) as client:
            body = b'{"command":"q","payload":1}'
            client.sendall(b"POST /v1/codeq/tasks HTTP/1.1\r\nHost: localhost\r\n"
                           b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 100 Continue"))
            client.sendall(body)
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 202"))

    def test_foreign_pages_are_refused(self):
        self.expect(self.http.raw("GET", "/healthz", fields={"Host": "evil.test"}), 403)
        self.expect(self.http.raw("GET", "/healthz", fields={"Origin": "http://evil.test"}), 403)

    def test_waits_cost_little_and_end_at_once(self):
        """A thousand long polls: their memory, their threads, and how soon a task reaches one."""
        def threads():
            folder = f"/proc/{self.cluster.coordinator.pid}/task"
            return len(os.listdir(folder))

        self.http.enqueue("warm", 1)
        self.http.claim("warm")
        memory, count = self.cluster.coordinator.rss_bytes(), threads()
        body = b'{"commands":["polled"],"waitSeconds":60}'
        request = b"POST /v1/codeq/tasks/claim HTTP/1.1\r\nHost: localhost\r\n" \
                  b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        polls = []
        for _ in range(1000):
            poll = socket.create_connection(("127.0.0.1", self.http.port))
            poll.sendall(request)
            polls.append(poll)
        cluster.wait_until(
            lambda: any(w["freeSlots"] == 1000 for w in self.http.get("/admin/workers").json[
                "workers"]), 30, "all polls wait")
        grown = self.cluster.coordinator.rss_bytes() - memory
        self.assertEqual(count, threads())
        connection = self.http.connect()
        # The duration of an enqueue that wakes no claim; a busy machine delays both equally.
        calls = []
        for n in range(100):
            start = time.monotonic()
            self.http.raw("POST", BASE + "/tasks", '{"command":"other","payload":%d}' % n,
                          connection=connection)
            calls.append(time.monotonic() - start)
        times = []
        waiting = {poll.fileno(): poll for poll in polls}
        poller = select.poll()
        for poll in polls:
            poller.register(poll, select.POLLIN)
        for n in range(200):
            start = time.monotonic()
            self.http.raw("POST", BASE + "/tasks", '{"command":"polled","payload":%d}' % n,
                          connection=connection)
            ready, _ = poller.poll(5000)[0]
            times.append(time.monotonic() - start)
            self.assertTrue(waiting[ready].recv(4096).startswith(b"HTTP/1.1 200"))
            poller.unregister(ready)
        times.sort()
        calls.sort()
        print(f"1000 long polls: {grown / 2**20:.1f} MiB, a task reaches one in "
              f"p50 {times[100] * 1000:.2f} ms, p90 {times[180] * 1000:.2f} ms; an enqueue "
              f"that wakes nobody takes p50 {calls[50] * 1000:.2f} ms")
        for poll in polls:
            poll.close()
        self.assertLess(grown, (50 << 20) + cluster.SANITIZER_BYTES)
        # The fastest fifth measures the gateway; the others show how busy the machine is.
        self.assertLess(times[40], max(0.005, 4 * calls[20]))

    def test_stop_answers_what_waits(self):
        """An orderly stop answers waiting claims and takes no longer than without them."""
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.http.post(
            "/tasks/claim", {"commands": ["q"], "waitSeconds": 60}).status)) for _ in range(20)]
        for thread in threads:
            thread.start()
        cluster.wait_until(
            lambda: any(w["freeSlots"] == 20 for w in self.http.get("/admin/workers").json[
                "workers"]), 10, "all claims wait")
        status, seconds = self.cluster.coordinator.terminate(20)
        for thread in threads:
            thread.join()
        self.assertEqual((0, [204] * 20), (status, answers))
        self.assertLess(seconds, 3)

    def test_leases_survive_a_killed_coordinator(self):
        self.http.enqueue("q", {"n": 1})
        task = self.http.claim("q")
        self.cluster.coordinator.kill()
        self.start()
        path = f"/tasks/{task['id']}"
        self.assertEqual("IN_PROGRESS", self.http.get(path).json["status"])
        self.expect(self.http.post(path + "/heartbeat", {"extendSeconds": 60}), 200)
        self.expect(self.http.complete(task, {"ok": True}), 200)


    def test_headers_with_any_character_are_shown_whole(self):
        headers = {"a\0b": "1", "a\0c": "2", "d": "x\0y"}
        task = self.http.enqueue("q", {"n": 1}, headers=headers)

        self.assertEqual(headers, self.http.get(f"/tasks/{task['id']}").json["headers"])

    def test_checkpoints_and_follow_ups_survive_a_killed_coordinator(self):
        self.http.enqueue("q", {"n": 1}, headers={"a": "b"}, group="g", key="k")
        task = self.http.claim("q")
        self.assertEqual(({"a": "b"}, "g", "k"), (task["headers"], task["group"], task["key"]))
        path = f"/tasks/{task['id']}"
        for page in range(3):
            self.expect(self.http.post(path + "/checkpoint", {"checkpoint": {"page": page}}), 200)
        self.expect(self.http.post(path + "/progress", {"percent": 40, "note": "x"}), 200)
        self.cluster.coordinator.kill()
        self.start()
        self.expect(self.http.post(path + "/nack", {"delaySeconds": 0}), 200)
        self.assertEqual({"page": 2}, self.http.claim("q", wait=5)["checkpoint"])
        follow_ups = [{"queue": "next", "payload": n, "key": f"k{n}"} for n in range(20)]
        self.expect(self.http.post(path + "/result", {
            "status": "COMPLETED", "followUps": follow_ups}), 200)
        self.cluster.coordinator.kill()
        self.start()
        found = {self.http.claim("next", wait=5)["payload"] for _ in range(20)}
        self.assertEqual({str(n) for n in range(20)}, found)
        self.assertIsNone(self.http.claim("next"))


class ExampleTest(HttpTest):

    def test_the_python_worker(self):
        script = pathlib.Path(__file__).parents[2] / "examples" / "http_worker.py"
        self.cluster.start("http-worker", [
            sys.executable, script, f"http://127.0.0.1:{self.http.port}", "greetings"])
        good = self.http.enqueue("greetings", {"name": "Ada"})
        bad = self.http.enqueue("greetings", [], maxAttempts=1)
        done = self.http.get(f"/tasks/{good['id']}/result?waitSeconds=20")
        self.assertEqual({"greeting": "hello Ada"}, done.json["result"]["result"])
        dead = self.http.get(f"/tasks/{bad['id']}/result?waitSeconds=20")
        self.assertEqual("FAILED", dead.json["result"]["status"])
        self.assertIn("AttributeError", dead.json["result"]["error"])


class MetricsTest(HttpTest):

    def test_metrics_may_have_an_address_of_their_own(self):
        port = free_port()
        self.cluster.coordinator.terminate(20)
        self.start("--metrics", f"127.0.0.1:{port}")
        other = Gateway(port)
        self.assertIn("codeq_leases", self.expect_text(other.raw("GET", "/metrics")))
        self.assertEqual("", self.expect_text(other.raw("HEAD", "/metrics")))
        self.assertEqual(200, other.raw("GET", "/healthz").status)
        self.assertEqual(200, other.raw("GET", "/readyz").status)
        served = "not found; this address serves /metrics, /healthz and /readyz"
        self.expect(other.call("GET", "/tasks"), 404, served)
        self.expect(other.raw("POST", "/healthz", body=b"{}"), 404, served)

    def expect_text(self, answer):
        self.assertEqual(200, answer.status)
        return answer.text

    LINE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.eEinfNa]+$')

    def test_metrics_are_well_formed(self):
        self.http.enqueue("q", 1)
        self.http.complete(self.http.claim("q"), {})
        answer = self.http.raw("GET", "/metrics")
        self.assertEqual(200, answer.status)
        self.assertTrue(answer.fields["content-type"].startswith("text/plain; version=0.0.4"))
        typed = {}
        for line in answer.text.splitlines():
            if line.startswith("# TYPE "):
                typed[line.split()[2]] = line.split()[3]
            elif not line.startswith("#"):
                self.assertRegex(line, self.LINE)
                name = re.match("[a-z_]+", line).group()
                self.assertTrue(any(name == n or name.startswith(n + "_") for n in typed), line)
        for name in ("codeq_tasks", "codeq_leases", "codeq_lease_timers", "codeq_workers",
                     "codeq_http_connections"):
            self.assertEqual("gauge", typed[name])
        for name in ("codeq_task_transitions_total", "codeq_stale_reports_total",
                     "codeq_journal_groups_total", "codeq_journal_commit_seconds_total",
                     "codeq_store_stall_seconds_total", "codeq_http_answers_total"):
            self.assertEqual("counter", typed[name])
        self.assertEqual("histogram", typed["codeq_dispatch_seconds"])
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=answer.text, text=True,
                                     capture_output=True, timeout=30, check=False)
            self.assertEqual((0, "", ""), (checked.returncode, checked.stdout, checked.stderr))
        self.assertIn('codeq_task_transitions_total{tenant="default",queue="q",'
                      'transition="completed"} 1', answer.text)
        self.assertIn("codeq_run_seconds_count 1", answer.text)


if __name__ == "__main__":
    unittest.main()
