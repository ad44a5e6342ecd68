# SPDX-License-Identifier: Apache-2.0
"""Hostile clients at the node port: each is disconnected with a logged reason, and other clients
are not affected."""

import os
import random
import re
import socket
import struct
import unittest

import cluster
from cluster import wait_until

HELLO_TIMEOUT = 5
GROWTH_MAX = (16 << 20) + cluster.SANITIZER_BYTES
SEED = int(os.environ.get("CODEQ_SEED", "20240501"))


class Hostile(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()
        self.cluster.start_worker("w1")
        self.echo("warm up")
        self.rss = self.cluster.coordinator.rss_bytes()
        self.log_bytes = len(self.cluster.coordinator.text())

    def echo(self, text):
        self.assertEqual(self.cluster.result(self.cluster.enqueue("echo", text)), text)

    def dial(self, sent):
        peer = socket.create_connection(("127.0.0.1", self.cluster.port), timeout=10)
        self.addCleanup(peer.close)
        try:
            peer.sendall(sent)
        except (BrokenPipeError, ConnectionResetError):
            pass  # Closed before it had all.
        return peer

    def assert_closed(self, peer, seconds):
        peer.settimeout(seconds)
        try:
            while peer.recv(4096):
                pass  # A refusal may be said before the close.
        except ConnectionResetError:
            pass

    def assert_harmless(self, count):
        """Other clients still work, memory did not grow, and the log has a reason for each
        connection, or counts it among those that it left out."""
        self.echo("still there")
        self.assertTrue(self.cluster.coordinator.is_running())
        self.assertLess(self.cluster.coordinator.rss_bytes() - self.rss, GROWTH_MAX)

        def noted():
            # A later line says how many were left out before it.
            self.dial(b"\xff" * 8).close()
            text = self.cluster.coordinator.text()[self.log_bytes:]
            return text.count("reason=") + sum(map(int, re.findall(r"left_out=(\d+)", text)))

        wait_until(lambda: noted() >= count, 5, f"{count} connections are noted in the log")

    def test_random_bytes(self):
        print(f"CODEQ_SEED={SEED}")
        rng = random.Random(SEED)
        for _ in range(20):
            # The first bytes are a length: most are far above the limit, some are plausible.
            head = rng.choice([b"", struct.pack("<I", rng.randrange(4096))])
            peer = self.dial(head + rng.randbytes(5000 - len(head)))
            self.assert_closed(peer, HELLO_TIMEOUT + 2)
        self.assert_harmless(20)

    def test_frame_that_announces_four_gigabytes(self):
        for _ in range(20):
            peer = self.dial(struct.pack("<IHH", 0xFFFFFFF8, 0, 0))
            self.assert_closed(peer, 1)
        self.assert_harmless(20)

    def test_silence(self):
        peers = [self.dial(b"") for _ in range(20)]
        for peer in peers:
            self.assert_closed(peer, HELLO_TIMEOUT + 2)
        self.assert_harmless(20)

    def test_half_a_hello(self):
        peers = [self.dial(struct.pack("<IHH", 256, 0, 0) + b"\0" * 100) for _ in range(20)]
        for peer in peers:
            self.assert_closed(peer, HELLO_TIMEOUT + 2)
        self.assert_harmless(20)

    def test_other_frame_before_hello(self):
        peer = self.dial(struct.pack("<IHHQQ", 16, 6, 0, 0, 0))
        self.assert_closed(peer, 1)
        self.assert_harmless(1)


if __name__ == "__main__":
    unittest.main()
