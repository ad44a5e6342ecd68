# SPDX-License-Identifier: Apache-2.0
"""Each change that the dashboard offers, up to what the coordinator says afterwards."""

import cluster
import dashboard


class TaskActions(dashboard.DashboardTest):
    def open_task(self, task):
        self.show(f"tasks/{task}", "Timeline")

    def test_cancel_asks_first(self):
        task = self.enqueue("mail")
        self.open_task(task)
        self.browser.click("Cancel")
        self.browser.wait_text("A cancelled task does not run again")
        self.browser.click("Go back")
        self.assertEqual("ready", self.state(task))
        self.browser.click("Cancel")
        self.browser.click("Cancel this task")
        self.wait_state(task, "cancelled")
        self.browser.wait_text("Cancelled")

    def test_promote_runs_a_deferred_task_now(self):
        task = self.enqueue("mail", delaySeconds=3600, allowPromotion=True)
        self.open_task(task)
        self.browser.click("Run now")
        self.browser.wait_text("may start now")
        self.wait_state(task, "ready")

    def test_redrive_and_purge_of_one_dead_task(self):
        task = self.bury("mail", "no order 17")
        self.open_task(task)
        self.browser.click("Redrive")
        self.browser.click("Redrive this task")
        self.wait_state(task, "ready")
        other = self.bury("bills", "no order 17")
        self.open_task(other)
        self.browser.click("Purge")
        self.browser.click("Purge this task")
        cluster.wait_until(lambda: self.http.get(f"/tasks/{other}").status == 404, 10, "the end")
        self.may_lose_connection = True
        self.browser.wait_text("There is no such task")

    def test_force_completes_a_running_task(self):
        task = self.enqueue("mail")
        self.http.post("/tasks/claim", {"queues": ["mail"], "leaseSeconds": 600})
        self.open_task(task)
        self.browser.click("Force")
        self.browser.run("document.querySelector('dialog select').value = 'complete'")
        self.browser.type("dialog textarea", '{"by":"hand"}')
        self.browser.click("End the attempt")
        self.wait_state(task, "completed")
        self.browser.wait_text('"by": "hand"')

    def test_chosen_tasks_are_changed_together(self):
        tasks = [self.enqueue("mail") for _ in range(5)]
        self.show("tasks?queue=mail")
        self.browser.wait("return document.querySelectorAll('tbody tr').length === 5", "5 tasks")
        self.browser.run(
            "[...document.querySelectorAll('td.check input')].slice(0, 3)"
            ".forEach((one) => one.click())")
        self.browser.wait_text("3 tasks chosen")
        self.browser.click("Cancel 3")
        self.browser.click("Cancel 3 tasks")
        self.browser.wait_text("3 tasks done")
        states = [self.state(task) for task in tasks]
        self.assertEqual({"cancelled": 3, "ready": 2},
                         {state: states.count(state) for state in set(states)})

    def test_progress_of_an_attempt_is_shown_while_it_runs(self):
        task = self.enqueue("mail")
        self.http.post("/tasks/claim", {"queues": ["mail"], "leaseSeconds": 60})
        self.open_task(task)
        self.browser.wait_text("running")
        def says_progress():
            self.http.post(f"/tasks/{task}/progress", {"percent": 70, "note": "page 41 of 60"})
            return "page 41 of 60" in self.browser.text()
        cluster.wait_until(says_progress, 10, "progress on the page")
        self.assertIn("70 %", self.browser.text())
        self.http.post(f"/tasks/{task}/result", {"status": "COMPLETED", "result": {"pages": 60}})
        self.browser.wait_gone("page 41 of 60")
        self.browser.wait_text('"pages": 60')


