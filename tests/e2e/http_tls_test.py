# SPDX-License-Identifier: Apache-2.0
"""The HTTP gateway with TLS 1.3: accepted clients, renewed certificates, half-open handshakes."""

import socket
import ssl
import subprocess
import time
import unittest

import cluster
from certificates import Authority
from cluster import wait_until
from gateway import Gateway

HANDSHAKE_MAX = 5


class HttpTls(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.cluster.directory)
        certificate, key = self.authority.issue("gateway")
        self.tokens = self.cluster.path("tokens")
        self.token = self.cluster.ctl(
            "token", "create", "--file", self.tokens, "--subject", "boss", "--tenant", "a",
            "--role", "admin").decode().strip()
        self.port_file = self.cluster.path("http-port")
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", self.port_file,
            "--http-cert", certificate, "--http-key", key, access=("--tokens", self.tokens))
        self.port = int(wait_until(
            lambda: self.port_file.exists() and self.port_file.read_text().strip(), 10, "the port"))
        self.http = Gateway(self.port, self.trusting())

    def trusting(self):
        return ssl.create_default_context(cafile=self.authority.file)

    def bearing(self):
        return {"fields": {"Authorization": f"Bearer {self.token}"}}

    def serial(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain:
            with self.trusting().wrap_socket(plain, server_hostname="localhost") as secured:
                return secured.getpeercert()["serialNumber"]

    def assert_closed(self, peer, seconds):
        peer.settimeout(seconds)
        try:
            while peer.recv(4096):
                pass
        except ConnectionResetError:
            pass

    def test_requests_go_within_tls_1_3(self):
        connection = self.http.connect()
        for n in range(20):
            added = self.http.post("/tasks", {"command": "q", "payload": n}, connection=connection,
                                   **self.bearing())
            self.assertEqual(202, added.status)
        self.assertEqual("TLSv1.3", connection.sock.version())
        connection.close()
        large = self.http.post("/tasks", {"command": "q", "payload": "x" * 900_000},
                               **self.bearing())
        shown = self.http.get(f"/tasks/{large.json['id']}", **self.bearing())
        self.assertEqual(900_002, len(shown.json["payload"]))

    def test_who_does_not_belong_is_kept_out(self):
        self.assertEqual(401, self.http.get("/tasks").status)
        plain = Gateway(self.port)
        refused = plain.get("/tasks", **self.bearing())
        self.assertEqual((400, {"error": "this port speaks TLS: use https://"}),
                         (refused.status, refused.json))
        old = self.trusting()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(ssl.SSLError):
            Gateway(self.port, old).get("/tasks")
        with self.assertRaises(ssl.SSLError):
            Gateway(self.port, ssl.create_default_context()).get("/tasks")
        self.assertEqual(200, self.http.get("/tasks", **self.bearing()).status)

    def test_certificate_is_renewed_without_a_restart(self):
        before = self.serial()
        connection = self.http.connect()
        self.http.get("/tasks", connection=connection, **self.bearing())
        self.authority.issue("gateway")

        self.coordinator.hang_up()

        wait_until(lambda: self.serial() != before, 10, "the new certificate is shown")
        self.assertEqual(200, self.http.get(
            "/tasks", connection=connection, **self.bearing()).status)
        connection.close()
        self.cluster.path("gateway.pem").write_text("nonsense")
        renewed = self.serial()
        self.coordinator.hang_up()
        wait_until(lambda: "keeps what was in force" in self.coordinator.text(), 10, "a complaint")
        self.assertEqual(renewed, self.serial())

    def test_half_open_handshakes_end_and_disturb_nobody(self):
        hello = ssl.MemoryBIO()
        shaking = self.trusting().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
        with self.assertRaises(ssl.SSLWantReadError):
            shaking.do_handshake()
        first = hello.read()
        start = time.monotonic()
        peers = []
        for n in range(300):
            peer = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            self.addCleanup(peer.close)
            # Silence, half a client hello, a whole one without a continuation, and no TLS at all.
            peer.sendall([b"", first[:50], first, b"GET / HTTP/1.1\r\n\r\n"][n % 4])
            peers.append(peer)

        self.assertEqual(200, self.http.get("/tasks", **self.bearing()).status)
        for peer in peers:
            self.assert_closed(peer, HANDSHAKE_MAX + 5)

        self.assertLess(time.monotonic() - start, HANDSHAKE_MAX + 10)
        self.assertEqual(200, self.http.get("/tasks", **self.bearing()).status)

    def test_poll_whose_client_went_away_takes_no_task(self):
        gone = self.http.connect()
        gone.request("POST", "/v1/codeq/tasks/claim", '{"commands":["q"],"waitSeconds":60}',
                     {"Authorization": f"Bearer {self.token}"})
        workers = "/admin/workers"
        wait_until(lambda: self.http.get(workers, **self.bearing()).json["workers"], 10, "it waits")
        gone.close()
        wait_until(lambda: not self.http.get(workers, **self.bearing()).json["workers"], 10,
                   "it waits no more")

        added = self.http.post("/tasks", {"command": "q", "payload": 1}, **self.bearing())

        self.assertEqual("PENDING", added.json["status"])

    def test_codeqctl_asks_over_https(self):
        def ctl(*words, scheme="https"):
            return subprocess.run(
                [cluster.BIN / "codeqctl", "--http", f"{scheme}://localhost:{self.port}", *words],
                env={"CODEQ_TOKEN": self.token}, capture_output=True, timeout=60, check=False)

        trusted = ctl("--tls-ca", self.authority.file, "enqueue", "q", "1")
        self.assertEqual((0, b""), (trusted.returncode, trusted.stderr))
        unknown = ctl("list")
        self.assertEqual(1, unknown.returncode)
        self.assertIn(b"certificate", unknown.stderr)
        plain = ctl("list", scheme="http")
        self.assertEqual(2, plain.returncode)
        self.assertIn(b"this port speaks TLS: use https://", plain.stderr)


class Refusals(cluster.ClusterTest):
    """Insecure combinations of options are refused at the start."""

    def refusal(self, *options):
        done = subprocess.run(
            [cluster.BIN / "codeq-coordinator", "--data", self.cluster.path("store"), *options],
            capture_output=True, timeout=20, check=False)
        self.assertEqual(2, done.returncode, done.stderr)
        return done.stderr.decode()

    def test_gateway_beyond_loopback_takes_tokens_and_tls(self):
        tokens = self.cluster.path("tokens")
        tokens.write_text("")
        authority = Authority(self.cluster.directory)
        certificate, key = authority.issue("gateway")
        secured = ("--http-cert", certificate, "--http-key", key)

        self.assertIn("--http: `0.0.0.0:0` is not a loopback address",
                      self.refusal("--dev", "--http", "0.0.0.0:0"))
        self.assertIn("with --dev only", self.refusal("--dev", "--http", "0.0.0.0:0", *secured))
        self.assertIn("without --tls-cert",
                      self.refusal("--tokens", tokens, "--http", "[::]:0"))
        self.assertIn("--http-cert and --http-key need each other", self.refusal(
            "--tokens", tokens, "--http", "127.0.0.1:0", "--http-cert", certificate))
        self.assertIn("not a loopback address", self.refusal(
            "--tokens", tokens, "--http", "127.0.0.1:0", "--metrics", "0.0.0.0:0", *secured))
        self.cluster.start_coordinator(
            "--http", "0.0.0.0:0", *secured, access=("--tokens", tokens))


if __name__ == "__main__":
    unittest.main()
