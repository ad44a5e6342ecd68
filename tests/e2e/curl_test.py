# SPDX-License-Identifier: Apache-2.0
"""Calls every route of the gateway with curl, including its errors, and prints a table of routes
and cases; runs the commands of the guide to HTTP with curl."""

import json
import pathlib
import re
import subprocess
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway

BASE = "/v1/codeq"
GUIDE = pathlib.Path(__file__).parents[2] / "schema" / "README.md"
URL = "http://127.0.0.1:8080/v1/codeq"
UNKNOWN = "00000000-0000-0001-0000-000000000000"
ROUTES = """
POST /tasks | POST /tasks/batch | POST /tasks/claim | POST /tasks/claim/batch
POST /tasks/:id/heartbeat | POST /tasks/:id/abandon | POST /tasks/:id/nack | POST /tasks/:id/result
POST /tasks/:id/progress | POST /tasks/:id/checkpoint
POST /tasks/batch/results | GET /tasks/:id | GET /tasks/:id/result | GET /tasks/:id/explain
GET /tasks/:id/events | GET /tasks | POST /tasks/:id/cancel | POST /tasks/:id/promote
GET /queues/:queue/keys/:key | POST /queues/:queue/keys/:key/cancel
POST /queues/:queue/keys/:key/promote | GET /admin/queues | GET /admin/queues/:queue
GET /autoscale
POST /admin/queues/:queue/pause | POST /admin/queues/:queue/resume
POST /admin/queues/:queue/purge | GET /admin/queues/:queue/settings
PUT /admin/queues/:queue/settings | GET /admin/dead | GET /admin/dead/summary
POST /admin/dead/redrive
POST /admin/dead/purge | POST /admin/tasks/cleanup | POST /admin/tasks/:id/force
GET /admin/workers | GET /admin/shards | GET /admin/audit | POST /workers/subscriptions
POST /workers/subscriptions/:id/heartbeat | PUT /admin/topics/:name | GET /admin/topics/:name
DELETE /admin/topics/:name | GET //healthz | GET //readyz | GET //metrics | GET //openapi.json
GET // | GET //ui/:name | GET /me | GET /admin/live | GET /admin/history
GET /tasks/:id/progress
"""
# Routes without a token, and words in the routes that workers may call.
OPEN = {"GET //healthz", "GET //readyz", "GET //openapi.json", "GET //", "GET //ui/:name"}
WORKERS = {"heartbeat", "progress", "checkpoint", "abandon", "nack", "claim", "subscriptions"}


def routes():
    return [route.strip() for line in ROUTES.split("\n") for route in line.split("|")
            if route.strip()]


