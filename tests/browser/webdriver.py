# SPDX-License-Identifier: Apache-2.0
"""A browser that a test drives: chromium by chromedriver, in the WebDriver protocol."""

import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
import time

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    """What the driver refused."""


class Browser:
    """One chromium with a profile of its own."""

    def __init__(self, folder, width=1440, height=900):
        folder.mkdir(parents=True)
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver") or "/usr/bin/chromedriver", "--port=0",
             f"--log-path={folder}/chromedriver.log"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)})
        self._port = self._read_port()
        self._session = None
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
                     "--force-device-scale-factor=1", "--lang=en-GB", "--disable-extensions",
                     f"--window-size={width},{height}", f"--user-data-dir={folder}/profile"]
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments}}}})
        self._session = answer["sessionId"]
        self.resize(width, height)

    def _read_port(self):
        for line in self._driver.stdout:
            words = line.decode().split()
            if "successfully" in words:
                return int(words[-1].rstrip("."))
        raise BrowserError("chromedriver does not start")

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            text = json.dumps(body if body is not None else {}) if method == "POST" else None
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(f"{value['error']}: {value['message']}")
        return value

    def call(self, method, path, body=None):
        return self._call(method, f"/session/{self._session}{path}", body)

    def close(self):
        """Ends browser and driver; nothing when they have ended."""
        if self._driver.poll() is not None:
            return
        try:
            if self._session:
                self._call("DELETE", f"/session/{self._session}")
        except (OSError, BrowserError):
            pass
        finally:
            # The driver's group has the browser's processes as well.
            try:
                os.killpg(self._driver.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._driver.wait()
            self._driver.stdout.close()

    def open(self, address):
        self.call("POST", "/url", {"url": address})

    def resize(self, width, height):
        """The size of the page itself, also below what a window may have."""
        self.devtools("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def devtools(self, command, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        """The elements that fit, as the driver names them."""
        return [one[_ELEMENT] for one in
                self.call("POST", "/elements", {"using": "css selector", "value": selector})]

    def text(self):
        return self.run("return document.body.innerText")

    def wait(self, script, what, seconds=15):
        """Runs the script until it returns something that counts as true."""
        end = time.monotonic() + seconds
        while True:
            found = self.run(script)
            if found:
                return found
            if time.monotonic() > end:
                raise BrowserError(f"no {what} within {seconds} s; the page says:\n{self.text()}")
            time.sleep(0.05)

    def wait_text(self, text, seconds=15):
        quoted = json.dumps(text)
        self.wait(f"return document.body.innerText.includes({quoted})", f"text {text!r}", seconds)

    def wait_gone(self, text, seconds=15):
        quoted = json.dumps(text)
        self.wait(
            f"return !document.body.innerText.includes({quoted})", f"end of {text!r}", seconds)

    def click(self, text, selector="button, a, summary", within=""):
        """Clicks the first visible control with that text or label, until it hears of it."""
        script = """
          const [text, selector, within] = arguments;
          const roots = within ? [...document.querySelectorAll(within)] : [document];
          const dialog = document.querySelector('dialog[open]');
          const all = roots.flatMap((root) => [...root.querySelectorAll(selector)]);
          const found = all.find((one) => (!dialog || dialog.contains(one))
            && one.offsetParent !== null && !one.disabled
            && (one.innerText.trim() === text || one.getAttribute('aria-label') === text));
          if (!found) return null;
          window.isClickMissed = true;
          const hear = () => { window.isClickMissed = false; };
          found.addEventListener('click', hear, {capture: true, once: true});
          return found"""
        end = time.monotonic() + 15
        while True:
            found = self.run(script, text, selector, within)
            if found and self._has_clicked(found):
                return
            if time.monotonic() > end:
                raise BrowserError(f"nothing to click with text {text!r}:\n{self.text()}")
            time.sleep(0.05)

    def _has_clicked(self, element):
        """False when the page has moved the control, or drawn it anew, under the pointer."""
        try:
            self.call("POST", f"/element/{element[_ELEMENT]}/click")
        except BrowserError as error:
            if "stale" not in str(error) and "intercepted" not in str(error):
                raise
            return False
        return not self.run("return window.isClickMissed === true")

    def type(self, selector, text, enter=False):
        """Replaces the text of a field and leaves it."""
        self.wait(f"return document.querySelector({json.dumps(selector)})", selector)
        element = self.find(selector)[0]
        self.call("POST", f"/element/{element}/clear")
        self.call("POST", f"/element/{element}/value", {"text": text + ("\ue007" if enter else "")})
        if not enter:
            self.run("document.activeElement?.blur()")

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def console(self):
        """What the console has said since the last call, at level severe."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def screenshot(self, path, whole=False):
        if whole:
            size = self.run("return [document.documentElement.scrollWidth,"
                            " document.documentElement.scrollHeight]")
            data = self.devtools("Page.captureScreenshot", {
                "format": "png", "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 6000),
                         "scale": 1}})["data"]
        else:
            data = self.call("GET", "/screenshot")
        path.write_bytes(base64.b64decode(data))
