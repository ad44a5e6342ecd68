# SPDX-License-Identifier: Apache-2.0
"""Hostile clients at the HTTP gateway: they use a bounded amount of memory and time, and other
clients are not affected."""

import resource
import select
import socket
import time
import unittest

import cluster
from cluster import wait_until
from gateway import BASE, Gateway

IDLE_MAX = 60
GROWTH_MAX = (64 << 20) + cluster.SANITIZER_BYTES


class HttpHostile(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        # For this process and the programs that it starts.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 10_000)), hard))
        port_file = self.cluster.path("http-port")
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, "--durability", "os")
        self.port = int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port"))
        self.http = Gateway(self.port)
        self.http.enqueue("warm", 1)
        self.rss = self.coordinator.rss_bytes()

    def dial(self):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        self.addCleanup(peer.close)
        return peer

    def assert_harmless(self):
        self.assertEqual(202, self.http.post("/tasks", {"command": "q", "payload": 1}).status)
        self.assertTrue(self.coordinator.is_running())
        self.assertLess(self.coordinator.rss_bytes() - self.rss, GROWTH_MAX)

    def test_slow_requests_are_cut_off(self):
        """A client that sends a byte from time to time cannot keep a connection longer than an idle
        one."""
        start = time.monotonic()
        slow = [self.dial() for _ in range(200)]
        for number, peer in enumerate(slow):
            peer.setblocking(False)
            peer.send(b"POST /v1/codeq/tasks HTTP/1.1\r\nHost: localhost\r\n"
                      + (b"Content-Length: 1000\r\n\r\n" if number % 2 else b""))
        left = {peer.fileno(): peer for peer in slow}
        poller = select.poll()
        for number in left:
            poller.register(number, select.POLLIN | select.POLLRDHUP)
        next_drip = time.monotonic()
        while left and time.monotonic() < start + IDLE_MAX + 20:
            for number, _ in poller.poll(200):
                poller.unregister(number)
                left.pop(number)
            if time.monotonic() < next_drip:
                continue
            next_drip = time.monotonic() + 2
            self.assertEqual(200, self.http.raw("GET", "/healthz").status)
            for peer in left.values():
                try:
                    peer.send(b"x")
                except OSError:
                    pass  # It is being closed.
        self.assertEqual({}, left)
        self.assert_harmless()

    def test_thousands_of_connections(self):
        """The latest connections are served; they replace the oldest ones without a token."""
        idle = [self.dial() for _ in range(4000)]
        self.assert_harmless()
        last = idle[-1]
        last.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(last.recv(100).startswith(b"HTTP/1.1 200"))
        oldest = idle[0]
        oldest.settimeout(5)
        try:
            self.assertEqual(b"", oldest.recv(1))
        except ConnectionResetError:
            pass
        limit = 'codeq_limits_met_total{limit="http_unauthenticated_connections_max"}'
        self.assertIn(limit, self.http.raw("GET", "/metrics").text)
        for peer in idle:
            peer.close()
        wait_until(lambda: self.http_answers(), 10, "there is room again")
        self.assert_harmless()

    def http_answers(self):
        try:
            return self.http.raw("GET", "/healthz").status == 200
        except OSError:
            return False

    def test_huge_counts(self):
        """Huge numbers and lists are refused without allocating memory for them."""
        for path, body in (
                ("/tasks/claim/batch", '{"count":9223372036854775807}'),
                ("/tasks/claim/batch", '{"count":1e300}'),
                ("/tasks/claim", '{"commands":[%s]}' % ",".join(['"q"'] * 300_000)),
                ("/tasks", "{%s}" % ",".join(['"a":1'] * 300_000)),
                ("/tasks", '{"command":"q","payload":1,"headers":{%s}}' % ",".join(
                    ['"a":"b"'] * 200_000)),
                ("/tasks/batch", '{"tasks":[%s]}' % ",".join(["{}"] * 5_000_000)),
                ("/admin/dead/purge", '{"ids":[%s]}' % ",".join(['"x"'] * 400_000))):
            answer = self.http.raw("POST", BASE + path, body)
            self.assertEqual(400, answer.status, path)
        self.assertEqual(400, self.http.get("/tasks?limit=99999999999999999999").status)
        self.assertEqual(400, self.http.get("/tasks?after=" + "1." * 3000).status)
        self.assert_harmless()

    def test_pipelined_garbage_behind_a_request(self):
        good = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for garbage in (b"\0" * 5000, b"x" * 20_000, good[:20]):
            peer = self.dial()
            peer.sendall(good + garbage)
            peer.shutdown(socket.SHUT_WR)
            heard = b""
            while more := peer.recv(65536):
                heard += more
            self.assertTrue(heard.startswith(b"HTTP/1.1 200"), heard[:80])
        self.assert_harmless()

    def test_readers_that_do_not_read(self):
        """Memory for large responses that clients do not read is bounded over all connections."""
        task = self.http.enqueue("big", "x" * 1_000_000)["id"]
        request = (f"GET {BASE}/tasks/{task} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode()
        peers = []
        for _ in range(500):
            peer = socket.socket()
            self.addCleanup(peer.close)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(("127.0.0.1", self.port))
            peer.sendall(request)
            peers.append(peer)

        def grown():
            return self.coordinator.rss_bytes() - self.rss

        deadline = time.monotonic() + 10
        most = 0
        while time.monotonic() < deadline:
            most = max(most, grown())
            self.assertEqual(200, self.http.raw("GET", "/healthz").status)
            time.sleep(0.1)
        print(f"500 answers of 1 MB that nobody reads: at most {most / 2**20:.0f} MiB")
        self.assertLess(most, (250 << 20) + cluster.SANITIZER_BYTES)
        for peer in peers:
            peer.close()
        # With the thread sanitizer, the answers that nobody reads take a minute to be made.
        seconds = 120 if "thread" in cluster.SANITIZERS else 20
        wait_until(lambda: self.http.raw("GET", f"{BASE}/tasks/{task}").status == 200, seconds,
                   "there is room again")


if __name__ == "__main__":
    unittest.main()
