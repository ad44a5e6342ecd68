# SPDX-License-Identifier: Apache-2.0
"""Signing in, and what each role finds: what it may not do is not there."""

import json

import dashboard
from gateway import Gateway

PAGES = """return [...document.querySelectorAll('nav li a > span:first-of-type')]
  .map((one) => one.innerText)"""
BUTTONS = """return [...document.querySelectorAll('main button')]
  .map((one) => one.innerText.trim())"""


class Roles(dashboard.DashboardTest):
    def setUp(self):
        self.tokens = {}
        super().setUp()

    def start_coordinator(self):
        file = self.cluster.path("tokens")
        if not self.tokens:
            self.tokens = {
                name: self.cluster.ctl("token", "create", "--file", file, "--subject", name,
                                       *fields).decode().strip() for name, *fields in (
                    ("anna", "--tenant", "a", "--role", "admin"),
                    ("rita", "--tenant", "a", "--role", "reader"),
                    ("paul", "--tenant", "a", "--role", "producer"),
                    ("walt", "--tenant", "a", "--role", "worker", "--queues", "mail"),
                    ("olga", "--tenant", "b", "--role", "admin"),
                    ("root", "--tenant", "*", "--role", "admin"))}
        self.access = ("--tokens", file)
        super().start_coordinator()
        self.admin = self.client("anna")

    def client(self, name):
        token = self.tokens[name]

        class Client(Gateway):
            def raw(self, method, target, body=None, fields=None, connection=None):
                own = {**(fields or {}), "Authorization": f"Bearer {token}"}
                return super().raw(method, target, body, own, connection)
        return Client(self.http_port)

    def test_wrong_token_is_refused_and_the_right_one_is_kept_for_the_tab(self):
        self.may_lose_connection = True
        self.browser.open(f"{self.origin}/#/queues")
        self.browser.wait_text("Sign in to codeq")
        self.browser.type("input[name=token]", "wrong", enter=True)
        self.browser.wait_text("does not accept this token")
        self.shoot("login")
        self.browser.type("input[name=token]", self.tokens["anna"], enter=True)
        # It goes on to the address that was asked for.
        self.browser.wait_text("No queue yet")
        self.assertNotIn(self.tokens["anna"], self.browser.run("return location.href"))
        self.browser.call("POST", "/refresh")
        self.browser.wait_text("anna")
        self.browser.click("Sign out")
        self.browser.wait_text("Sign in to codeq")
        self.assertIsNone(self.browser.run("return sessionStorage.getItem('codeq-token')"))

    def test_admin_of_a_tenant_sees_that_tenant_alone(self):
        self.may_lose_connection = True
        self.admin.enqueue("mail", 1)
        self.client("olga").enqueue("secrets", 1)
        self.sign_in(self.tokens["anna"])
        self.show("queues", "mail")
        self.assertNotIn("secrets", self.browser.text())
        # The metrics are of the whole process.
        self.assertEqual(["Overview", "Queues", "Tasks", "Dead letters", "Operations",
                          "Workers", "Schedules", "Limits", "Audit"], self.browser.run(PAGES))

    def test_admin_of_all_tenants_sees_the_store(self):
        self.may_lose_connection = True
        self.sign_in(self.tokens["root"])
        self.show("store", "free on the disk")
        self.assertIn("Store", self.browser.run(PAGES))

    def test_reader_finds_no_buttons_that_change_something(self):
        self.may_lose_connection = True
        task = self.admin.enqueue("mail", 1)["id"]
        dead = self.admin.enqueue("bills", 1)["id"]
        claimed = self.admin.post("/tasks/claim", {"queues": ["bills"]}).json
        self.admin.post(f"/tasks/{dead}/result", {
            "status": "FAILED", "error": "no", "permanent": True,
            "fencingToken": claimed["fencingToken"]})
        self.admin.call("PUT", "/schedules/nightly", {
            "cron": "30 2 * * *", "task": {"queue": "reports", "payload": 1}})
        self.admin.call("PUT", "/admin/limits/stripe", {"concurrency": 0})
        self.admin.post("/admin/limits/stripe/keys/acct_42/close", {"seconds": 3600})
        self.sign_in(self.tokens["rita"])
        forbidden = {
            "Pause", "Purge", "Settings", "Cancel", "Redrive", "Force", "Run now", "Delete",
            "Cancel all", "Run all now", "Resume", "End", "Define a limit", "Change", "Close"}
        self.assertEqual(202, self.admin.post(
            "/admin/operations", {"kind": "redrive", "queue": "none"}).status)
        pages = {
            "queues": "mail", "queues/mail": "Why tasks wait", f"tasks/{task}": "Timeline",
            f"tasks/{dead}": "Why it died", "dead": "no", "schedules": "nightly",
            "schedules/nightly": "Next times", "tasks": "mail", "operations": "Redrive",
            "limits": "stripe", "limits/stripe": "acct_42"}
        for page, text in pages.items():
            with self.subTest(page):
                self.show(page, text)
                self.browser.wait("return !document.querySelector('.loading')", "data")
                self.assertEqual(set(), forbidden & set(self.browser.run(BUTTONS)))
                self.assertEqual([], self.browser.find("main td input[type=checkbox]"))

    def test_producer_finds_tasks_alone(self):
        self.may_lose_connection = True
        task = self.client("paul").enqueue("mail", 1)["id"]
        self.sign_in(self.tokens["paul"])
        self.browser.wait_text("mail")
        self.assertEqual(["Tasks"], self.browser.run(PAGES))
        self.show(f"tasks/{task}", "Timeline")
        self.assertIn("Cancel", self.browser.run(BUTTONS))
        self.assertNotIn("Force", self.browser.run(BUTTONS))
        self.show("queues", "This address leads to no page")

    def test_worker_sees_its_queues_tasks(self):
        self.may_lose_connection = True
        self.admin.enqueue("mail", 1)
        self.admin.enqueue("bills", 1)
        self.sign_in(self.tokens["walt"])
        self.browser.wait_text("mail")
        self.assertNotIn("bills", self.browser.text())

    def digest(self, subject):
        """What the file says of a token, which names it to the programs."""
        listed = json.loads(self.cluster.ctl(
            "--json", "token", "list", "--file", self.cluster.path("tokens")))
        return next(one["token"] for one in listed["tokens"] if one["subject"] == subject)

    def test_page_ends_with_its_token(self):
        self.may_lose_connection = True
        self.sign_in(self.tokens["anna"])
        self.show("queues", "No queue yet")
        file = self.cluster.path("tokens")
        self.cluster.ctl("token", "revoke", "--file", file, self.digest("anna"))
        self.cluster.coordinator.hang_up()
        self.browser.wait_text("not valid any more", 30)
