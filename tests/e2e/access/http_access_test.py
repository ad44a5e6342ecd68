# SPDX-License-Identifier: Apache-2.0
"""Tokens at the HTTP gateway: the same file, rights and rates as at the node port."""

import json
import threading
import unittest

import cluster
from gateway import Gateway


class HttpAccess(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.file = self.cluster.path("tokens")
        self.tokens = {
            name: self.create(name, *fields) for name, *fields in (
                ("ada", "--tenant", "a", "--role", "producer"),
                ("work", "--tenant", "a", "--role", "worker", "--queues", "mail"),
                ("boss", "--tenant", "a", "--role", "admin"),
                ("slow", "--tenant", "a", "--role", "producer", "--rate-producer", "1"),
                ("rival", "--tenant", "b", "--role", "admin"),
                ("thief", "--tenant", "b", "--role", "worker", "--queues", "*"),
                ("everybody", "--tenant", "*", "--role", "admin"))}
        port_file = self.cluster.path("http-port")
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file,
            access=("--tokens", self.file))
        self.http = Gateway(int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def create(self, subject, *fields):
        return self.cluster.ctl(
            "token", "create", "--file", self.file, "--subject", subject, *fields).decode().strip()

    def ask(self, bearer, method, path, body=None):
        fields = {"Authorization": "Bearer " + self.tokens.get(bearer, bearer)}
        return self.http.call(method, path, body, fields=fields)

    def enqueue(self, bearer, queue):
        return self.ask(bearer, "POST", "/tasks", {"command": queue, "payload": 1})

    def test_nobody_comes_in_without_a_token(self):
        self.assertEqual(self.http.post("/tasks", {"command": "mail", "payload": 1}).status, 401)
        self.assertEqual(self.enqueue("no such token", "mail").status, 401)
        self.assertEqual(self.http.raw("GET", "/healthz").status, 200)

    def test_role_decides(self):
        self.assertEqual(self.enqueue("work", "mail").status, 403)
        self.assertEqual(self.ask("ada", "POST", "/tasks/claim", {}).status, 403)
        self.assertEqual(self.ask("ada", "GET", "/admin/queues").status, 403)
        self.assertEqual(self.ask("boss", "GET", "/admin/queues").status, 200)

    def test_worker_gets_tasks_of_its_queues_only(self):
        self.assertEqual(self.enqueue("ada", "print").status, 202)
        mail = self.enqueue("ada", "mail").json["id"]

        refused = self.ask("work", "POST", "/tasks/claim", {"commands": ["print"]})
        self.assertEqual(
            (refused.status, refused.json["error"]),
            (403, 'event type not allowed: the token does not name queue "print"'))
        self.assertEqual(self.ask("work", "POST", "/tasks/claim", {}).json["id"], mail)
        self.assertEqual(self.ask("work", "POST", "/tasks/claim", {}).status, 204)

    def leased(self):
        """A task of tenant a, leased by its own worker."""
        task = self.enqueue("ada", "mail").json["id"]
        claimed = self.ask("work", "POST", "/tasks/claim", {"commands": ["mail"]})
        self.assertEqual(claimed.json["id"], task)
        return task

    def expect_unknown(self, bearer, route, task, body=None):
        self.assertEqual(self.ask(bearer, "POST", f"/tasks/{task}/{route}", body).status, 404)

    def test_another_tenant_cannot_see_a_task(self):
        task = self.enqueue("ada", "mail").json
        self.assertEqual(task["tenantId"], "a")

        for path in ("", "/result", "/explain", "/events"):
            self.assertEqual(self.ask("rival", "GET", f"/tasks/{task['id']}{path}").status, 404)

    def test_another_tenant_cannot_cancel_a_task(self):
        task = self.enqueue("ada", "mail").json["id"]
        self.expect_unknown("rival", "cancel", task)
        self.assertEqual(self.ask("ada", "GET", f"/tasks/{task}").json["status"], "PENDING")

    def test_another_tenant_cannot_claim_a_task(self):
        self.enqueue("ada", "mail")
        for commands in ({}, {"commands": ["mail"]}):
            self.assertEqual(self.ask("thief", "POST", "/tasks/claim", commands).status, 204)

    def test_another_tenant_cannot_beat_for_a_task(self):
        task = self.leased()
        self.expect_unknown("thief", "heartbeat", task, {"extendSeconds": 30})

    def test_another_tenant_cannot_complete_or_give_back_a_task(self):
        task = self.leased()
        self.expect_unknown("thief", "result", task, {"status": "COMPLETED", "result": 1})
        self.expect_unknown("thief", "abandon", task)
        self.expect_unknown("thief", "nack", task, {})
        mine = self.ask("work", "POST", f"/tasks/{task}/result",
                        {"status": "COMPLETED", "result": 2})
        self.assertEqual(mine.status, 200)

    def test_another_tenant_cannot_list_a_task(self):
        self.enqueue("ada", "mail")
        for path in ("/tasks", "/tasks?queue=mail"):
            self.assertEqual(self.ask("rival", "GET", path).json["tasks"], [])

    def test_another_tenant_cannot_count_a_task(self):
        self.enqueue("ada", "mail")
        self.assertNotIn("mail", self.ask("rival", "GET", "/admin/queues").text)
        self.assertIn("mail", self.ask("boss", "GET", "/admin/queues").text)

    def test_key_of_many_clients_at_once_is_one_task_per_tenant(self):
        answers = []

        def enqueue(bearer, number):
            answers.append((bearer, self.ask(bearer, "POST", "/tasks", {
                "command": "q", "payload": number, "idempotencyKey": "K"})))

        clients = [threading.Thread(target=enqueue, args=(("boss", "rival")[n % 2], n))
                   for n in range(64)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

        self.assertEqual({202}, {answer.status for _, answer in answers})
        ids = {(bearer, answer.json["id"]) for bearer, answer in answers}
        self.assertEqual(["boss", "rival"], sorted(bearer for bearer, _ in ids))
        self.assertEqual(2, len({task for _, task in ids}))
        self.assertEqual(2, sum(answer.json["outcome"] == "created" for _, answer in answers))
        for bearer, task in ids:
            listed = self.ask(bearer, "GET", "/tasks?queue=q").json["tasks"]
            self.assertEqual([task], [one["id"] for one in listed])

    def test_queues_of_a_workers_token_bound_what_it_reads(self):
        mail = self.enqueue("ada", "mail").json["id"]
        other = self.enqueue("ada", "print").json["id"]

        self.assertEqual(200, self.ask("work", "GET", f"/tasks/{mail}").status)
        for what in ("", "/result", "/explain", "/events"):
            self.assertEqual(404, self.ask("work", "GET", f"/tasks/{other}{what}").status)
        self.assertEqual([mail], [task["id"] for task in self.ask(
            "work", "GET", "/tasks").json["tasks"]])
        self.assertEqual(403, self.ask("work", "GET", "/tasks?queue=print").status)

    def test_counts_of_all_tenants_are_for_their_admins_only(self):
        self.enqueue("ada", "mail")

        shards = self.ask("rival", "GET", "/admin/shards").json["shards"]
        self.assertEqual([{"shard": n, "queues": 0} for n in range(12)], shards)
        fields = {"Authorization": "Bearer " + self.tokens["rival"]}
        self.assertEqual(403, self.http.raw("GET", "/metrics", fields=fields).status)
        fields = {"Authorization": "Bearer " + self.tokens["everybody"]}
        self.assertIn('tenant="a"', self.http.raw("GET", "/metrics", fields=fields).text)

    def test_rate_counts_each_task_of_a_batch(self):
        tasks = [{"command": "mail", "payload": n} for n in range(20)]
        self.assertEqual(200, self.ask("slow", "POST", "/tasks/batch", {"tasks": tasks}).status)

        refused = self.enqueue("slow", "mail")

        self.assertEqual(429, refused.status)
        self.assertGreater(refused.json["retryAfterSeconds"], 10)

    def test_rate_is_kept(self):
        self.assertEqual(self.enqueue("slow", "mail").status, 202)

        refused = self.enqueue("slow", "mail")

        self.assertEqual((refused.status, refused.fields["retry-after"]), (429, "1"))
        self.assertEqual(refused.json["scope"], "producer")

    def test_revoked_token_is_refused_after_a_reload(self):
        listed = json.loads(self.cluster.ctl("--json", "token", "list", "--file", self.file))
        name = next(token["token"] for token in listed["tokens"] if token["subject"] == "ada")
        self.cluster.ctl("token", "revoke", "--file", self.file, name)
        self.coordinator.hang_up()

        cluster.wait_until(
            lambda: self.enqueue("ada", "mail").status == 401, 10, "the token is refused")


if __name__ == "__main__":
    unittest.main()
