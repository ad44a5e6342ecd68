# SPDX-License-Identifier: Apache-2.0
"""The gateway as a client sees it: methods, pages of other origins, names of requests, and the
OpenAPI document with all of its examples."""

import json
import re
import unittest
import urllib.parse

import cluster
from gateway import BASE, Gateway

APP = "https://app.example:8443"
OTHER = "https://other.example"
TASK_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Operations by the state that the task in their path, query or body has to be in.
LEASED = {"extendLease", "reportProgress", "saveCheckpoint", "abandonTask", "nackTask",
          "reportResult", "reportResults"}
ENDED = {"showResult", "showDemand"}
# Examples of topics that need one.
TOPICS = {"same", "updated", "topic", "deleted"}
# Names of examples that need the limit and the schedule of the examples.
DEFINED = {"defined", "unchanged"}
KEYED = {"showKeyedTask", "cancelKeyedTask", "promoteKeyedTask"}


def examples(operation):
    """Name, status, example of the answer or None."""
    for status, answer in operation["responses"].items():
        for name in answer.get("x-examples", ()):
            yield name, int(status), None
        for content in answer.get("content", {}).values():
            for name, example in content.get("examples", {}).items():
                yield name, int(status), example


def shape(value):
    """A JSON value with the names of their types in place of all texts and numbers."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    return type(value).__name__


def fits(wanted, found):
    """Every member of an example is in the answer, with its type."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(name in found and fits(wanted[name], found[name]) for name in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return all(fits(one, other) for one, other in zip(wanted, found))
    return wanted == found


