# SPDX-License-Identifier: Apache-2.0
"""The example worker in Python with a busy gateway: it retries and loses nothing."""

import contextlib
import http.server
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import threading
import unittest

from cluster import wait_until

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "http_worker.py"
TASK = {"id": "t", "payload": '{"name":"Ada"}', "fencingToken": "7"}


class BusyGateway(http.server.ThreadingHTTPServer):
    """Answers the first calls of each route with the given errors, later ones normally; hands out
    one task."""

    def __init__(self, first):
        self.first = first
        self.calls = []
        self.handed_out = False
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # pylint: disable=invalid-name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            route = self.path.rsplit("/", 1)[1]
            refusals = self.server.first.get(route, [])
            status = refusals.pop(0) if refusals else 200
            self.server.calls.append((route, status, body))
            reply = {"cancelRequested": True} if route == "heartbeat" else {}
            if route == "claim" and status == 200:
                status = 204 if self.server.handed_out else 200
                reply = TASK
                self.server.handed_out = True
            text = json.dumps(reply).encode() if status != 204 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            if status in (429, 503):
                self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass


class PythonWorker(unittest.TestCase):
    def start(self, first):
        gateway = BusyGateway(first)
        self.addCleanup(gateway.server_close)
        self.addCleanup(gateway.shutdown)
        worker = subprocess.Popen(
            [sys.executable, SCRIPT, f"http://127.0.0.1:{gateway.server_address[1]}", "q"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        return gateway, worker

    def test_busy_gateway_is_asked_again(self):
        gateway, worker = self.start({"claim": [503, 429], "result": [503, 503]})

        def reported():
            return [body for route, status, body in gateway.calls
                    if route == "result" and status == 200]

        wait_until(reported, 30, "the report is heard")
        self.assertEqual({"greeting": "hello Ada"}, reported()[0]["result"])
        self.assertEqual([503, 503, 200], [s for route, s, _ in gateway.calls if route == "result"])
        self.assertIsNone(worker.poll())

    def test_work_stops_when_a_cancel_is_requested(self):
        gateway = BusyGateway({})
        self.addCleanup(gateway.server_close)
        self.addCleanup(gateway.shutdown)
        spec = importlib.util.spec_from_file_location("http_worker", SCRIPT)
        worker = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(worker)
        worker.LEASE_SECONDS = 0.1

        with contextlib.redirect_stdout(io.StringIO()):
            worker.run(f"http://127.0.0.1:{gateway.server_address[1]}",
                       {**TASK, "payload": '{"steps":3600}'})

        reports = [body for route, _, body in gateway.calls if route == "result"]
        self.assertEqual([{"fencingToken": "7", "status": "FAILED",
                           "error": "InterruptedError: asked to stop"}], reports)

    def test_missing_arguments_are_named(self):
        done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=30,
                              check=False)
        self.assertEqual((1, "usage: http_worker.py URL QUEUE\n"), (done.returncode, done.stderr))

    def test_refusal_for_good_ends_it(self):
        _, worker = self.start({"claim": [403]})
        self.assertNotEqual(0, worker.wait(20))


if __name__ == "__main__":
    unittest.main()
