# SPDX-License-Identifier: Apache-2.0
"""Each page of the dashboard, with the data of a real coordinator and a real worker."""

import json

import dashboard

_ROLES = """
  const bad = [];
  const nameOf = (one) => one.getAttribute('aria-label') || one.getAttribute('title')
    || one.innerText?.trim() || one.labels?.[0]?.innerText?.trim()
    || one.getAttribute('placeholder');
  for (const one of document.querySelectorAll('button, a[href], input, select, textarea'))
    if (one.offsetParent !== null && !nameOf(one)) bad.push(one.outerHTML.slice(0, 120));
  for (const one of document.querySelectorAll('table'))
    if (!one.getAttribute('aria-label')) bad.push('a table without a label');
  if (document.querySelectorAll('main').length !== 1) bad.push('not one main');
  return bad;"""

# Contrast of each text with the background that is behind it.
_CONTRAST = """
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => {
    const part = top[3] / 255;
    return [0, 1, 2].map((at) => top[at] * part + below[at] * (1 - part));
  };
  const light = (color) => {
    const [r, g, b] = color.map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.unshift(rgba(getComputedStyle(at).backgroundColor));
    }
    return layers.reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const bad = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const style = getComputedStyle(element);
    if (!walker.currentNode.nodeValue.trim() || element.closest('[hidden], svg, noscript, script')
      || element.offsetParent === null || style.visibility === 'hidden') continue;
    const below = behind(element);
    const [a, b] = [light(over(rgba(style.color), below)), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 18.6;
    if (ratio < (isLarge ? 3 : 4.5))
      bad.add([ratio.toFixed(2), element.className, element.innerText.slice(0, 30)].join(' '));
  }
  return [...bad];"""