class QueueActions(dashboard.DashboardTest):
    def test_pause_and_resume(self):
        self.enqueue("mail")
        self.show("queues/mail", "Why tasks wait")
        self.browser.click("Pause")
        self.browser.wait_text("an operator paused the queue")
        self.assertTrue(self.http.get("/admin/queues/mail").json["paused"])
        self.browser.click("Resume")
        self.browser.wait_gone("an operator paused the queue")
        self.assertFalse(self.http.get("/admin/queues/mail").json["paused"])
        self.show("queues", "mail")
        self.browser.click("Pause mail", "button")
        self.browser.click("Resume mail", "button")

    def test_settings(self):
        self.enqueue("mail")
        self.show("queues/mail", "Why tasks wait")
        self.browser.click("Settings", "button")
        self.browser.type("dialog input[name=maxLeased]", "24")
        self.browser.type("dialog input[name=runTimeoutMs]", "90")
        self.browser.click("Save")
        self.browser.wait_text("1 min 30 s")
        settings = self.http.get("/admin/queues/mail/settings").json["settings"]
        self.assertEqual((24, 90000), (settings["maxLeased"], settings["runTimeoutMs"]))

    def test_a_wrong_setting_is_refused_with_the_servers_words(self):
        self.enqueue("mail")
        self.show("queues/mail", "Why tasks wait")
        self.browser.click("Settings", "button")
        self.browser.run("document.querySelector('dialog form').noValidate = true")
        self.browser.type("dialog input[name=maxAttempts]", "5000")
        self.may_lose_connection = True
        self.browser.click("Save")
        self.browser.wait_text("maxAttempts")
        self.browser.wait_text("1..1000")

    def test_purge_wants_the_name_typed(self):
        task = self.enqueue("mail")
        self.show("queues/mail", "Why tasks wait")
        self.browser.click("Purge")
        self.browser.wait_text("Type mail to confirm")
        self.assertTrue(self.browser.run(
            "return document.querySelector('dialog .danger').disabled"))
        self.browser.type("dialog input[type=text]", "mail")
        self.browser.click("Remove 1 task")
        cluster.wait_until(lambda: self.http.get(f"/tasks/{task}").status == 404, 10, "the end")


class WorkerActions(dashboard.DashboardTest):
    def worker(self):
        found = self.http.get("/admin/workers").json["workers"]
        return found[0] if found else None

    def test_drain_asks_first_and_ends_by_hand(self):
        self.cluster.start_worker("w1")
        cluster.wait_until(self.worker, 10, "the worker")
        self.show("workers", "w1")
        self.browser.click("Drain w1", "button")
        self.browser.wait_text("Drain w1?")
        self.browser.click("Go back")
        self.assertFalse(self.worker()["draining"])
        self.browser.click("Drain w1", "button")
        self.browser.click("Drain w1", "dialog button")
        self.browser.wait_text("draining")
        self.assertTrue(self.worker()["draining"])
        self.browser.click("Resume w1", "button")
        self.browser.wait_gone("draining")
        self.assertFalse(self.worker()["draining"])


class DeadLetters(dashboard.DashboardTest):
    def test_redrive_of_one_kind_says_how_many(self):
        orders = [self.bury("mail", f"no order {number}") for number in range(3)]
        other = self.bury("mail", "connection refused")
        self.show("dead", "no order")
        self.browser.click("Redrive", "button", within="tbody tr:first-child")
        self.browser.wait_text("Redrive 3 dead tasks?")
        self.browser.type("dialog input[name=rate]", "100")
        self.browser.click("Redrive 3 dead tasks")
        self.wait_operation_end()
        self.assertEqual({"ready"}, {self.state(task) for task in orders})
        self.assertEqual("dead", self.state(other))

    def test_redrive_of_a_few_first(self):
        tasks = [self.bury("mail", f"no order {number}") for number in range(4)]
        self.show("dead?queue=mail", "no order")
        self.browser.click("Redrive", "button", within=".page-head")
        self.browser.type("dialog input[name=limit]", "1")
        self.browser.click("Redrive 4 dead tasks")
        self.wait_operation_end()
        self.assertEqual(3, [self.state(task) for task in tasks].count("dead"))

    def test_purge_wants_a_word(self):
        task = self.bury("mail", "no order 1")
        self.show("dead", "no order")
        self.browser.click("Purge", "button", within=".page-head")
        self.browser.type("dialog input[type=text]", "purge")
        self.browser.click("Purge 1 dead task")
        cluster.wait_until(lambda: self.http.get(f"/tasks/{task}").status == 404, 10, "the end")
        self.wait_operation_end()


