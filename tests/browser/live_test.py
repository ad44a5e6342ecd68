# SPDX-License-Identifier: Apache-2.0
"""What changes shows by itself: the event stream, its end and its return."""

import json
import time

import cluster
import dashboard

EVENTS = "/v1/codeq/admin/live"


class Live(dashboard.DashboardTest):
    def test_changes_show_without_a_reload(self):
        self.enqueue("mail")
        self.show("queues/mail", "1 task waits")
        self.browser.run("window.isSame = true")
        for _ in range(4):
            self.enqueue("mail")
        self.browser.wait_text("5 tasks wait")
        self.http.post("/admin/queues/mail/pause")
        self.browser.wait_text("an operator paused the queue")
        self.assertTrue(self.browser.run("return window.isSame === true"))

    def test_what_is_typed_stays_while_the_page_changes(self):
        self.enqueue("mail")
        self.show("queues", "mail")
        self.browser.type("main input[type=search]", "ma")
        self.browser.run("document.querySelector('main input[type=search]').focus()")
        for number in range(3):
            self.enqueue("mail")
            self.browser.wait(
                f"return document.querySelector('tbody tr').innerText.includes('{number + 2}')",
                "a change")
        self.assertEqual("ma", self.browser.run("return document.activeElement.value"))

    def test_page_comes_back_by_itself_after_a_restart(self):
        task = self.enqueue("mail")
        self.show("queues/mail", "1 task waits")
        self.may_lose_connection = True
        self.cluster.coordinator.kill()
        self.browser.wait(
            "return document.querySelector('.live').innerText.includes('reconnecting')",
            "loss of the connection")
        self.start_coordinator()
        self.browser.wait("return document.querySelector('.live').innerText === 'live'",
                          "return of the connection", 20)
        self.http.post(f"/tasks/{task}/cancel")
        self.browser.wait_text("Nothing waits")

    def test_first_page_waits_for_a_coordinator_that_starts(self):
        self.enqueue("mail")
        self.show("tasks?queue=mail", "1")
        self.may_lose_connection = True
        self.cluster.coordinator.kill()
        self.browser.wait_text("the coordinator does not answer")
        self.start_coordinator()
        self.wait_rows(1)

    def test_all_dashboards_share_one_stream_of_changes(self):
        """The second event of a stream has only what changed."""
        for number in range(20):
            self.enqueue(f"q{number}")
        connection, answer = self.listen("queues")
        first = self.read_event(answer)
        self.assertTrue(first["whole"])
        self.assertEqual(20, len(first["rows"]))
        self.enqueue("q7")
        changed = next(event for event in iter(lambda: self.read_event(answer), None)
                       if any(row[0] == "q7" for row in event["rows"]))
        self.assertEqual((False, 1), (changed["whole"], len(changed["rows"])))
        connection.close()

    def test_streams_of_a_tenant_are_bounded_and_named(self):
        opened = []
        refused = None
        for _ in range(140):
            connection, answer = self.listen("workers")
            if answer.status == 200:
                opened.append(connection)
                continue
            refused = (answer.status, answer.read().decode())
            connection.close()
            break
        self.assertEqual(128, len(opened))
        self.assertEqual(503, refused[0])
        self.assertIn("all tenants share 256", refused[1])
        for connection in opened:
            connection.close()

        def comes_back():
            connection, answer = self.listen("workers")
            connection.close()
            return answer.status == 200
        cluster.wait_until(comes_back, 10, "the places of streams that ended")

    def test_a_client_that_does_not_read_costs_nothing(self):
        """Events that it misses are left out; the coordinator's memory does not grow."""
        for number in range(300):
            self.enqueue(f"queue-with-a-long-name-{number:04}")
        sleepers = [self.listen("queues")[0] for _ in range(40)]
        before = self.cluster.coordinator.rss_bytes()
        end = time.monotonic() + 6
        number = 0
        while time.monotonic() < end:
            number += 1
            self.enqueue(f"queue-with-a-long-name-{number % 300:04}")
        self.assertLess(self.cluster.coordinator.rss_bytes() - before,
                        (64 << 20) + cluster.SANITIZER_BYTES)
        for connection in sleepers:
            connection.close()

    def listen(self, topics):
        connection = self.http.connect()
        connection.request("GET", f"{EVENTS}?topics={topics}")
        return connection, connection.getresponse()

    @staticmethod
    def read_event(answer):
        while True:
            line = answer.readline().decode()
            if line.startswith("data: "):
                return json.loads(line[6:])


class History(dashboard.DashboardTest):
    def test_counts_what_happened_in_each_step(self):
        self.cluster.start_worker("w1")
        self.enqueue("echo")

        def points():
            for _ in range(5):
                self.enqueue("echo")
            return self.http.get("/admin/history?queue=echo").json["points"]
        found = cluster.wait_until(points, 30, "a point")
        columns = self.http.get("/admin/history?span=day").json["columns"]
        point = dict(zip(columns, found[-1]))
        self.assertGreater(point["enqueued"], 0)
        self.assertGreater(point["completed"], 0)
        self.assertIsNotNone(point["dispatchP95Ms"])
        unknown = self.http.get("/admin/history?queue=none").json
        self.assertEqual((False, []), (unknown["recorded"], unknown["points"]))