class Curl(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.table = {}
        self.file = self.cluster.path("tokens")
        self.tokens = {
            name: self.cluster.ctl("token", "create", "--file", self.file, "--subject", name,
                                   *fields).decode().strip() for name, *fields in (
                ("producer", "--tenant", "a", "--role", "producer"),
                ("worker", "--tenant", "a", "--role", "worker", "--queues", "*"),
                ("admin", "--tenant", "a", "--role", "admin"),
                ("other", "--tenant", "b", "--role", "admin"),
                ("all", "--tenant", "*", "--role", "admin"))}
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                                       access=("--tokens", self.file))
        self.port = wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")

    def curl(self, bearer, method, path, body=None):
        """Returns status and body; a path that begins with two slashes is at the root."""
        target = path[1:] if path.startswith("//") else BASE + path
        words = ["curl", "--silent", "--show-error", "--max-time", "30", "--request", method,
                 "--write-out", "\n%{http_code}", f"http://127.0.0.1:{self.port}{target}"]
        if bearer:
            words += ["--header", f"Authorization: Bearer {self.tokens.get(bearer, bearer)}"]
        if body is not None:
            text = body if isinstance(body, str) else json.dumps(body)
            words += ["--header", "Content-Type: application/json", "--data-binary", text]
        done = subprocess.run(words, capture_output=True, timeout=60, check=True)
        text, status = done.stdout.decode().rsplit("\n", 1)
        return int(status), text

    def case(self, route, name, status, pattern, *, bearer, path=None, body=None):
        """Calls a route and checks the response; returns its JSON."""
        method, shown = route.split(" ", 1)
        seen, text = self.curl(bearer, method, path or shown, body)
        self.table.setdefault(route, {})[name] = seen
        self.assertEqual(status, seen, f"{route} {name}: {text}")
        self.assertRegex(text, pattern, f"{route} {name}")
        is_json = text.startswith(("{", "["))
        return json.loads(text) if is_json else text

    def task(self, queue="q", **fields):
        return self.case("POST /tasks", "added", 202, '"status":"PENDING"', bearer="producer",
                         body={"command": queue, "payload": {"n": 1}, **fields})

    def claim(self, queue="q"):
        return self.case("POST /tasks/claim", "claimed", 200, '"IN_PROGRESS"', bearer="worker",
                         body={"commands": [queue], "leaseSeconds": 60})

    def test_every_route(self):
        for part in (self.enqueue_routes, self.worker_routes, self.read_routes, self.change_routes,
                     self.queue_routes, self.dead_routes, self.process_routes, self.strangers):
            with self.subTest(part.__name__):
                part()
        self.show_table()
        missing = [route for route in routes() if len(self.table.get(route, {})) < 2]
        self.assertEqual([], missing, "routes without a good and a bad case")

    def enqueue_routes(self):
        route = "POST /tasks"
        task = self.task(idempotencyKey="k")
        again = self.case(route, "same key", 202, '"outcome":"existing"', bearer="producer",
                          body={"command": "q", "payload": 2, "idempotencyKey": "k"})
        self.assertEqual(task["id"], again["id"])
        for name, body, error in (
                ("no json", "{", "invalid body"),
                ("no command", {"payload": 1}, "invalid command"),
                ("runAt", {"command": "q", "payload": 1, "runAt": "x"}, "invalid 'runAt'"),
                ("delay", {"command": "q", "payload": 1, "delaySeconds": -1}, "'delaySeconds'"),
                ("webhook", {"command": "q", "payload": 1, "webhook": "http://10.0.0.1/"},
                 "invalid webhook url"),
                ("too deep", '{"command":"q","payload":' + "[" * 80 + "]" * 80 + "}",
                 "invalid body")):
            self.case(route, name, 400, re.escape(error), bearer="producer", body=body)
        self.case("POST /tasks/batch", "mixed", 200, '"task".*"error":"invalid command: ',
                  bearer="producer",
                  body={"tasks": [{"command": "q", "payload": 1}, {"payload": 1}]})
        self.case("POST /tasks/batch", "101 tasks", 400, "maximum of 100", bearer="producer",
                  body={"tasks": [{}] * 101})
        self.curl("admin", "POST", "/admin/queues/q/purge")

    def worker_routes(self):
        self.case("POST /tasks/claim", "nothing", 204, "^$", bearer="worker",
                  body={"commands": ["empty"]})
        self.case("POST /tasks/claim", "no body", 400, "invalid body", bearer="worker", body="")
        self.case("POST /tasks/claim/batch", "nothing", 204, "^$", bearer="worker",
                  body={"commands": ["empty"], "count": 1})
        self.case("POST /tasks/claim/batch", "11", 400, "maximum of 10", bearer="worker",
                  body={"count": 11})
        self.task()
        claimed = self.claim()
        for verb, body, good in (("heartbeat", {"extendSeconds": 9}, '"ok":true'),
                                 ("progress", {"percent": 40, "note": "x"}, '"ok":true'),
                                 ("checkpoint", {"checkpoint": {"page": 7}}, '"ok":true'),
                                 ("nack", {"delaySeconds": 0, "reason": "x"}, '"requeued"'),
                                 ("abandon", None, '"requeued"')):
            route, path = f"POST /tasks/:id/{verb}", f"/tasks/{claimed['id']}/{verb}"
            self.case(route, "mine", 200, good, bearer="worker", path=path, body=body)
            if verb == "nack":
                claimed = self.claim()
            self.case(route, "unknown", 404, "not-found", bearer="worker",
                      path=f"/tasks/{UNKNOWN}/{verb}", body=body or {})
            if verb == "heartbeat":
                self.case(route, "stale token", 403, "not-owner", bearer="worker", path=path,
                          body={"fencingToken": "1"})
        self.case("POST /tasks/:id/heartbeat", "not leased", 409, "not-in-progress",
                  bearer="worker", path=f"/tasks/{claimed['id']}/heartbeat", body={})
        claimed = self.claim()
        route, path = "POST /tasks/:id/result", f"/tasks/{claimed['id']}/result"
        self.case(route, "status", 400, "invalid status", bearer="worker", path=path,
                  body={"status": "X"})
        self.case(route, "done", 200, '"COMPLETED".*"ok": true', bearer="worker", path=path,
                  body={"status": "COMPLETED", "result": {"ok": True}})
        self.case(route, "late", 409, "not-in-progress", bearer="worker", path=path,
                  body={"status": "COMPLETED"})
        self.case(route, "unknown", 404, "task not found", bearer="worker",
                  path=f"/tasks/{UNKNOWN}/result", body={"status": "COMPLETED"})
        self.case("POST /tasks/batch/results", "unknown", 200, "task not found", bearer="worker",
                  body={"results": [{"taskId": UNKNOWN, "status": "COMPLETED"}]})
        self.case("POST /tasks/batch/results", "none", 400, "invalid body", bearer="worker",
                  body={"results": []})
        self.subscription_routes()

    def subscription_routes(self):
        route = "POST /workers/subscriptions"
        made = self.case(route, "subscribed", 200, '"expiresAt"', bearer="worker",
                         body={"callbackUrl": "https://workers.example/wake", "eventTypes": ["q"]})
        for name, body, error in (
                ("url", {"callbackUrl": "http://10.0.0.1/"}, "invalid callback url"),
                ("mode", {"callbackUrl": "https://a.example/", "deliveryMode": "x"},
                 "invalid deliveryMode"),
                ("group", {"callbackUrl": "https://a.example/", "deliveryMode": "hash"},
                 "groupId is required"), ("no json", "{", "invalid body")):
            self.case(route, name, 400, error, bearer="worker", body=body)
        route = "POST /workers/subscriptions/:id/heartbeat"
        path = "/workers/subscriptions/{}/heartbeat"
        self.case(route, "mine", 200, made["subscriptionId"], bearer="worker",
                  path=path.format(made["subscriptionId"]), body={"ttlSeconds": 60})
        self.case(route, "another's", 404, "not-found", bearer="admin",
                  path=path.format(made["subscriptionId"]))
        self.case(route, "unknown", 404, "not-found", bearer="worker", path=path.format("x"))

    def read_routes(self):
        task = self.task(queue="read", delaySeconds=60)
        path = f"/tasks/{task['id']}"
        for suffix, good in (("", '"payload"'), ("/explain", '"deferred"'),
                             ("/events", '"enqueued"')):
            route = f"GET /tasks/:id{suffix}"
            self.case(route, "mine", 200, good, bearer="producer", path=path + suffix)
            self.case(route, "unknown", 404, "not found", bearer="producer",
                      path=f"/tasks/{UNKNOWN}{suffix}")
            self.case(route, "other tenant", 404, "not found", bearer="other", path=path + suffix)
        self.case("GET /tasks/:id/result", "not yet", 404, "result not found", bearer="producer",
                  path=path + "/result")
        self.case("GET /tasks/:id/result", "unknown", 404, "task not found", bearer="producer",
                  path=f"/tasks/{UNKNOWN}/result?waitSeconds=5")
        self.case("GET /tasks", "of a queue", 200, task["id"], bearer="producer",
                  path="/tasks?queue=read&limit=5")
        self.case("GET /tasks", "no such state", 400, "'state' is ", bearer="producer",
                  path="/tasks?state=x")
        self.case("GET /tasks", "other tenant", 200, r'"tasks":\[\]', bearer="other")

    def change_routes(self):
        for verb in ("promote", "cancel"):
            task = self.task(queue=verb, delaySeconds=60, allowPromotion=True, idempotencyKey="k")
            for route, path in ((f"POST /tasks/:id/{verb}", f"/tasks/{task['id']}/{verb}"),
                                (f"POST /queues/:queue/keys/:key/{verb}",
                                 f"/queues/{verb}/keys/k/{verb}")):
                self.case(route, "other tenant", 404, "not found", bearer="other", path=path)
                self.case(route, "mine", 200, '"outcome":"(un)?changed"', bearer="producer",
                          path=path)
        self.case("GET /queues/:queue/keys/:key", "mine", 200, '"idempotencyKey":"k"',
                  bearer="producer", path="/queues/cancel/keys/k")
        self.case("GET /queues/:queue/keys/:key", "unknown", 404, "not found", bearer="producer",
                  path="/queues/cancel/keys/x")
        task = self.task(queue="force")
        route, path = "POST /admin/tasks/:id/force", f"/admin/tasks/{task['id']}/force"
        self.case(route, "how", 400, "'how' is required", bearer="admin", path=path, body={})
        self.case(route, "other tenant", 404, "not found", bearer="other", path=path,
                  body={"how": "fail"})
        self.case(route, "failed", 200, '"dead"', bearer="admin", path=path,
                  body={"how": "fail", "error": "x"})

    def queue_routes(self):
        self.case("GET /admin/queues", "own", 200, "codeq:q:q:a:pending:0", bearer="admin")
        self.case("GET /autoscale", "own", 200, '"wantedSlots":', bearer="worker",
                  path="/autoscale?queue=q&within=30s")
        self.case("GET /autoscale", "no queue", 400, "'queue' is required", bearer="producer")
        self.task(queue="purged")
        for route, queue, good in (
                ("GET /admin/queues/:queue", "q", '"inProgress"'),
                ("POST /admin/queues/:queue/pause", "q", '"paused":true'),
                ("POST /admin/queues/:queue/resume", "q", '"paused":false'),
                ("GET /admin/queues/:queue/settings", "q", "maxAttempts"),
                ("POST /admin/queues/:queue/purge", "purged", '"changed":1')):
            path = route.split(" ")[1]
            self.case(route, "own", 200, good, bearer="admin", path=path.replace(":queue", queue))
            self.case(route, "name", 400, "invalid command", bearer="admin",
                      path=path.replace(":queue", "a%20b"))
        for verb in ("pause", "resume", "purge"):
            self.case(f"POST /admin/queues/:queue/{verb}", "unknown", 404, "queue not found",
                      bearer="admin", path=f"/admin/queues/unknown/{verb}")
        route = "PUT /admin/queues/:queue/settings"
        self.case(route, "set", 200, '"maxAttempts":9', bearer="admin",
                  path="/admin/queues/q/settings", body={"maxAttempts": 9})
        self.case(route, "bounds", 400, "'maxAttempts' is 0", bearer="admin",
                  path="/admin/queues/q/settings", body={"maxAttempts": 0})
        self.topic_routes()

    def topic_routes(self):
        topic, bad = "/admin/topics/topic", "/admin/topics/a%20b"
        route, policy = "PUT /admin/topics/:name", {"priorityTiers": [0, 9], "maxAttempts": 8}
        self.case(route, "new", 201, '"topicId":"a.topic"', bearer="admin", path=topic, body=policy)
        self.case(route, "same", 200, '"version":1', bearer="admin", path=topic, body=policy)
        self.case(route, "updated", 200, '"version":2', bearer="admin", path=topic, body={})
        for name, body in (("priorityTiers", {"priorityTiers": [10]}),
                           ("maxAttempts", {"maxAttempts": 0}),
                           ("retentionSeconds", {"retentionSeconds": 1}),
                           ("deadLetterTopicRef", {"deadLetterTopicRef": "x"}),
                           ("maxConsumers", {"maxConsumers": 1})):
            self.case(route, name, 422, f'"field":"{name}"', bearer="admin", path=topic, body=body)
        self.case(route, "field", 400, "unknown field", bearer="admin", path=topic, body={"x": 1})
        self.case("GET /admin/topics/:name", "own", 200, '"topicName":"topic"', bearer="admin",
                  path=topic)
        self.case("GET /admin/topics/:name", "unknown", 404, 'not found', bearer="other",
                  path=topic)
        self.case("GET /admin/topics/:name", "name", 422, "topicName", bearer="admin", path=bad)
        route = "DELETE /admin/topics/:name"
        self.case(route, "policy", 400, "deletionPolicy=Delete is required", bearer="admin",
                  path=topic)
        for name in ("deleted", "again"):
            self.case(route, name, 204, "^$", bearer="admin",
                      path=topic + "?deletionPolicy=Delete")

    def dead_routes(self):
        self.case("GET /admin/dead", "listed", 200, '"state":"dead"', bearer="admin")
        self.case("GET /admin/dead", "name", 400, "invalid queue", bearer="admin",
                  path="/admin/dead?queue=a%20b")
        self.case("GET /admin/dead/summary", "counted", 200, '"kinds":', bearer="admin")
        self.case("GET /admin/dead/summary", "age", 400, "'olderThan' is", bearer="admin",
                  path="/admin/dead/summary?olderThan=old")
        for verb in ("redrive", "purge"):
            route = f"POST /admin/dead/{verb}"
            self.case(route, "unknown", 200, '"not_found"', bearer="admin",
                      body={"ids": [UNKNOWN]})
            self.case(route, "body", 400, "'limit' is -1", bearer="admin", body={"limit": -1})
            self.case(route, "queue", 200, '"changed":[01]', bearer="admin",
                      body={"queue": "force"})
        self.case("POST /admin/tasks/cleanup", "none", 200, '"deleted":0', bearer="admin", body={})
        self.case("POST /admin/tasks/cleanup", "before", 400, "invalid 'before'", bearer="admin",
                  body={"before": "x"})
        self.case("GET /admin/workers", "listed", 200, '"workers"', bearer="admin")
        self.case("GET /admin/shards", "own", 200, '"queues":', bearer="admin")
        self.case("GET /admin/audit", "listed", 200, '"action":"queue purge"', bearer="admin")
        self.case("GET /admin/audit", "after", 400, "'after' is", bearer="admin",
                  path="/admin/audit?after=x")

    def process_routes(self):
        self.case("GET //healthz", "alive", 200, '"ok"', bearer=None)
        self.case("GET //healthz", "with any token", 200, '"ok"', bearer="wrong")
        self.case("GET //readyz", "ready", 200, '"ready"', bearer=None)
        self.case("GET //readyz", "with any token", 200, '"ready"', bearer="wrong")
        self.case("GET //openapi.json", "document", 200, '"openapi": "3.1.0"', bearer=None)
        self.case("GET //openapi.json", "with any token", 200, '"paths"', bearer="wrong")
        self.case("GET //", "page", 200, "<!doctype html>", bearer=None)
        self.case("GET //", "with any token", 200, "<!doctype html>", bearer="wrong")
        self.case("GET //ui/:name", "script", 200, "import", bearer=None, path="//ui/app.js")
        self.case("GET //ui/:name", "unknown", 404, "no such file", bearer=None,
                  path="//ui/none.js")
        self.case("GET /me", "admin", 200, '"role":"admin"', bearer="admin")
        self.case("GET /me", "worker", 200, '"role":"worker"', bearer="worker")
        self.case("GET /admin/live", "unknown topic", 400, "'queues' or 'workers'", bearer="admin",
                  path="/admin/live?topics=x")
        self.case("GET /admin/history", "hour", 200, '"stepMs":10000', bearer="admin")
        self.case("GET /admin/history", "unknown span", 400, "'span'", bearer="admin",
                  path="/admin/history?span=week")
        self.case("GET //metrics", "all tenants", 200, "codeq_tasks", bearer="all")
        self.case("GET //metrics", "one tenant", 403, "forbidden: the token is for tenant ",
                  bearer="admin")

    def strangers(self):
        """Requests without a token, with a wrong one, and with a role that is not allowed."""
        for route in routes():
            if route in OPEN:
                continue
            self.case(route, "no token", 401, "missing bearer token", bearer=None, body={})
            self.case(route, "wrong token", 401, "invalid token", bearer="wrong", body={})
            if "/admin/" in route or "metrics" in route:
                self.case(route, "wrong role", 403, "forbidden", bearer="producer", body={})
            elif not route.startswith("GET") and (
                    any(word in route for word in WORKERS) or "/result" in route):
                self.case(route, "wrong role", 403, "forbidden", bearer="producer", body={})
            elif route.startswith("POST") or "/keys/" in route:
                self.case(route, "wrong role", 403, "forbidden", bearer="worker", body={})

    def show_table(self):
        count = 0
        for route in routes():
            cases = self.table.get(route, {})
            count += len(cases)
            print(f"{route:42}" + "  ".join(f"{name} {status}" for name, status in cases.items()))
        print(f"{len(routes())} routes, {count} cases")


def guide_commands():
    """The shell script in the guide's section."""
    section = GUIDE.read_text(encoding="utf-8").split("## HTTP with curl", 1)[1]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1)


class CurlGuide(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def test_every_command(self):
        text = guide_commands()
        self.assertIn(URL, text)
        script = text.replace(URL, f"http://127.0.0.1:{self.http.port}/v1/codeq")

        done = subprocess.run(["bash", "-euo", "pipefail"], input=script, capture_output=True,
                              text=True, timeout=60, check=False)

        self.assertEqual((0, ""), (done.returncode, done.stderr), done.stdout)
        answers = done.stdout.splitlines()
        for words in ('"ok":true', '"requeued"', '"sent":true', '"state":"dead"'):
            self.assertTrue(any(words in answer for answer in answers), f"{words}: {done.stdout}")
        # The effects of the commands.
        self.assertEqual('{"sent":"ada"}', self.http.claim("log", wait=5)["payload"])
        settings = self.http.get("/admin/queues/bills/settings").json["settings"]
        self.assertEqual((8, 604800), (settings["maxAttempts"], settings["retentionSeconds"]))
        self.assertEqual(0, self.http.get("/admin/queues/bills").json["dlq"])


if __name__ == "__main__":
    unittest.main()
