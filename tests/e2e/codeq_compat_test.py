# SPDX-License-Identifier: Apache-2.0
"""What codeQ's load scripts and its local flow send, and what they read of the answers."""

import json
import re
import unittest

import cluster
from access import issuer
from gateway import BASE, Gateway

TASK_ID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
RFC3339 = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"
COMMAND = "GENERATE_MASTER"
UNKNOWN = "00000000-0000-0001-0000-000000000000"


class CodeqCompat(cluster.ClusterTest):
    """One tenant's producer, worker and admin, each with a token, as codeQ's clients are."""

    def setUp(self):
        super().setUp()
        self.tokens, access = self.make_tokens()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                                       access=access)
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def make_tokens(self):
        """A token of each role, and the coordinator's options that let them in."""
        file = self.cluster.path("tokens")
        tokens = {
            name: self.cluster.ctl("token", "create", "--file", file, "--subject", f"{name}-dev",
                                   "--tenant", "dev-tenant", "--role", name, *more).decode().strip()
            for name, *more in (("producer",), ("worker", "--queues", "*"), ("admin",))}
        return tokens, ("--tokens", file)

    def send(self, role, method, path, body=None, status=200):
        """A request as the clients make it; returns the JSON of the answer."""
        fields = {"Authorization": f"Bearer {self.tokens[role]}",
                  "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        answer = self.http.raw(method, BASE + path, text, fields=fields)
        self.assertEqual(status, answer.status, f"{method} {path} {text}: {answer.text}")
        self.assertRegex(answer.fields["x-request-id"], r"^[0-9a-f]{32}$")
        return answer.json

    def refused(self, role, method, path, body, status, error):
        """The text of the contract begins the refusal."""
        answer = self.send(role, method, path, body, status)
        self.assertEqual(["error"], list(answer))
        self.assertTrue(answer["error"].startswith(error), answer)

    def create(self, **fields):
        body = {"command": COMMAND, "payload": {"jobId": "j-1"}, "priority": 0, **fields}
        return self.send("producer", "POST", "/tasks", body, 202)

    def claim(self, **fields):
        body = {"commands": [COMMAND], "leaseSeconds": 60, "waitSeconds": 0, **fields}
        return self.send("worker", "POST", "/tasks/claim", body)

    def complete(self, task):
        return self.send("worker", "POST", f"/tasks/{task['id']}/result",
                         {"status": "COMPLETED", "result": {"ok": True}})

    def stats(self):
        return self.send("admin", "GET", f"/admin/queues/{COMMAND}")

    def test_local_flow(self):
        """A task from its creation to its result, with every field that the contract shows."""
        made = self.create(priority=3)
        self.assertRegex(made["id"], TASK_ID)
        for name in ("createdAt", "updatedAt"):
            self.assertRegex(made[name], RFC3339)
        self.assertEqual(
            {"command": COMMAND, "payload": '{"jobId": "j-1"}', "priority": 3, "status": "PENDING",
             "lastKnownLocation": "PENDING_LIST", "maxAttempts": 5, "tenantId": "dev-tenant"},
            {name: made[name] for name in ("command", "payload", "priority", "status",
                                           "lastKnownLocation", "maxAttempts", "tenantId")})
        taken = self.claim(waitSeconds=10)
        self.assertEqual((made["id"], "IN_PROGRESS", "INPROG_SET", "worker-dev", 1, 5),
                         tuple(taken[name] for name in ("id", "status", "lastKnownLocation",
                                                        "workerId", "attempts", "maxAttempts")))
        self.assertRegex(taken["leaseUntil"], RFC3339)
        self.assertEqual({"jobId": "j-1"}, json.loads(taken["payload"]))
        path = f"/tasks/{made['id']}"
        beaten = self.send("worker", "POST", path + "/heartbeat", {"extendSeconds": 300})
        self.assertRegex(beaten.pop("leaseUntil"), RFC3339)
        self.assertEqual({"ok": True, "cancelRequested": False}, beaten)
        self.refused("producer", "GET", path + "/result", None, 404, "result not found")
        record = self.complete(taken)
        self.assertEqual((made["id"], "COMPLETED", {"ok": True}),
                         (record["taskId"], record["status"], record["result"]))
        self.assertRegex(record["completedAt"], RFC3339)
        both = self.send("producer", "GET", path + "/result?waitSeconds=5")
        self.assertEqual(("COMPLETED", "NONE", 1, "codeq:results"),
                         tuple(both["task"][name] for name in ("status", "lastKnownLocation",
                                                               "attempts", "resultKey")))
        self.assertEqual({"ok": True}, both["result"]["result"])
        self.assertEqual("COMPLETED", self.send("worker", "GET", path)["status"])

    def test_nack_and_abandon(self):
        self.create(maxAttempts=2)
        task = self.claim()
        path = f"/tasks/{task['id']}"
        self.assertEqual("requeued",
                         self.send("worker", "POST", path + "/abandon", {})["status"])
        self.claim()
        self.assertLessEqual({"status": "requeued", "delaySeconds": 0}.items(), self.send(
            "worker", "POST", path + "/nack", {"delaySeconds": 0, "reason": "X"}).items())
        self.claim()
        self.assertLessEqual({"status": "dlq", "delaySeconds": 0}.items(), self.send(
            "worker", "POST", path + "/nack", {"delaySeconds": 1, "reason": "X"}).items())
        self.refused("worker", "POST", path + "/heartbeat", {"extendSeconds": 1}, 409,
                     "not-in-progress")
        for route in ("heartbeat", "abandon", "nack"):
            self.refused("worker", "POST", f"/tasks/{UNKNOWN}/{route}", {}, 404, "not-found")

    def test_failure(self):
        self.create(maxAttempts=1)
        task = self.claim()
        record = self.send("worker", "POST", f"/tasks/{task['id']}/result", {
            "workerId": "worker-dev", "status": "FAILED", "error": "loadtest error"})
        self.assertEqual(("FAILED", "loadtest error"), (record["status"], record["error"]))

    def test_artifacts(self):
        self.create()
        task = self.claim()
        artifacts = [{"name": "a", "url": "https://files.example/a"},
                     {"name": "b", "contentBase64": "aGk=", "contentType": "text/plain"}]
        record = self.send("worker", "POST", f"/tasks/{task['id']}/result", {
            "status": "COMPLETED", "result": {}, "artifacts": artifacts})
        self.assertEqual(artifacts, record["artifacts"])

    def test_load_scripts(self):
        """Sustained load, a burst, many workers, a prefilled queue: the same four requests."""
        for n in range(20):
            self.create(payload={"k6": {"vu": 1, "iter": n}})
        self.assertEqual({"ready": 20, "delayed": 0, "inProgress": 0, "dlq": 0}, {
            name: count for name, count in self.stats().items()
            if name in ("ready", "delayed", "inProgress", "dlq")})
        for _ in range(20):
            self.complete(self.claim())
        body = {"commands": [COMMAND], "leaseSeconds": 60, "waitSeconds": 0}
        self.assertIsNone(self.send("worker", "POST", "/tasks/claim", body, 204))
        self.assertIsNone(self.send("worker", "POST", "/tasks/claim", {}, 204))
        self.assertEqual(0, self.stats()["ready"])

    def test_mixed_priorities(self):
        """Its scripts send 10, which counts as 9."""
        for priority in (0, 5, 10):
            self.create(priority=priority, payload={"priority": priority})
        self.assertEqual([9, 5, 0], [self.claim()["priority"] for _ in range(3)])

    def test_delayed_tasks(self):
        self.assertEqual("DELAYED_ZSET", self.create(delaySeconds=30)["lastKnownLocation"])
        self.assertEqual("PENDING_LIST", self.create(delaySeconds=0)["lastKnownLocation"])
        both = self.create(runAt="2020-01-01T00:00:00Z", delaySeconds=3600)
        self.assertEqual("PENDING_LIST", self.send("producer", "GET", f"/tasks/{both['id']}")[
            "lastKnownLocation"])
        self.assertEqual(1, self.stats()["delayed"])

    def test_idempotent_replay(self):
        first = self.create(idempotencyKey="k", maxAttempts=3)
        self.assertEqual(first["id"], self.create(idempotencyKey="k", maxAttempts=3)["id"])

    def test_defaults_and_long_waits(self):
        """Zeros mean the default, and what is longer than a gateway waits counts as that."""
        self.assertEqual(5, self.create(maxAttempts=0, webhook="")["maxAttempts"])
        task = self.claim(leaseSeconds=0, waitSeconds=600)
        self.complete(task)
        self.send("producer", "GET", f"/tasks/{task['id']}/result?waitSeconds=600")
        self.send("producer", "GET", f"/tasks/{task['id']}/result?waitSeconds=-1")

    def test_batches(self):
        item = {"command": COMMAND, "payload": {"n": 1}}
        made = self.send("producer", "POST", "/tasks/batch", {"tasks": [item, {"payload": 1}]})
        self.assertEqual(["task", "error"], [next(iter(one)) for one in made["results"]])
        self.assertTrue(made["results"][1]["error"].startswith("invalid command"))
        taken = self.send("worker", "POST", "/tasks/claim/batch", {
            "count": 10, "commands": [COMMAND], "leaseSeconds": 60})
        self.assertEqual(1, len(taken["tasks"]))
        task = taken["tasks"][0]["id"]
        done = self.send("worker", "POST", "/tasks/batch/results", {"results": [
            {"taskId": task, "status": "COMPLETED", "result": {}},
            {"taskId": UNKNOWN, "status": "COMPLETED", "result": {}}]})
        self.assertEqual([task, UNKNOWN], [one["taskId"] for one in done["results"]])
        self.assertTrue(done["results"][1]["error"].startswith("task not found: "))
        self.send("worker", "POST", "/tasks/claim/batch", {"count": 1}, 204)

    def test_admin(self):
        self.create()
        counts = self.send("admin", "GET", "/admin/queues")
        name = re.compile(rf"codeq:q:{COMMAND}:dev-tenant:(pending:\d|inprog|delayed|gated|dlq)")
        self.assertTrue(all(name.fullmatch(one) for one in counts), counts)
        self.assertEqual(1, counts[f"codeq:q:{COMMAND}:dev-tenant:pending:0"])
        cleaned = self.send("admin", "POST", "/admin/tasks/cleanup", {
            "limit": 7, "before": "2026-05-20T10:00:00Z"})
        self.assertEqual({"deleted": 0, "before": "2026-05-20T10:00:00Z", "limit": 7}, cleaned)
        self.assertEqual(0, self.send("admin", "POST", "/admin/tasks/cleanup")["limit"])

    def test_refusals(self):
        """Each text of the contract begins the refusal."""
        task = {"command": COMMAND, "payload": {}}
        done = {"status": "COMPLETED"}
        for role, path, body, status, error in (
                ("producer", "/tasks", [], 400, "invalid body"),
                ("producer", "/tasks", {**task, "runAt": "x"}, 400,
                 "invalid 'runAt' (use RFC3339)"),
                ("producer", "/tasks", {**task, "delaySeconds": -1}, 400,
                 "invalid 'delaySeconds' (must be >= 0)"),
                ("producer", "/tasks", {**task, "command": ""}, 400, "invalid command"),
                ("producer", "/tasks", {**task, "webhook": "x"}, 400, "invalid webhook url"),
                ("producer", "/tasks/batch", {"tasks": []}, 400, "invalid body"),
                ("producer", "/tasks/batch", {"tasks": [task] * 101}, 400,
                 "batch size exceeds maximum of 100"),
                ("worker", "/tasks/claim", None, 400, "invalid body"),
                ("worker", "/tasks/claim/batch", {"count": 0}, 400, "invalid body"),
                ("worker", "/tasks/claim/batch", {"count": 11}, 400, "count exceeds maximum of 10"),
                ("worker", "/tasks/x/result", [], 400, "invalid request body"),
                ("worker", "/tasks/x/result", {"status": "DONE"}, 400, "invalid status"),
                ("worker", "/tasks/x/result", {"status": "FAILED"}, 400,
                 "error required when status=FAILED"),
                ("worker", "/tasks/x/result", done, 404, "task not found"),
                ("worker", "/tasks/x/nack", None, 400, "invalid body"),
                ("admin", "/admin/tasks/cleanup", {"before": "x"}, 400,
                 "invalid 'before' (use RFC3339)"),
                ("worker", "/tasks", task, 403, "forbidden")):
            with self.subTest(path=path, body=str(body)[:80]):
                self.refused(role, "POST", path, body, status, error)


class CodeqCompatWithJwts(CodeqCompat):
    """The same with JWTs, which are all that codeQ's clients have."""

    def make_tokens(self):
        key = issuer.Key(self.cluster.directory, "k", "RS256")
        keys = self.cluster.path("keys.json")
        keys.write_text(issuer.key_set(key))
        tokens = {
            name: key.sign(issuer.claims(f"{name}-dev", **more))
            for name, more in (("producer", {}), ("worker", issuer.WORKER),
                               ("admin", {"role": "ADMIN"}))}
        return tokens, issuer.options(keys)


if __name__ == "__main__":
    unittest.main()