class Operations(dashboard.DashboardTest):
    def add_dead(self, count):
        return [self.bury("mail", f"no order {number}", maxAttempts=1) for number in range(count)]

    def test_redrive_at_a_rate_is_paused_resumed_and_ended(self):
        self.add_dead(30)
        self.show("dead?queue=mail", "no order")
        self.browser.click("Redrive", "button", within=".page-head")
        self.browser.type("dialog input[name=rate]", "1")
        self.browser.click("Redrive 30 dead tasks")
        self.browser.wait_text("running")
        self.browser.wait_text("Left alone")
        self.browser.click("Pause")
        self.browser.wait_text("paused by a user")
        self.shoot("operation")
        self.browser.click("Resume")
        self.browser.wait_gone("paused by a user")
        self.show("operations", "Redrive")
        self.shoot("operations")
        self.browser.click("End", "button")
        self.browser.wait_text("What it has changed stays as it is")
        self.browser.click("End the operation")
        self.browser.wait_text("cancelled")
        one = self.http.get("/admin/operations").json["operations"][0]
        self.assertEqual("cancelled", one["status"])
        self.assertLess(one["done"], 30)

    def test_canary_that_fails_again_says_why_it_stopped(self):
        self.add_dead(3)
        self.show("dead?queue=mail", "no order")
        self.browser.click("Redrive", "button", within=".page-head")
        self.browser.type("dialog input[name=canary]", "10")
        self.browser.click("Redrive 3 dead tasks")
        self.browser.wait_text("waits until the canary ran")
        claimed = self.http.post("/tasks/claim", {"queues": ["mail"], "waitSeconds": 10}).json
        self.http.post(f"/tasks/{claimed['id']}/result", {"status": "FAILED", "error": "no"})
        self.browser.wait_text("the canary failed again in 1 of 1 runs, more than 10 %")
        self.shoot("operation-canary")

    def test_all_that_match_are_cancelled(self):
        tasks = [self.enqueue("mail") for _ in range(5)]
        other = self.enqueue("bills")
        self.show("tasks?queue=mail", "mail")
        self.browser.click("Cancel all")
        self.browser.wait_text("Cancel 5 live tasks?")
        self.browser.type("dialog input[type=text]", "cancel")
        self.browser.click("Cancel 5 live tasks")
        for task in tasks:
            self.wait_state(task, "cancelled")
        self.assertEqual("ready", self.state(other))

    def test_all_that_match_run_now(self):
        tasks = [self.enqueue("mail", delaySeconds=3600, allowPromotion=True) for _ in range(2)]
        self.show("tasks?state=scheduled", "mail")
        self.browser.click("Run all now")
        self.browser.click("Run now 2 waiting tasks")
        for task in tasks:
            self.wait_state(task, "ready")


class Limits(dashboard.DashboardTest):
    def key(self):
        return self.http.get("/admin/limits/stripe/keys").json["keys"][0]

    def test_define_close_open_and_delete(self):
        self.show("limits", "No limit yet")
        self.browser.click("Define a limit")
        self.browser.type("dialog input[name=name]", "stripe")
        self.browser.type("dialog input[name=concurrency]", "1")
        self.browser.click("Define it")
        self.browser.wait_text("stripe is set")
        self.assertEqual(1, self.http.get("/admin/limits/stripe").json["concurrency"])
        self.http.enqueue("mail", 1, limits=[{"name": "stripe", "key": "a/b"}])
        self.http.claim("mail")
        self.show("limits/stripe", "a/b")
        self.browser.click("Close")
        self.browser.click("Close it")
        self.browser.wait_text("a/b is closed")
        self.assertIn("closedUntil", self.key())
        self.browser.click("Open")
        self.browser.wait_text("a/b is open")
        self.browser.click("Delete")
        self.browser.type("dialog input[type=text]", "stripe")
        self.browser.click("Delete it")
        self.browser.wait_text("No limit yet")
        self.assertEqual(404, self.http.get("/admin/limits/stripe").status)


class Schedules(dashboard.DashboardTest):
    def setUp(self):
        super().setUp()
        self.http.call("PUT", "/schedules/nightly", {
            "cron": "30 2 * * *", "task": {"queue": "reports", "payload": 1}})

    def test_run_now_pause_resume_and_delete(self):
        self.show("schedules/nightly", "Next times")
        self.browser.click("Run now")
        self.browser.click("Run it now")
        self.browser.wait_text("nightly has fired")
        self.assertEqual(1, len(self.http.get("/tasks?queue=reports").json["tasks"]))
        self.browser.click("Pause")
        self.browser.wait_text("nightly is paused")
        self.assertTrue(self.http.get("/schedules/nightly").json["paused"])
        self.browser.click("Resume")
        self.browser.wait_text("nightly is resumed")
        self.browser.click("Delete")
        self.browser.type("dialog input[type=text]", "nightly")
        self.browser.click("Delete it")
        self.browser.wait_text("No schedule yet")
        self.assertEqual(404, self.http.get("/schedules/nightly").status)
        self.may_lose_connection = True
