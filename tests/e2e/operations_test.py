# SPDX-License-Identifier: Apache-2.0
"""Operations on all tasks that match a filter, with the real programs."""

import json
import time
import unittest

import cluster
from access import issuer
from cluster import wait_until
from gateway import Gateway

BATCH = 1000


class OperationsTest(cluster.ClusterTest):
    """A coordinator with a gateway, and clients that add dead tasks."""

    bearer = None

    def start(self, *options, **access):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, *options, **access)
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def restart(self, *options):
        """Kills the coordinator and starts it again; returns when the operations are read."""
        self.coordinator.kill()
        self.start(*options)
        wait_until(lambda: self.http.get("/admin/operations").status == 200, 10,
                   "the operations are read")

    def ask(self, method, path, body=None, status=200, bearer=None):
        bearer = bearer or self.bearer
        fields = {"Authorization": "Bearer " + bearer} if bearer else {}
        answer = self.http.call(method, path, body, fields=fields)
        self.assertEqual(status, answer.status, answer.text)
        return answer.json

    def add(self, queue, count, **fields):
        """Adds tasks and returns their ids."""
        ids = []
        for first in range(0, count, BATCH):
            tasks = [{"command": queue, "payload": first, **fields}] * min(BATCH, count - first)
            added = self.ask("POST", "/tasks/batch?limit=extended", {"tasks": tasks})
            ids += [one["task"]["id"] for one in added["results"]]
        return ids

    def fail(self, queue, count):
        """Lets so many ready tasks of the queue fail."""
        while count > 0:
            claimed = self.ask("POST", "/tasks/claim/batch?limit=extended", {
                "commands": [queue], "count": min(BATCH, count), "leaseSeconds": 60})["tasks"]
            count -= len(claimed)
            self.ask("POST", "/tasks/batch/results?limit=extended", {"results": [
                {"taskId": task["id"], "status": "FAILED", "error": "x"} for task in claimed]})

    def add_dead(self, queue, count):
        ids = self.add(queue, count, maxAttempts=1)
        self.fail(queue, count)
        self.assertEqual(count, self.count(queue)["dlq"])
        # The next steps are later than the last death.
        time.sleep(0.01)
        return ids

    def count(self, queue):
        return self.ask("GET", "/admin/queues/" + queue)

    def begin(self, kind, **fields):
        return self.ask("POST", "/admin/operations", {"kind": kind, **fields}, status=202)["id"]

    def show(self, operation):
        return self.ask("GET", "/admin/operations/" + operation)

    def take(self, operation, verb, status=200):
        return self.ask("POST", f"/admin/operations/{operation}/{verb}", status=status)

    def wait_for(self, operation, condition, what):
        def found():
            shown = self.show(operation)
            return shown if condition(shown) else None
        return wait_until(found, 60, what)

    def wait_for_end(self, operation):
        return self.wait_for(operation, lambda o: o["status"] == "completed", "it ends")

    def redriven(self, task):
        events = self.ask("GET", f"/tasks/{task}/events")["events"]
        return sum(event["event"] == "redriven" for event in events)


class KilledOperation(OperationsTest):
    TASKS = 3000

    def check(self, *options):
        self.start(*options)
        tasks = self.add_dead("mail", self.TASKS)
        began = time.monotonic()
        operation = self.begin("redrive", queue="mail", rate=1000)
        self.assertLess(time.monotonic() - began, 2)
        again = 0
        for share in (0.2, 0.5, 0.8):
            self.wait_for(operation, lambda o, s=share: o["done"] >= s * self.TASKS, "it goes on")
            # Tasks that die again after the operation began stay dead.
            self.fail("mail", 20)
            again += 20
            self.restart(*options)
        ended = self.wait_for_end(operation)
        self.assertEqual((self.TASKS, 0), (ended["done"], ended["unchanged"]))
        left = self.count("mail")
        self.assertEqual((self.TASKS - again, again), (left["ready"], left["dlq"]))
        self.assertEqual([1] * len(tasks[::10]), [self.redriven(task) for task in tasks[::10]])
        audited = self.ask("GET", "/admin/audit")["commands"]
        self.assertEqual([self.TASKS], [
            one["changed"] for one in audited if one["action"] == "dead redrive"])

    def test_in_os_it_continues_and_changes_no_task_twice(self):
        self.check("--durability", "os")

    def test_in_sync_it_continues_and_changes_no_task_twice(self):
        self.check("--durability", "sync")

    def test_cancel_of_all_that_match_misses_none(self):
        self.start()
        self.add("mail", 1500)
        self.add("mail", 500, delaySeconds=3600)
        self.add("other", 10)
        operation = self.begin("cancel", queue="mail", rate=1500)
        self.wait_for(operation, lambda o: o["done"] >= 500, "it goes on")
        self.restart()
        ended = self.wait_for_end(operation)
        self.assertEqual((2000, 0), (ended["done"], ended["unchanged"]))
        self.assertEqual(0, self.count("mail")["ready"] + self.count("mail")["delayed"])
        self.assertEqual(10, self.count("other")["ready"])


