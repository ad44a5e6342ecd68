# SPDX-License-Identifier: Apache-2.0
"""Result webhooks and wake-ups of the real programs: over a killed coordinator, signed, and only to
allowed addresses."""

import hashlib
import hmac
import http.server
import json
import socket
import ssl
import threading
import unittest

import cluster
from certificates import Authority
from cluster import wait_until
from gateway import Gateway

SECRET = "a secret that both know"


class Receiver:
    """An HTTP server that keeps the requests it gets and answers as the test says."""

    def __init__(self, tls=None):
        self.requests = []
        self.statuses = []
        self.answer = b""
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("Content-Length", str(len(receiver.answer)))
                self.end_headers()
                try:
                    self.wfile.write(receiver.answer)
                except OSError:
                    pass

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Webhooks(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.secret = self.cluster.path("secret")
        self.secret.write_text(SECRET.replace(" ", "-"))

    def start(self, *options):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                                       *options)
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def add(self, path="/hook", scheme="http", port=None):
        return self.http.enqueue("q", {"n": 1}, webhook=f"{scheme}://localhost:"
                                                        f"{port or self.receiver.port}{path}")

    def finish(self, result):
        self.http.complete(self.http.claim("q"), result)

    def bodies(self):
        return [json.loads(body) for _, _, body in self.receiver.requests]

    def test_ends_are_told_and_signed(self):
        self.start("--webhook-allow-private", "--webhook-secret-file", self.secret)
        task = self.add("/hook?a=b")
        self.finish({"ok": True})

        wait_until(lambda: self.receiver.requests, 10, "the delivery")

        path, fields, body = self.receiver.requests[0]
        told = json.loads(body)
        self.assertEqual("/hook?a=b", path)
        self.assertEqual((task["id"], "q", "COMPLETED", {"ok": True}, "", None), tuple(
            told[name] for name in ("taskId", "eventType", "status", "result", "error",
                                    "artifacts")))
        signed = fields["X-CodeQ-Timestamp"].encode() + b"." + body
        wanted = hmac.new(self.secret.read_bytes(), signed, hashlib.sha256).hexdigest()
        self.assertEqual(wanted, fields["X-CodeQ-Signature"])

    def test_codeqctl_names_the_receiver_over_http(self):
        self.start("--webhook-allow-private")
        words = ("enqueue", "q", "1", "--count", "2", "--webhook",
                 f"http://localhost:{self.receiver.port}/hook")
        self.assertIn("it takes --http", self.cluster.ctl_error(*words))
        tasks = self.cluster.ctl(
            "--http", f"http://127.0.0.1:{self.http.port}", *words).decode().split()
        for _ in tasks:
            self.finish({"ok": True})

        wait_until(lambda: len(self.receiver.requests) >= 2, 10, "the deliveries")
        self.assertEqual(set(tasks), {told["taskId"] for told in self.bodies()})

    def test_what_is_open_survives_a_killed_coordinator(self):
        self.start("--webhook-allow-private")
        early = [self.add()["id"] for _ in range(5)]
        self.receiver.statuses = [503] * 5
        for _ in range(5):
            self.finish(1)
        late = [self.add()["id"] for _ in range(5)]
        wait_until(lambda: len(self.receiver.requests) >= 5, 10, "the first attempts")
        self.cluster.coordinator.kill()
        self.receiver.requests.clear()

        self.start("--webhook-allow-private")
        for _ in range(5):
            self.finish(2)

        wait_until(lambda: {told["taskId"] for told in self.bodies()} == {*early, *late}, 20,
                   "every end is told")

    def test_each_end_of_a_redriven_task_is_told(self):
        self.start("--webhook-allow-private")
        task = self.add()["id"]
        self.http.claim("q")
        self.http.post(f"/tasks/{task}/result",
                       {"status": "FAILED", "error": "broken", "permanent": True})
        wait_until(lambda: self.receiver.requests, 10, "the first end is told")

        redriven = self.http.post("/admin/dead/redrive", {"ids": [task]})
        self.assertEqual(1, redriven.json["changed"], redriven.text)
        self.finish({"ok": True})

        wait_until(lambda: len(self.receiver.requests) > 1, 30, "the second end is told")
        self.assertEqual(["dead", "completed"], [told["state"] for told in self.bodies()])
        self.assertEqual(2, len({told["deliveryId"] for told in self.bodies()}))

    def test_failed_deliveries_are_logged_with_their_reason(self):
        self.start("--webhook-allow-private")
        self.receiver.statuses = [503]
        failing = self.add()["id"]
        self.finish(1)

        wait_until(lambda: len(self.receiver.requests) == 2, 10, "the second attempt")

        lines = [line for line in self.cluster.coordinator.text().splitlines()
                 if "cannot deliver a webhook" in line]
        self.assertEqual(1, len(lines), lines)
        self.assertRegex(lines[0], f"task={failing} tenant=default host=localhost attempt=1 "
                                   r"retry_ms=\d+ left_out=0 reason=\"HTTP 503\"")

    def test_receiver_may_answer_with_a_long_page(self):
        self.start("--webhook-allow-private")
        self.receiver.answer = b"thanks " * 100_000
        self.add()
        self.finish({"m": 1})
        wait_until(lambda: self.receiver.requests, 10, "the delivery")

        self.receiver.statuses = [503]
        self.add()
        self.finish({"m": 2})
        wait_until(lambda: len(self.receiver.requests) >= 3, 10, "the second attempt of another")

        self.assertEqual([{"m": 1}, {"m": 2}, {"m": 2}],
                         [told["result"] for told in self.bodies()])

    def test_wake_ups_survive_a_killed_coordinator(self):
        self.start("--webhook-allow-private", "--webhook-secret-file", self.secret)
        made = self.http.post("/workers/subscriptions", {
            "callbackUrl": f"http://localhost:{self.receiver.port}/wake", "queues": ["q"],
            "minIntervalSeconds": 1})
        self.assertEqual(200, made.status, made.text)
        self.cluster.coordinator.kill()
        self.start("--webhook-allow-private", "--webhook-secret-file", self.secret)
        self.http.enqueue("other", 1)
        self.http.enqueue("q", 1)

        wait_until(lambda: self.receiver.requests, 10, "the wake-up")

        path, fields, body = self.receiver.requests[0]
        told = json.loads(body)
        self.assertEqual(("/wake", "q", 1), (path, told["queue"], told["ready"]))
        self.assertLess(told["oldestReadyAgeMs"], 10000)
        signed = fields["X-CodeQ-Timestamp"].encode() + b"." + body
        wanted = hmac.new(self.secret.read_bytes(), signed, hashlib.sha256).hexdigest()
        self.assertEqual(wanted, fields["X-CodeQ-Signature"])
        renewed = self.http.post(
            f"/workers/subscriptions/{made.json['subscriptionId']}/heartbeat", {"ttlSeconds": 60})
        self.assertEqual(200, renewed.status, renewed.text)
        self.assertEqual({"q"}, {json.loads(body)["queue"]
                                 for _, _, body in self.receiver.requests})

    def test_private_hosts_are_refused_also_behind_a_name(self):
        self.start()
        refused = self.http.post("/tasks", {
            "command": "q", "payload": 1, "webhook": "http://10.0.0.1"})
        self.assertEqual(400, refused.status)
        self.assertRegex(refused.json["error"], "^invalid webhook url: .* public address")
        # Only a look-up shows that the name resolves to this machine.
        self.add()
        self.finish(1)

        def open_ones():
            return json.loads(self.cluster.ctl(
                "--json", "list", "--tenant", "codeq.webhooks"))["tasks"]

        self.assertEqual(["ready"], [task["state"] for task in open_ones()])
        self.http.enqueue("q", 1)
        self.finish(1)
        self.assertEqual([], self.receiver.requests)
        self.assertEqual(["ready"], [task["state"] for task in open_ones()])

    def test_delivers_by_https_to_whom_it_trusts(self):
        authority = Authority(self.cluster.directory)
        certificate, key = authority.issue("hook")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        secured = Receiver(tls)
        self.addCleanup(secured.close)
        self.start("--webhook-allow-private", "--webhook-ca", authority.file)
        self.add(scheme="https", port=secured.port)
        self.finish(1)
        wait_until(lambda: secured.requests, 10, "the delivery")

    def test_stop_does_not_wait_for_slow_receivers(self):
        self.start("--webhook-allow-private")
        listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listening.close)
        self.add(port=listening.getsockname()[1])
        self.finish(1)
        peer, _ = listening.accept()
        self.addCleanup(peer.close)
        status, seconds = self.cluster.coordinator.terminate(20)
        self.assertEqual(0, status)
        self.assertLess(seconds, 3)


if __name__ == "__main__":
    unittest.main()
