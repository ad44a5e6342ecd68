# SPDX-License-Identifier: Apache-2.0
"""Runs the programs in a directory of their own and cleans up after them."""

import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve()
BIN = BUILD / "bin"
HANDLERS = BUILD / "lib" / "libe2e_handlers.so"
OTHER_ABI = BUILD / "lib" / "libe2e_other_abi.so"
LOAD = BIN / "tests" / "e2e_load"
LARGE = BIN / "tests" / "e2e_large"
BATCHES = BIN / "tests" / "e2e_batches"
HEADERS = BIN / "tests" / "e2e_headers"
# Output of a program built with a sanitizer that has found an error.
_REPORT = re.compile(r":\d+:\d+: runtime error: |(Address|Leak|Thread)Sanitizer: ")
# Below the ports that Linux gives to sockets that ask for any (`ip_local_port_range`): none of the
# programs that run beside a test is given one of these between the search and the start.
FREE_PORTS = range(10000, 30000)
_given_ports = set()
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def _sanitizers():
    cache = BUILD / "CMakeCache.txt"
    for line in cache.read_text().splitlines() if cache.exists() else ():
        if line.startswith("CODEQ_SANITIZE:"):
            return line.partition("=")[2]
    return ""


# Sanitizers that the programs were built with, as the compiler takes them; "" for none.
SANITIZERS = _sanitizers()
# Memory that a program may use in addition, in bytes: a sanitizer keeps freed memory for a while.
SANITIZER_BYTES = 512 << 20 if SANITIZERS else 0


def wait_until(condition, seconds, what):
    """Polls until `condition()` is true and returns its value; TimeoutError names `what`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def _die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def questions_about(queue):
    """The words of the commands that find tasks of a queue, or the queue itself."""
    return [
        ("queue", "show", queue), ("queue", "stats", queue), ("list", "--queue", queue),
        ("dead", "list", "--queue", queue), ("dead", "summary", "--queue", queue),
        ("dead", "redrive", "--queue", queue), ("dead", "purge", "--queue", queue, "--yes")]


def refuse_report(name, text):
    found = _REPORT.search(text)
    if found:
        start = text.rfind("\n", 0, found.start()) + 1
        raise AssertionError(f"a sanitizer on {name}:\n{text[start:start + 20000]}")


class Process:
    """A running program; its output goes to `log`."""

    def __init__(self, name, command, log):
        self.name = name
        self.log = log
        with open(log, "ab") as output:
            self.popen = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, preexec_fn=_die_with_parent)

    @property
    def pid(self):
        return self.popen.pid

    def is_running(self):
        return self.popen.poll() is None

    def kill(self):
        """Sends SIGKILL and waits for the end."""
        self.popen.kill()
        self.popen.wait()

    def terminate(self, seconds):
        """Sends SIGTERM; returns (exit status, seconds until the end)."""
        start = time.monotonic()
        self.popen.terminate()
        status = self.popen.wait(seconds)
        return status, time.monotonic() - start

    def wait(self, seconds):
        """Waits until it has ended by itself and returns its exit status."""
        return self.popen.wait(seconds)

    def hang_up(self):
        """Sends SIGHUP."""
        self.popen.send_signal(signal.SIGHUP)

    def suspend(self):
        self.popen.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.popen.send_signal(signal.SIGCONT)

    def text(self):
        return self.log.read_text(errors="replace")

    def rss_bytes(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"{self.name} has no resident memory")


class MachineNoise:
    """Measures the delays of this machine while the `with` block runs: the longest that a short
    sleep and a small synced write took beyond their time. Almost 0 on an idle machine."""

    _NAP = 0.02

    def __init__(self, file):
        self._file = file
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure)
        self.worst = 0.0

    def _measure(self):
        with open(self._file, "wb", buffering=0) as file:
            while not self._over.is_set():
                start = time.monotonic()
                time.sleep(self._NAP)
                file.write(b"x" * 512)
                os.fdatasync(file.fileno())
                self.worst = max(self.worst, time.monotonic() - start - self._NAP)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


class WallClock:
    """Sets the wall clock of the programs that are started in its `with` blocks, by a file; their
    monotonic clocks are not changed."""

    def __init__(self, file):
        library = next(
            (path for path in ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
                               "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1")
             if os.path.exists(path)), None)
        if not library:
            raise RuntimeError("install the package libfaketime")
        self._file = pathlib.Path(file)
        self._environment = {
            "LD_PRELOAD": library, "DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": str(file),
            # The address sanitizer refuses to be loaded after another library.
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        self._before = {}
        self.set("+0")

    def set(self, offset):
        """Steps the clock to so much from the real time, such as `-1h`, `+30` or `+1d`."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(offset + "\n")
        fresh.rename(self._file)

    def __enter__(self):
        self._before = {name: os.environ.get(name) for name in self._environment}
        os.environ.update(self._environment)

    def __exit__(self, *_):
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def free_port(host="127.0.0.1"):
    """A port of the address that no process has, and that was not given before."""
    while True:
        port = random.SystemRandom().choice(FREE_PORTS)
        if port not in _given_ports and _is_free(host, port):
            _given_ports.add(port)
            return port