class Pages(dashboard.DashboardTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_worker("w1", "--slots", "4")
        self.cluster.start_worker("w2", "--slots", "2")
        self.done = self.enqueue("echo", {"user": 7, "tags": ["a", None, True, 2.5]}, priority=5,
                                 headers={"traceparent": "00-1"}, group="account-3")
        self.dead = self.bury("mail", "no order 17")
        self.bury("mail", "no order 18")
        self.bury("mail", "connection refused by smtp after 30 ms")
        self.later = self.enqueue("invoices", delaySeconds=600, key="invoice-9")
        for number in range(20):
            self.enqueue("reports", {"month": number})
        self.http.post("/admin/queues/reports/pause")
        self.lonely = self.enqueue("lonely")
        self.wait_state(self.done, "completed")
        self.assertEqual(201, self.http.call("PUT", "/schedules/nightly", {
            "cron": "30 2 * * *", "zone": "Europe/Berlin",
            "task": {"queue": "echo", "payload": {"kind": "nightly"}}}).status)
        self.http.post("/schedules/nightly/run")

    def check(self, name):
        """A picture, names of all controls, contrast in both colours."""
        self.browser.wait("return !document.querySelector('.loading')", f"data of {name}")
        self.shoot(name)
        self.assertEqual([], self.browser.run(_ROLES), name)
        for theme in ("light", "dark"):
            self.set_theme(theme)
            self.assertEqual([], self.browser.run(_CONTRAST), f"{name} {theme}")

    def test_overview_says_what_is_stuck(self):
        self.show("overview", "No worker serves lonely")
        text = self.browser.text()
        self.assertIn("reports is paused", text)
        self.assertIn("20 tasks wait", text)
        # The first point comes after the second step of the history.
        self.browser.wait_text("completed", 5)
        self.browser.wait("return document.querySelectorAll('.chart .curve').length > 0",
                          "points of the history", 40)
        self.check("overview")

    def test_queues_are_listed_filtered_and_sorted(self):
        self.show("queues", "reports")
        self.check("queues")
        self.browser.click("Paused", "button")
        self.wait_rows(1)
        self.assertIn("show=paused", self.browser.run("return location.hash"))
        self.browser.click("All", "button")
        self.browser.type("main input[type=search]", "invo")
        self.wait_rows(1)
        self.show("queues?sort=0", "reports")
        names = self.browser.run(
            "return [...document.querySelectorAll('tbody tr td:first-child a')].map((a) => a.text)")
        self.assertEqual(sorted(names, reverse=True), names)

    def test_queue_says_why_its_tasks_wait(self):
        self.show("queues/reports", "an operator paused the queue")
        reasons = self.browser.run(
            "return [...document.querySelectorAll('.reasons b')]"
            ".map((one) => Number(one.innerText))")
        self.assertEqual(20, sum(reasons))
        self.check("queue")
        self.show("queues/lonely", "no connected worker claims from it")
        self.may_lose_connection = True
        self.show("queues/nothing", "There is no queue nothing")

    def test_tasks_are_found_by_every_filter(self):
        self.show("tasks", "by w")
        self.check("tasks")
        filters = {
            "queue=mail": 3, "state=dead": 3, "queue=echo&group=account-3": 1, "key=invoice-9": 1,
            "header=traceparent%3D00-1": 1, "error=no%20order": 2, "worker=w1": 1,
            "queue=reports&order=oldest": 20, "until=2020-01-01T00:00:00Z": 0,
            "since=2020-01-01T00:00:00Z&queue=mail": 3}
        worker = self.http.get("/tasks?queue=echo&group=account-3").json["tasks"][0]["workerId"]
        del filters["worker=w1"]
        by_worker = f"worker={worker}"
        filters[by_worker] = len(self.http.get(f"/tasks?{by_worker}").json["tasks"])
        for query, count in filters.items():
            with self.subTest(query):
                self.show(f"tasks?{query}")
                self.wait_rows(count)

    def test_search_finds_by_id_and_by_key(self):
        self.show("tasks", "Tasks")
        self.browser.press("/")
        self.browser.wait("return document.activeElement.id === 'find'", "focus of the search")
        self.browser.type("#find", self.done, enter=True)
        self.browser.wait_text("Timeline")
        self.assertIn(self.done, self.browser.run("return location.hash"))
        self.browser.type("#find", "invoice-9", enter=True)
        self.wait_rows(1)

    def test_task_shows_what_it_carries_and_what_happened(self):
        self.show(f"tasks/{self.done}", "granted")
        self.browser.wait_text('"user": 7')
        text = self.browser.text()
        for wanted in ("traceparent", "account-3", "1 of 5", "Result", "completed"):
            self.assertIn(wanted, text)
        self.check("task")
        self.show(f"tasks/{self.dead}", "Why it died")
        self.browser.wait_text("no order 17")
        self.check("task-dead")
        self.show(f"tasks/{self.later}", "Why it does not run")
        self.show(f"tasks/{self.lonely}", "No connected worker claims from queue")
        self.may_lose_connection = True
        self.show("tasks/00000080-0000-0001-cd80-000000000009", "There is no such task")

    def test_dead_letters_are_gathered_by_what_killed_them(self):
        self.show("dead", "no order")
        self.browser.wait("return document.querySelectorAll('.kind').length === 2",
                          "two kinds of errors")
        self.check("dead")

    def test_operations_show_their_progress(self):
        begun = self.http.post("/admin/operations", {
            "kind": "redrive", "queue": "mail", "rate": 1, "canary": 5})
        self.http.post("/admin/operations", {"kind": "cancel", "queue": "reports", "error": "none"})
        self.show("operations", "queue mail")
        self.check("operations")
        self.show(f"operations/{begun.json['id']}", "5 % may fail again")
        self.check("operation")

    def test_workers_show_what_they_run(self):
        self.cluster.enqueue("sleep", f"{self.cluster.path('starts')} 60000 9")
        self.show("workers", "w1")
        self.browser.wait("return document.querySelectorAll('.running li').length === 1", "a lease")
        self.check("workers")

    def test_schedules_show_their_next_and_past_times(self):
        self.show("schedules", "nightly")
        self.check("schedules")
        self.show("schedules/nightly", "Next times")
        self.browser.wait("return document.querySelectorAll('.fires li').length === 10", "10 times")
        self.browser.wait_text("run now")
        self.check("schedule")

    def test_limits_show_the_keys_that_hold_tasks_back(self):
        self.assertEqual(200, self.http.call("PUT", "/admin/limits/stripe", {
            "concurrency": 1, "rate": {"count": 100, "perSeconds": 1, "burst": 20}}).status)
        for _ in range(2):
            self.enqueue("limited", limits=[{"name": "stripe", "key": "acct_42"}])
        self.http.claim("limited")
        self.assertIsNone(self.http.claim("limited"))
        self.http.post("/admin/limits/stripe/keys/acct_7/close", {"seconds": 3600})
        self.show("limits", "stripe")
        self.browser.wait_text("100 in 1 s, up to 20 at once")
        self.check("limits")
        self.show("limits/stripe", "acct_42")
        self.browser.wait_text("after a lease")
        self.assertIn("acct_7", self.browser.text())
        self.check("limit")

    def test_a_queue_shows_whose_tasks_wait_behind_whom(self):
        for key, weight in (("small", 5), ("flood", 1), ("flood", 1)):
            self.enqueue("fair", fairnessKey=key, fairnessWeight=weight)
        self.show("queues/fair", "Who waits behind whom")
        rows = self.browser.run(
            "return [...document.querySelectorAll('table')].find((one) =>"
            " one.textContent.includes('Share of time')).innerText")
        self.assertIn("flood", rows)
        self.assertIn("small", rows)
        self.check("queue-fair")

    def test_store_shows_space_and_work(self):
        self.show("store", "free on the disk")
        self.browser.wait("return document.querySelectorAll('table').length >= 2", "tables")
        self.check("store")

    def test_audit_names_who_changed_what(self):
        self.show("audit", "queue pause")
        self.assertIn("127.0.0.1", self.browser.text())
        self.check("audit")

    def test_keys_open_pages_and_rows(self):
        self.show("overview", "No worker serves lonely")
        self.browser.press("g", "q")
        # The address changes before the page, and the overview has rows of queues as well.
        self.browser.wait("return document.querySelector('.page[data-key^=queues] tbody tr')",
                          "queues")
        self.browser.press("j", "j")
        self.browser.wait("return document.activeElement.closest('tbody tr') !== null", "a row")
        self.browser.press("?")
        self.browser.wait_text("next and previous row")

    def test_row_that_moves_keeps_the_focus(self):
        self.enqueue("upward")
        self.show("queues")
        self.browser.wait("return document.querySelector('tr[data-key=upward] a')", "queues")
        focus = "document.querySelector('tr[data-key=upward] a')"
        self.browser.run(f"{focus}.focus()")
        for _ in range(30):
            self.enqueue("upward")
        self.browser.wait(
            "return document.querySelector('tbody tr').dataset.key === 'upward'", "first row")
        self.assertTrue(self.browser.run(f"return document.activeElement === {focus}"))

    def test_lists_are_saved_as_csv_and_json(self):
        self.show("tasks?queue=mail", "no order 17")
        self.browser.run("""
          window.saved = [];
          const make = URL.createObjectURL;
          URL.createObjectURL = (blob) => {
            blob.text().then((text) => saved.push(text));
            return make(blob);
          };
          HTMLAnchorElement.prototype.click = function () {};""")
        self.browser.click("CSV")
        self.browser.click("JSON")
        csv, text = self.browser.wait("return saved.length === 2 && saved", "two files")
        self.assertEqual(4, len(csv.strip().split("\r\n")))
        self.assertEqual({"mail"}, {task["queue"] for task in json.loads(text)})


class EmptyCoordinator(dashboard.DashboardTest):
    def test_empty_pages_say_what_to_do_next(self):
        wanted = {
            "overview": "codeqctl enqueue", "queues": "codeqctl enqueue",
            "tasks": "codeqctl enqueue", "dead": "No dead tasks", "cluster": "--etcd",
            "operations": "operation start", "workers": "codeq-worker --name",
            "schedules": "codeqctl schedule set", "limits": "codeqctl limit set",
            "audit": "Nothing here",
            "nothing": "This address leads to no page"}
        for page, text in wanted.items():
            with self.subTest(page):
                self.show(page, text)
        self.show("overview", "No queue yet")
        self.shoot("empty")

    def test_everything_flows(self):
        self.cluster.start_worker("w1")
        self.enqueue("echo")
        self.show("overview", "Everything flows")
        self.shoot("calm")

    def test_files_have_a_policy_and_are_not_sent_twice(self):
        index = self.http.raw("GET", "/")
        self.assertIn("default-src 'none'", index.fields["content-security-policy"])
        self.assertEqual("nosniff", index.fields["x-content-type-options"])
        for name in ("app.js", "style.css", "icon.svg"):
            plain = self.http.raw("GET", f"/ui/{name}")
            head = self.http.raw("HEAD", f"/ui/{name}")
            self.assertEqual((200, ""), (head.status, head.text))
            self.assertEqual(plain.fields["content-length"], head.fields["content-length"])
            again = self.http.raw("GET", f"/ui/{name}",
                                  fields={"If-None-Match": plain.fields["etag"]})
            self.assertEqual((304, ""), (again.status, again.text))
            connection = self.http.connect()
            connection.request("GET", f"/ui/{name}", headers={"Accept-Encoding": "gzip"})
            zipped = connection.getresponse()
            self.assertEqual("gzip", zipped.getheader("content-encoding"))
            self.assertLess(len(zipped.read()), len(plain.text))
            connection.close()
        self.assertEqual(404, self.http.raw("GET", "/ui/none.js").status)