class ChangedOperation(OperationsTest):
    def test_it_is_paused_and_resumed(self):
        self.start()
        self.add_dead("mail", 400)
        operation = self.begin("redrive", queue="mail", rate=200)
        self.wait_for(operation, lambda o: o["done"] >= 100, "it goes on")
        paused = self.take(operation, "pause")
        self.assertEqual("paused", paused["status"])
        self.take(operation, "pause", status=409)
        self.restart()
        shown = self.show(operation)
        self.assertEqual("paused", shown["status"])
        self.assertEqual(shown["done"], self.count("mail")["ready"])
        self.assertLess(shown["done"], 400)
        self.assertEqual("running", self.take(operation, "resume")["status"])
        self.assertEqual(400, self.wait_for_end(operation)["done"])
        events = [event["what"] for event in self.show(operation)["events"]]
        self.assertEqual(["start", "pause", "resume", "end"], events)

    def test_rate_is_kept(self):
        self.start()
        self.add_dead("mail", 1000)
        began = time.monotonic()
        operation = self.begin("redrive", queue="mail", rate=500)
        self.wait_for_end(operation)
        took = time.monotonic() - began
        self.assertGreater(took, 1.5)
        self.assertLess(took, 10)

    def test_canary_that_fails_again_stops_the_rest(self):
        self.start()
        self.add_dead("mail", 300)
        operation = self.begin("redrive", queue="mail", canary=20)
        self.wait_for(operation, lambda o: o["phase"] == "watching", "the canary waits")
        self.assertEqual(3, self.count("mail")["ready"])
        self.fail("mail", 1)
        shown = self.wait_for(operation, lambda o: o["status"] == "paused", "it stops")
        self.assertIn("failed again in 1 of 1 runs, more than 20 %", shown["reason"])
        self.assertEqual(298, self.count("mail")["dlq"])
        self.take(operation, "cancel")
        self.take(operation, "resume", status=409)

    def test_codeqctl_starts_and_changes_one(self):
        self.start()
        self.add_dead("mail", 100)
        url = f"http://127.0.0.1:{self.http.port}"

        def ctl(*words):
            return json.loads(self.cluster.ctl("--http", url, "--json", "operation", *words))

        began = ctl("start", "redrive", "--queue", "mail", "--rate", "1")
        self.assertEqual([began["id"]], [one["id"] for one in ctl("list")["operations"]])
        self.assertEqual("paused", ctl("pause", began["id"])["status"])
        self.assertEqual("running", ctl("resume", began["id"])["status"])
        self.assertEqual("cancelled", ctl("cancel", began["id"])["status"])
        self.assertEqual("cancelled", ctl("show", began["id"])["status"])
        table = self.cluster.ctl("--http", url, "operation", "list").decode()
        self.assertIn("cancelled", table)
        self.assertIn("--http", self.cluster.ctl_error("operation", "list"))


class OperationRights(OperationsTest):
    def create(self, subject, *fields):
        return self.cluster.ctl(
            "token", "create", "--file", self.cluster.path("tokens"), "--subject", subject,
            *fields).decode().strip()

    def setUp(self):
        super().setUp()
        self.bearer = self.create("boss", "--tenant", "a", "--role", "admin")
        self.others = {
            role: self.create(role, "--tenant", "a", "--role", role, *more) for role, *more in (
                ("producer",), ("worker", "--queues", "*"), ("reader",))}
        self.stranger = self.create("stranger", "--tenant", "b", "--role", "admin")
        self.start(access=("--tokens", self.cluster.path("tokens")))

    def test_only_admins_of_the_tenant_may(self):
        self.add_dead("mail", 20)
        for role, bearer in self.others.items():
            self.ask("POST", "/admin/operations", {"kind": "redrive"}, 403, bearer)
            self.ask("GET", "/admin/operations", None, 200 if role == "reader" else 403, bearer)
        operation = self.begin("redrive", rate=1)
        path = "/admin/operations/" + operation
        self.ask("GET", path, None, 404, self.stranger)
        for verb in ("pause", "resume", "cancel"):
            self.ask("POST", f"{path}/{verb}", None, 403, self.others["reader"])
            self.ask("POST", f"{path}/{verb}", None, 404, self.stranger)
        foreign = self.ask("POST", "/admin/operations", {"kind": "purge", "all": True}, 202,
                           self.stranger)
        wait_until(lambda: self.ask("GET", "/admin/operations/" + foreign["id"], None, 200,
                                    self.stranger)["status"] == "completed", 10, "it ends")
        self.assertLess(self.count("mail")["ready"], 15)
        self.assertEqual(20, self.count("mail")["ready"] + self.count("mail")["dlq"])

    def test_it_pauses_when_the_token_is_revoked(self):
        self.check_that_it_pauses()

    def test_it_pauses_also_beside_jwts(self):
        keys = self.cluster.path("keys.json")
        keys.write_text(issuer.key_set(issuer.Key(self.cluster.directory, "k")))
        self.coordinator.kill()
        self.start(access=("--tokens", self.cluster.path("tokens"), *issuer.options(keys)))
        self.check_that_it_pauses()

    def check_that_it_pauses(self):
        self.add_dead("mail", 500)
        operation = self.begin("redrive", rate=100)
        self.wait_for(operation, lambda o: o["done"] >= 50, "it goes on")
        listed = json.loads(self.cluster.ctl(
            "--json", "token", "list", "--file", self.cluster.path("tokens")))["tokens"]
        token = next(one["token"] for one in listed if one["subject"] == "boss")
        self.cluster.ctl("token", "revoke", "--file", self.cluster.path("tokens"), token)
        second = self.create("second", "--tenant", "a", "--role", "admin")
        self.coordinator.hang_up()
        self.bearer = second
        wait_until(lambda: self.http.call("GET", "/admin/operations", fields={
            "Authorization": "Bearer " + second}).status == 200, 10, "the tokens are read")
        shown = self.wait_for(operation, lambda o: o["status"] == "paused", "it pauses")
        self.assertIn("the token of boss was revoked", shown["reason"])
        self.assertLess(shown["done"], 500)
        self.take(operation, "resume")
        self.assertEqual(500, self.wait_for_end(operation)["done"])


if __name__ == "__main__":
    unittest.main()
