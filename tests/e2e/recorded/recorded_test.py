# SPDX-License-Identifier: Apache-2.0
"""Stores and frames of earlier versions, as their programs wrote them; see README.md."""

import json
import pathlib
import socket
import tarfile
import time
import unittest

import cluster
import proxy
from cluster import wait_until

RECORDED = pathlib.Path(__file__).parent
SECONDS = 20


class Client:
    """A connection that sends what was recorded."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.waiting = b""

    def send(self, frame):
        self.socket.sendall(frame)

    def await_frame(self, kind):
        """Reads until a frame of this type has come."""
        while True:
            while frame := proxy.first_frame(self.waiting):
                self.waiting = self.waiting[len(frame):]
                if proxy.type_of(frame) == kind:
                    return
            data = self.socket.recv(1 << 16)
            if not data:
                raise AssertionError(f"the connection ended before a frame of type {kind}")
            self.waiting += data


class FirstRelease(cluster.ClusterTest):
    """The state before there were clusters."""

    folder = RECORDED / "first_release"

    def setUp(self):
        super().setUp()
        self.facts = json.loads((self.folder / "facts.json").read_text())
        self.ids = self.facts["ids"]

    def start_coordinator(self, *options):
        """Starts it a minute after the recording: no record and no session of a producer is too old
        yet, and nothing is due that was not."""
        clock = cluster.WallClock(self.cluster.path("clock"))
        clock.set(f"{self.facts['at'] + 60 - int(time.time()):+d}")
        with clock:
            self.cluster.start_coordinator(*options)

    def open_store(self):
        with tarfile.open(self.folder / "store.tar.xz") as archive:
            archive.extractall(self.cluster.path("store"))
        self.start_coordinator()

    def state(self, name):
        return self.cluster.status(self.ids[name])["state"]

    def test_store_is_opened_and_its_tasks_go_on(self):
        self.open_store()

        self.assertEqual("first", self.cluster.result(self.ids["completed"]))
        states = {name: self.state(name) for name in self.ids if name != "leased"}
        self.assertEqual(
            {"completed": "completed", "dead": "dead", "ready": "ready", "deferred": "scheduled",
             "cancelled": "cancelled", "in group": "ready", "behind it": "gated",
             "paused": "ready"}, states)
        self.assertEqual(self.ids["completed"],
                         self.cluster.enqueue("echo", "again", "--key", "order-1"))
        self.cluster.ctl("redrive", self.ids["dead"])
        self.cluster.ctl("queue", "resume", "paused")
        self.cluster.start("w1", [
            cluster.BIN / "codeq-worker", "--coordinator", self.cluster.address, "--name", "w3",
            *(word for queue in ("echo", "fail", "hold", "paused")
              for word in ("--exec", f"{queue}=cat"))])
        texts = {"dead": "no", "ready": "second", "in group": "fifth", "behind it": "sixth",
                 "paused": "seventh", "leased": "eighth"}
        for name, text in texts.items():
            self.assertEqual(text, self.cluster.result(self.ids[name], "40s"), name)
        self.cluster.coordinator.terminate(SECONDS)
        self.cluster.ctl("verify", self.cluster.path("store"))

    def test_frames_are_answered(self):
        self.start_coordinator("--shards", "2")
        clients = {}
        for line in (self.folder / "frames.golden").read_text().splitlines():
            number, direction, kind, *frame = line.split()
            if number not in clients:
                clients[number] = Client(self.cluster.port)
                self.addCleanup(clients[number].socket.close)
            client = clients[number]
            if direction == ">":
                client.send(bytes.fromhex(frame[0]))
            else:
                client.await_frame(int(kind))
        wait_until(lambda: self.cluster.queue_stats("echo"), SECONDS, "the tasks are there")
        self.assertEqual({"echo", "fail"},
                         {entry["queue"] for entry in self.cluster.stats()["queues"]})


if __name__ == "__main__":
    unittest.main()