class HttpMethods(cluster.ClusterTest):
    def start(self, *options):
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                                       *options)
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def start_with_tokens(self, *options):
        file = self.cluster.path("tokens")
        token = self.cluster.ctl("token", "create", "--file", file, "--subject", "ada", "--tenant",
                                 "a", "--role", "producer").decode().strip()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                                       *options, access=("--tokens", file))
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))
        return token

    def preflight(self, path, origin):
        return self.http.raw("OPTIONS", path, fields={
            "Origin": origin, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type"})

    def test_head(self):
        """The header of a GET, its length included, without the body; the connection goes on."""
        self.start()
        task = self.http.enqueue("q", {"n": 1})["id"]
        connection = self.http.connect()
        told_by_age = ("/metrics", f"{BASE}/admin/queues/q")  # an age may gain a digit in between
        for path in ("/healthz", "/readyz", f"{BASE}/tasks/{task}", f"{BASE}/tasks",
                     f"{BASE}/tasks/none", *told_by_age):
            got = self.http.raw("GET", path, connection=connection)
            head = self.http.raw("HEAD", path, connection=connection)
            self.assertEqual((got.status, ""), (head.status, head.text), path)
            self.assertEqual(got.fields["content-type"], head.fields["content-type"], path)
            self.assertGreater(int(head.fields["content-length"]), 0, path)
            if path not in told_by_age:
                self.assertEqual(got.fields["content-length"], head.fields["content-length"], path)
        self.assertEqual(405, self.http.raw("HEAD", f"{BASE}/tasks/claim/batch").status)

    def test_allow(self):
        self.start()
        for method, path, allowed in (
                ("DELETE", f"{BASE}/tasks", "POST, GET, HEAD"),
                ("GET", f"{BASE}/admin/queues/q/pause", "POST"),
                ("POST", f"{BASE}/admin/queues/q/settings", "GET, HEAD, PUT"),
                ("POST", "/healthz", "GET, HEAD"),
                ("GET", f"{BASE}/tasks/claim", "POST"),
                ("OPTIONS", "/healthz", "GET, HEAD")):
            answer = self.http.raw(method, path)
            self.assertEqual((405, allowed), (answer.status, answer.fields["allow"]), path)
            self.assertEqual({"error": f"method not allowed: this path takes {allowed}"},
                             answer.json)
        self.assertNotIn("allow", self.http.raw("GET", "/healthz").fields)

    def test_delete_names_the_action_that_is_meant(self):
        self.start()
        for path, action in (("/tasks/x", "cancel"), ("/queues/q/keys/k", "cancel"),
                             ("/admin/queues/q", "purge")):
            answer = self.http.raw("DELETE", BASE + path)
            self.assertEqual(405, answer.status, path)
            self.assertTrue(answer.json["error"].endswith(
                f"; to {action} it, POST to this path and /{action}"), answer.text)
            self.assertNotEqual(405, self.http.raw("POST", f"{BASE}{path}/{action}", "{}").status)

    def test_missing_task_is_told_from_a_missing_key(self):
        self.start()
        task = "/tasks/00000000-0000-0001-0000-000000000000"
        missing = {"error": 'not found: tenant "default" has no task '
                            '"00000000-0000-0001-0000-000000000000", or its retention is over'}
        self.assertEqual(missing, self.http.get(task).json)
        self.assertEqual(missing, self.http.post(task + "/cancel").json)
        missing = {"error": 'not found: queue "q" has no task with key "none"; '
                            "for the key of a group add '?group='"}
        self.assertEqual(missing, self.http.get("/queues/q/keys/none").json)
        self.assertEqual(missing, self.http.post("/queues/q/keys/none/cancel").json)

    def test_deleted_schedule_is_explained(self):
        self.start()
        self.http.call("PUT", "/schedules/n", {"every": "90s", "task": {"queue": "q",
                                                                        "payload": 1}})
        gone = self.http.call("DELETE", "/schedules/n")
        self.assertEqual((200, "deleted, so it does not fire any more"), (
            gone.status, gone.json["schedule"]["explanation"]), gone.text)

    def test_unknown_route_names_its_neighbours(self):
        self.start()
        for path, names in (
                ("/tasks/x/complete", "abandon, cancel, checkpoint, events, explain, heartbeat, "
                                      "nack, progress, promote, result"),
                ("/task", "autoscale, me, schedules, tasks")):
            self.assertEqual(
                {"error": f"not found: no such route; the last part may be {names}; "
                          "/openapi.json lists all routes"},
                self.http.raw("POST", BASE + path, "{}").json)
        for path in ("/nothing", "/v1/codeq", BASE + "/nothing/at/all"):
            self.assertEqual(
                {"error": "not found: no such route; /openapi.json lists all routes"},
                self.http.raw("GET", path).json)

    def test_unknown_route_names_the_one_that_is_meant(self):
        self.start()
        for path, meant in (("/tasks", "/tasks"), ("/admin/limits", "/admin/limits"),
                            (BASE + "/queues/q/explain", "/admin/queues/q/explain"),
                            ("/workers", "/admin/workers")):
            self.assertEqual(
                {"error": f'not found: no such route; did you mean "{BASE}{meant}"? '
                          "/openapi.json lists all routes"},
                self.http.raw("GET", path).json)

    def test_no_page_may_call_by_default(self):
        self.start_with_tokens()
        answer = self.preflight(BASE + "/tasks", APP)
        self.assertEqual(405, answer.status)
        self.assertIn(f"'Origin' is \"{APP}\", which --cors-origin does not name",
                      answer.json["error"])
        self.assertNotIn("access-control-allow-origin", answer.fields)
        answer = self.http.raw("GET", "/healthz", fields={"Origin": APP})
        self.assertNotIn("access-control-allow-origin", answer.fields)
        self.assertNotIn("vary", answer.fields)

    def test_named_origins(self):
        token = self.start_with_tokens("--cors-origin", APP, "--cors-origin", "http://[::1]:3000")
        asked = self.preflight(BASE + "/tasks", APP)
        self.assertEqual((204, ""), (asked.status, asked.text))
        self.assertEqual(APP, asked.fields["access-control-allow-origin"])
        self.assertEqual("POST, GET, HEAD", asked.fields["access-control-allow-methods"])
        self.assertIn("Authorization", asked.fields["access-control-allow-headers"])
        self.assertIn("Idempotency-Key", asked.fields["access-control-allow-headers"])
        self.assertEqual("600", asked.fields["access-control-max-age"])
        fields = {"Origin": APP, "Authorization": f"Bearer {token}"}
        made = self.http.raw("POST", BASE + "/tasks", json.dumps(
            {"command": "q", "payload": 1}), fields=fields)
        self.assertEqual((202, APP, "Origin"), (
            made.status, made.fields["access-control-allow-origin"], made.fields["vary"]))
        # A page may read refusals, too.
        for target, status in ((BASE + "/tasks", 401), ("/nothing", 404), ("/%zz", 400)):
            answer = self.http.raw("GET", target, fields={"Origin": APP})
            self.assertEqual((status, APP), (
                answer.status, answer.fields["access-control-allow-origin"]))
        self.assertEqual(204, self.preflight(BASE + "/tasks", "http://[::1]:3000").status)
        other = self.preflight(BASE + "/tasks", OTHER)
        self.assertEqual(405, other.status)
        self.assertNotIn("access-control-allow-origin", other.fields)
        self.assertEqual(404, self.preflight("/nothing", APP).status)

    def test_all_origins(self):
        self.start_with_tokens("--cors-origin", "*")
        answer = self.preflight(BASE + "/tasks/claim", OTHER)
        self.assertEqual((204, "*"), (
            answer.status, answer.fields["access-control-allow-origin"]))
        self.assertNotIn("vary", answer.fields)

    def test_without_tokens_an_origin_has_to_be_named(self):
        self.start("--cors-origin", "*", "--cors-origin", APP)
        for origin, status in ((APP, 200), ("http://localhost:3000", 200), (OTHER, 403)):
            answer = self.http.raw("GET", BASE + "/tasks", fields={"Origin": origin})
            self.assertEqual(status, answer.status, origin)
        self.assertEqual(403, self.http.raw("GET", BASE + "/tasks", fields={
            "Origin": APP, "Host": "gateway.example"}).status)

    def test_request_ids(self):
        self.start()
        answer = self.http.raw("GET", "/healthz", fields={"X-Request-Id": "client-1"})
        self.assertEqual("client-1", answer.fields["x-request-id"])
        ids = {self.http.raw("GET", "/healthz").fields["x-request-id"] for _ in range(20)}
        self.assertEqual(20, len(ids))
        for one in ids:
            self.assertRegex(one, "^[0-9a-f]{32}$")

    def test_times_of_a_new_task_are_those_that_its_shard_keeps(self):
        self.start()
        added = [self.http.enqueue("q", number, **fields) for number in range(5) for fields in (
            {}, {"delaySeconds": 60}, {"group": "g"}, {"idempotencyKey": f"k{number}"})]
        tasks = [{"command": "q", "payload": 1, "delaySeconds": 60} for _ in range(10)]
        added += [one["task"] for one in
                  self.http.post("/tasks/batch", {"tasks": tasks}).json["results"]]
        for task in added:
            kept = self.http.get(f"/tasks/{task['id']}").json
            for name in ("createdAt", "updatedAt", "eligibleAt"):
                self.assertEqual(task.get(name), kept.get(name), (name, task))

    def test_idempotency_key(self):
        self.start()
        task = {"command": "q", "payload": 1}

        def add(body, key, path="/tasks"):
            return self.http.post(path, body, fields={"Idempotency-Key": key})

        first = add(task, "k")
        self.assertEqual(202, first.status)
        self.assertEqual("k", first.json["idempotencyKey"])
        self.assertEqual(first.json["id"], add(task, "k").json["id"])
        self.assertEqual(first.json["id"], add({**task, "key": "k"}, "k").json["id"])
        self.assertNotEqual(first.json["id"], add(task, "other").json["id"])
        refused = add({**task, "idempotencyKey": "x"}, "k")
        self.assertEqual((400, "'Idempotency-Key' is \"k\"; it must be \"x\" as in the body"),
                         (refused.status, refused.json["error"]))
        self.assertEqual(400, add(task, "k" * 257).status)
        self.assertEqual(400, add({"tasks": [task]}, "k", "/tasks/batch").status)


class OpenApi(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file)
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))
        self.document = self.http.raw("GET", "/openapi.json").json
        self.count = 0

    def prepare(self, operation, name):
        """The id of a task as the operation needs it; nothing else is left in the queues."""
        for queue in ("GENERATE_MASTER", "mail"):
            self.http.post(f"/admin/queues/{queue}/purge")
        self.define(name in DEFINED)
        if operation.endswith("Topic"):
            return self.prepare_topic(name)
        if operation == "renewSubscription":
            return self.http.post("/workers/subscriptions", {
                "callbackUrl": "https://workers.example/wake"}).json["subscriptionId"]
        key = {"idempotencyKey": "order-7"} if operation in KEYED else {}
        key = {"idempotencyKey": "k"} if name == "duplicate" else key
        queue = "mail" if operation in KEYED else "GENERATE_MASTER"
        if operation == "enqueueTask" and name != "duplicate":
            return None
        task = self.http.enqueue(queue, {"jobId": "j-1"}, **key)["id"]
        if operation in LEASED | ENDED:
            self.http.claim(queue)
        if operation in ENDED:
            self.http.complete({"id": task}, {"ok": True})
        return task

    def define(self, wanted):
        self.http.call("DELETE", "/admin/limits/stripe")
        self.http.call("DELETE", "/schedules/nightly")
        if wanted:
            self.http.call("PUT", "/admin/limits/stripe", self.example_body(
                "/admin/limits/{name}", "defined"))
            self.http.call("PUT", "/schedules/nightly", self.example_body(
                "/schedules/{name}", "unchanged"))

    def example_body(self, path, name):
        body = self.document["paths"][BASE + path]["put"]["requestBody"]
        return body["content"]["application/json"]["examples"][name]["value"]

    def prepare_topic(self, name):
        self.http.call("DELETE", "/admin/topics/mail?deletionPolicy=Delete")
        if name in TOPICS:
            self.http.call("PUT", "/admin/topics/mail", {
                "priorityTiers": [0, 5, 9], "maxAttempts": 8, "retentionSeconds": 86400})

    def path_of(self, path, operation, name, task):
        for one in operation.get("parameters", ()):
            if one["in"] != "path":
                continue
            given = one.get("examples", {"usual": {"value": one.get("example")}})
            is_task = one["name"] in ("id", "subscription") and name not in given
            value = task if is_task else given.get(name, given["usual"])["value"]
            path = path.replace("{" + one["name"] + "}", urllib.parse.quote(value, safe=""))
        return path

    def query_of(self, operation, example):
        """What the example says, or else the examples of the parameters."""
        if example and "x-query" in example:
            return example["x-query"]
        return urllib.parse.urlencode({
            one["name"]: one["example"] for one in operation.get("parameters", ())
            if one["in"] == "query" and "example" in one})

    def body_of(self, operation, name, example, task):
        if example and "x-body" in example:
            return example["x-body"]
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        given = content.get("examples", {}).get(name)
        if not given:
            return None
        text = json.dumps(given["value"])
        ids = [one["taskId"] for one in given["value"].get("results", ())]
        return text.replace(ids[0], task) if ids else text

    def test_every_example(self):
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                for name, status, example in examples(operation):
                    with self.subTest(operation=operation["operationId"], example=name):
                        self.send(method.upper(), path, operation, (name, status, example))
        print(f"{self.count} examples")

    def send(self, method, path, operation, case):
        name, status, example = case
        task = self.prepare(operation["operationId"], name)
        if name == "none":
            self.http.post("/admin/queues/GENERATE_MASTER/purge")
        target = self.path_of(path, operation, name, task)
        query = self.query_of(operation, example)
        body = self.body_of(operation, name, example, task)
        answer = self.http.raw(method, target + ("?" + query if query else ""), body)
        self.count += 1
        self.assertEqual(status, answer.status, answer.text)
        if example is None:
            return self.assertEqual("", answer.text)
        wanted = example["value"]
        if status >= 400:
            return self.assertEqual(TASK_ID.sub("ID", json.dumps(wanted)),
                                    TASK_ID.sub("ID", json.dumps(answer.json)))
        if isinstance(wanted, str):
            return self.assertIn(wanted.split("{")[0], answer.text)
        return self.assertTrue(fits(shape(wanted), shape(answer.json)), f"{wanted}\n{answer.text}")

    def test_it_needs_no_token(self):
        self.assertEqual("3.1.0", self.document["openapi"])
        answer = self.http.raw("HEAD", "/openapi.json")
        self.assertEqual((200, "application/json"), (answer.status, answer.fields["content-type"]))
        self.assertIn(BASE + "/tasks", self.document["paths"])


if __name__ == "__main__":
    unittest.main()