def _is_free(host, port):
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class Cluster:
    """A coordinator, workers and the other programs that a test starts."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="codeq-e2e-"))
        self.processes = []
        self.coordinator = None
        self.port = 0
        self.token = None

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def path(self, name):
        return self.directory / name

    def start(self, name, command):
        """Starts a program; a second one of the same name appends to the same log."""
        process = Process(name, command, self.path(f"{name}.log"))
        self.processes.append(process)
        return process

    def start_coordinator(self, *options, access=("--dev",)):
        """Starts a coordinator and waits until it listens; a restarted one takes the same port
        again."""
        port_file = self.path("port")
        port_file.unlink(missing_ok=True)
        self.port = self.port or free_port()
        self.coordinator = self.start("coordinator", [
            BIN / "codeq-coordinator", *access, "--data", self.path("store"),
            "--listen", self.address, "--port-file", port_file, *options])

        def port():
            if not self.coordinator.is_running():
                raise RuntimeError(f"the coordinator ended: {self.coordinator.text()[-2000:]}")
            return port_file.exists() and port_file.read_text().strip()

        self.port = int(wait_until(port, 20, "the coordinator listens"))
        return self.coordinator

    def start_worker(self, name, *options, handlers=(HANDLERS,)):
        """Starts a worker, which connects in the background."""
        libraries = [word for library in handlers for word in ("--handlers", library)]
        return self.start(name, [
            BIN / "codeq-worker", "--coordinator", self.address, "--name", name, *libraries,
            *options])

    def try_ctl(self, *arguments, payload=None):
        """Runs codeqctl with the current token; any exit status is allowed."""
        env = {**os.environ, "CODEQ_TOKEN": self.token} if self.token else None
        coordinator = ("--coordinator", self.address) if self.port else ()
        done = subprocess.run(
            [str(word) for word in (BIN / "codeqctl", *coordinator, *arguments)],
            input=payload, capture_output=True, timeout=60, check=False, env=env)
        refuse_report("codeqctl", done.stderr.decode(errors="replace"))
        return done

    def ctl(self, *arguments, payload=None, status=0):
        """Runs codeqctl and returns its output; fails on any other exit status."""
        done = self.try_ctl(*arguments, payload=payload)
        if done.returncode != status:
            raise AssertionError(
                f"codeqctl {arguments} ended with {done.returncode}: "
                f"{done.stderr.decode()}{done.stdout.decode()}")
        return done.stdout

    def ctl_error(self, *arguments, payload=None):
        """Runs codeqctl, which must fail, and returns its standard error."""
        done = self.try_ctl(*arguments, payload=payload)
        if done.returncode == 0:
            raise AssertionError(f"codeqctl took {arguments}: {done.stdout.decode()}")
        return done.stderr.decode()

    def enqueue(self, queue, payload, *options):
        """Adds a task and returns its id."""
        return self.ctl("enqueue", queue, "-", *options, payload=payload.encode()).decode().strip()

    def result(self, task, wait="20s", status=0):
        return self.ctl("result", task, "--wait", wait, status=status).decode()

    def status(self, task):
        return json.loads(self.ctl("--json", "get", task))

    def stats(self):
        """The counts, also those that lack shards which do not answer."""
        done = self.try_ctl("--json", "stats")
        if done.returncode not in (0, 5):
            raise AssertionError(f"stats ended with {done.returncode}: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def queue_stats(self, queue):
        for entry in self.stats()["queues"]:
            if entry["queue"] == queue:
                return entry
        return None

    def kill_all(self):
        for process in self.processes:
            if process.is_running():
                process.kill()

    def end_all(self):
        """Kills all programs. If a sanitizer checks for leaks at exit, lets them end by themselves
        first, for a short time."""
        if "address" in SANITIZERS:
            running = [process for process in self.processes if process.is_running()]
            for process in running:
                process.popen.terminate()
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and any(p.is_running() for p in running):
                time.sleep(0.01)
        self.kill_all()

    def close(self):
        """Kills the programs that still run and removes the directory. AssertionError when a
        sanitizer found an error in one of them."""
        self.kill_all()
        logs = {process.name: process.text() for process in self.processes if process.log.exists()}
        shutil.rmtree(self.directory, ignore_errors=True)
        for name, text in logs.items():
            refuse_report(name, text)


class ClusterTest(unittest.TestCase):
    """Gives each test a cluster; after a failure it prints the ends of the cluster's logs."""

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)

    def tearDown(self):
        outcome = self._outcome.result
        troubles = [test for test, _ in outcome.failures + outcome.errors]
        if self not in troubles and (self.cluster.path("store") / "CURRENT").exists():
            self.cluster.end_all()
            # However the coordinator ended, its store must be sound.
            self.cluster.ctl("verify", self.cluster.path("store"))
        if self in troubles:
            for log in sorted(self.cluster.directory.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")
