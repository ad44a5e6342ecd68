# SPDX-License-Identifier: Apache-2.0
"""Two clients of one gateway, of which one is hostile or slow: the other one does not notice."""

import socket
import time
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway

MIB = 1 << 20


class GatewayTest(cluster.ClusterTest):
    """Starts a coordinator with a gateway."""

    def start_gateway(self, *options, **more):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, "--durability", "os", *options,
            **more)
        self.port = int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port"))
        self.http = Gateway(self.port)
        return coordinator

    def dial(self, source="127.0.0.1"):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=20,
                                        source_address=(source, 0))
        self.addCleanup(peer.close)
        return peer


class LargeBodies(GatewayTest):
    def post(self, size, chunk, pause=0.0):
        """Sends a body of so many bytes, all of it, and returns what came back."""
        peer = self.dial()
        peer.sendall(b"POST /v1/codeq/tasks HTTP/1.1\r\nHost: localhost\r\n"
                     b"Content-Length: %d\r\n\r\n" % size)
        for _ in range(size // chunk):
            peer.sendall(b"x" * chunk)
            time.sleep(pause)
        heard = b""
        while more := peer.recv(65536):
            heard += more
        return heard

    def test_client_that_still_sends_reads_the_refusal(self):
        self.start_gateway()
        for size, chunk, pause in ((3 * MIB, MIB, 0), (60 * MIB, MIB, 0), (3 * MIB, MIB // 4, 0.2)):
            self.assertTrue(self.post(size, chunk, pause).startswith(b"HTTP/1.1 413"),
                            (size, chunk, pause))

    def test_client_that_never_stops_sending_is_cut_off(self):
        self.start_gateway()
        start = time.monotonic()
        with self.assertRaises(OSError):
            self.post(1000 * MIB, MIB)
        self.assertLess(time.monotonic() - start, 15)
        with self.assertRaises(OSError):
            self.post(3 * MIB, 1024, 0.05)
        self.assertLess(time.monotonic() - start, 25)
        self.assertEqual(200, self.http.raw("GET", "/healthz").status)


if __name__ == "__main__":
    unittest.main()
