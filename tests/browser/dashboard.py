# SPDX-License-Identifier: Apache-2.0
"""A coordinator with its dashboard open in a browser."""

import os
import pathlib
import re

import cluster
from gateway import Gateway
from webdriver import Browser

SHOTS = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "screenshots"
PHONE = (390, 844)
DESK = (1440, 900)
# The browser itself notes each response with such a status; the page shows what it means.
_STATUS = re.compile(r"Failed to load resource: .*(status of|ERR_CONNECTION|ERR_INCOMPLETE|"
                     r"ERR_EMPTY_RESPONSE|ERR_ABORTED)")


class DashboardTest(cluster.ClusterTest):
    """Ends with a look at the console, which must have said nothing."""

    access = ("--dev",)

    def setUp(self):
        super().setUp()
        self.may_lose_connection = False
        self.start_coordinator()
        self.http = Gateway(self.http_port)
        self.browser = Browser(self.cluster.path("browser"), *DESK)
        self.addCleanup(self.browser.close)
        self.origin = f"http://127.0.0.1:{self.http_port}"

    def tearDown(self):
        try:
            self.check_console()
        finally:
            self.browser.close()
            super().tearDown()

    def start_coordinator(self):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        port = getattr(self, "http_port", 0)
        self.cluster.start_coordinator(
            "--http", f"127.0.0.1:{port}", "--http-port-file", port_file, access=self.access)
        self.http_port = int(cluster.wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port"))

    def check_console(self):
        said = self.browser.console()
        if self.may_lose_connection:
            said = [line for line in said if not _STATUS.search(line)]
        self.assertEqual([], said)

    def show(self, page="", wait=None):
        """Opens a page by its address, as from a link of a colleague."""
        self.browser.open("about:blank")
        self.browser.open(f"{self.origin}/#/{page}")
        if wait:
            self.browser.wait_text(wait)

    def sign_in(self, token):
        self.browser.open("about:blank")
        self.browser.open(f"{self.origin}/")
        self.browser.wait_text("Sign in to codeq")
        self.browser.type("input[name=token]", token, enter=True)
        self.browser.wait_gone("Sign in to codeq")

    def shoot(self, name):
        """Keeps pictures of the page: light, dark, and of phone width."""
        SHOTS.mkdir(exist_ok=True)
        for theme in ("light", "dark"):
            self.set_theme(theme)
            self.browser.screenshot(SHOTS / f"{name}-{theme}.png", whole=True)
        self.set_theme("light")
        self.browser.resize(*PHONE)
        try:
            self.browser.wait(f"return document.documentElement.scrollWidth <= {PHONE[0]}",
                              f"phone width of {name}")
            self.browser.screenshot(SHOTS / f"{name}-phone.png", whole=True)
        finally:
            self.browser.resize(*DESK)

    def set_theme(self, theme):
        self.browser.run("document.documentElement.dataset.theme = arguments[0]", theme)

    def enqueue(self, queue, payload=None, **fields):
        content = payload if payload is not None else {"n": 1}
        return self.http.enqueue(queue, content, **fields)["id"]

    def wait_rows(self, count):
        """Waits until the page's table has that many rows."""
        self.browser.wait("return !document.querySelector('.loading') && document"
                          f".querySelectorAll('tbody tr').length === {count}", f"{count} rows")

    def bury(self, queue, error, **fields):
        """A dead task: claimed and failed for good."""
        task = self.enqueue(queue, **fields)
        claimed = self.http.post("/tasks/claim", {"queues": [queue]}).json
        answer = self.http.post(f"/tasks/{claimed['id']}/result", {
            "status": "FAILED", "error": error, "permanent": True,
            "fencingToken": claimed["fencingToken"]})
        self.assertEqual(200, answer.status, answer.text)
        return task

    def state(self, task):
        return self.http.get(f"/tasks/{task}").json["state"]

    def wait_operation_end(self):
        """Waits until the page of an operation says that it has completed."""
        self.browser.wait("return document.querySelector('.page-head .chip')?.innerText"
                          " === 'completed'", "completed operation")

    def wait_state(self, task, state):
        cluster.wait_until(lambda: self.state(task) == state, 10, f"state {state}")
