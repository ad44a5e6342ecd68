# SPDX-License-Identifier: Apache-2.0
"""Records a store and the frames of its clients with the programs of an older version, for
`recorded_test`. Usage: CODEQ_BUILD=OLD_BUILD python3 -m recorded.record NAME, in tests/e2e."""

import json
import pathlib
import sys
import tarfile
import threading
import time

import cluster
import proxy
from cluster import wait_until

FOLDER = pathlib.Path(__file__).parent
# Files that a reader of the store does not need.
LEFT_OUT = ("LOG", "LOCK", "OPTIONS", "reserve")


class Recorder(proxy.Proxy):
    """Keeps the frames of each connection, in both directions, in order of their arrival."""

    def __init__(self, target):
        self.frames = []
        self._numbers = {}
        self._guard = threading.Lock()
        super().__init__(target)

    def _pump(self, source, sink, is_answer):
        waiting = b""
        with self._guard:
            client = (sink if is_answer else source).getpeername()
            number = self._numbers.setdefault(client, len(self._numbers) + 1)
        try:
            while data := source.recv(1 << 16):
                waiting += data
                while frame := proxy.first_frame(waiting):
                    with self._guard:
                        self.frames.append((number, is_answer, frame))
                    waiting = waiting[len(frame):]
                sink.sendall(data)
        except OSError:
            pass
        proxy.shut(source)
        proxy.shut(sink)

    def lines(self):
        """A line for each frame: its connection, who sent it, its type and, if it is the client's,
        its bytes."""
        with self._guard:
            for number, is_answer, frame in self.frames:
                rest = "" if is_answer else " " + frame.hex()
                yield f"{number} {'<' if is_answer else '>'} {proxy.type_of(frame)}{rest}\n"


def fill(run, recorder):
    """Tasks in all states; returns the ids of those that a test asks for."""
    ids = {}
    worker = run.start("w1", [
        cluster.BIN / "codeq-worker", "--coordinator", recorder.address, "--name", "w1",
        "--exec", "echo=cat", "--exec", "fail=false", "--slots", "2"])
    direct, run.port = run.port, int(recorder.address.split(":")[1])
    ids["completed"] = run.enqueue("echo", "first", "--key", "order-1", "--retention", "1y")
    run.result(ids["completed"])
    ids["dead"] = run.enqueue("fail", "no", "--max-attempts", "1")
    wait_until(lambda: run.status(ids["dead"])["state"] == "dead", 20, "it is dead")
    run.stats()
    run.port = direct
    worker.terminate(10)
    ids["ready"] = run.enqueue("echo", "second", "--priority", "7")
    ids["deferred"] = run.enqueue("echo", "third", "--delay", "30d")
    ids["cancelled"] = run.enqueue("echo", "fourth", "--retention", "1y")
    run.ctl("cancel", ids["cancelled"])
    ids["in group"] = run.enqueue("echo", "fifth", "--group", "g")
    ids["behind it"] = run.enqueue("echo", "sixth", "--group", "g")
    ids["paused"] = run.enqueue("paused", "seventh")
    run.ctl("queue", "pause", "paused")
    return ids


def record(name):
    run = cluster.Cluster()
    run.start_coordinator("--shards", "2")
    recorder = Recorder(lambda port=run.port: port)
    ids = fill(run, recorder)
    # A start packs what there is; what comes then is in the log only.
    run.coordinator.terminate(20)
    run.start_coordinator()
    hold = run.start("w2", [
        cluster.BIN / "codeq-worker", "--coordinator", run.address, "--name", "w2",
        "--exec", "hold=sleep 600"])
    ids["leased"] = run.enqueue("hold", "eighth", "--lease", "10s")
    wait_until(lambda: run.status(ids["leased"])["state"] == "leased", 20, "it is leased")
    run.coordinator.kill()
    hold.kill()
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    store = run.path("store")
    with tarfile.open(folder / "store.tar.xz", "w:xz") as archive:
        for path in sorted(store.iterdir()):
            if not path.name.startswith(LEFT_OUT):
                archive.add(path, path.name)
    (folder / "frames.golden").write_text("".join(recorder.lines()))
    (folder / "facts.json").write_text(
        json.dumps({"at": int(time.time()), "ids": ids}, indent=1) + "\n")
    run.close()


if __name__ == "__main__":
    record(sys.argv[1])
