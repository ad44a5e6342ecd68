# SPDX-License-Identifier: Apache-2.0
"""Coordinator, worker and producer carry out no more instructions for a task than
`latency_instructions.json` says, when tasks come one by one, 50 a second. Callgrind counts them in
the real programs, which no machine's load changes.

`python3 latency_instructions_test.py --write` takes today's numbers as the new ones; `profile`
prints which parts of the programs they belong to."""

import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve()
BASELINE = pathlib.Path(__file__).with_name("latency_instructions.json")
MARGIN = 1.05
RATE = 50
# Six intervals of a shard's snapshots: one more or less of them, by chance, changes little.
SECONDS = 30
WARM_UP_SECONDS = 6
START_SECONDS_MAX = 60
PROGRAMS = ("coordinator", "worker", "producer")
# Parts of a program by the library that a function is in, or else by its name.
LIBRARIES = {"librocksdb": "RocksDB", "libcaf": "CAF", "libmimalloc": "mimalloc",
             "libcapnp": "Cap'n Proto", "libkj": "Cap'n Proto", "libc.": "C library",
             "libstdc++": "C++ library", "libcrypto": "OpenSSL", "libssl": "OpenSSL"}
NAMES = {"caf::": "CAF", "capnp::": "Cap'n Proto", "kj::": "Cap'n Proto",
         "std::": "C++ library", "rocksdb::": "RocksDB"}


def with_fixed_addresses():
    """Prefix that disables address randomisation: some containers are ordered by addresses."""
    command = ["setarch", "-R"]
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if tried.returncode == 0 else []


class Counted:
    """A program under callgrind."""

    def __init__(self, folder, name, *words, **options):
        self._out = folder / f"{name}.counts"
        self._log = (folder / f"{name}.log").open("w")
        self.process = subprocess.Popen(
            [*with_fixed_addresses(), "valgrind", "--tool=callgrind",
             f"--callgrind-out-file={self._out}", *words],
            stderr=self._log, **{"stdout": self._log, **options})

    def _ask(self, what):
        subprocess.run(["vgdb", f"--pid={self.process.pid}", what], check=True, timeout=60,
                       capture_output=True)

    def begin(self):
        self._ask("zero")
        self._begun = time.monotonic()

    def end(self):
        """The instructions since `begin` for each task, by part of the program."""
        tasks = RATE * (time.monotonic() - self._begun)
        self._ask("dump")
        parts = parts_of(pathlib.Path(f"{self._out}.1").read_text())
        return {part: round(number / tasks) for part, number in parts.items()}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()


def parts_of(profile):
    """Adds up the instructions of callgrind's output by library and namespace."""
    names = {}

    def name_of(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    parts = collections.Counter()
    library = function = ""
    is_call = False
    for line in profile.splitlines():
        if line.startswith("ob="):
            library = name_of("object", line[3:])
        elif line.startswith("cob="):
            name_of("object", line[4:])
        elif line.startswith("fn="):
            function = name_of("function", line[3:])
        elif line.startswith("cfn="):
            name_of("function", line[4:])
        elif line.startswith("calls="):
            is_call = True
        elif found := re.fullmatch(r"[\d+*-]\S* (\d+)", line):
            if not is_call:
                parts[part_of(library, function)] += int(found.group(1))
            is_call = False
    return parts


def part_of(library, function):
    base = library.rsplit("/", 1)[-1]
    for start, part in (*LIBRARIES.items(), *NAMES.items()):
        if base.startswith(start) or function.startswith(start):
            return part
    found = re.match(r"codeq::(\w+)::", function)
    return f"codeq::{found.group(1)}" if found else "other"


def wait_for(text, find):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if text.exists() and find in text.read_text():
            return text.read_text()
        time.sleep(0.1)
    raise AssertionError(f"{text} does not say {find!r}")


def count():
    """The instructions of each program for one task, by part."""
    with tempfile.TemporaryDirectory(prefix="codeq-instructions-") as name, \
            contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        bin_folder = BUILD / "bin"
        port = folder / "port"

        def start(program, *words, **options):
            counted = Counted(folder, program, *words, **options)
            running.callback(counted.stop)
            return counted

        coordinator = start(
            "coordinator", bin_folder / "codeq-coordinator", "--dev", "--data", folder / "store",
            "--listen", "127.0.0.1:0", "--port-file", port, "--durability", "os")
        address = f"127.0.0.1:{wait_for(port, chr(10)).strip()}"
        worker = start(
            "worker", bin_folder / "codeq-worker", "--coordinator", address, "--name", "w1",
            "--handlers", BUILD / "lib/libbench_handlers.so")
        wait_for(folder / "worker.log", "connected")
        producer = start(
            "producer", bin_folder / "codeq-bench", "produce", "--coordinator", address,
            "--rate", str(RATE), "--seconds", str(WARM_UP_SECONDS + SECONDS + 2),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        programs = (coordinator, worker, producer)
        return measure(producer.process, dict(zip(PROGRAMS, programs)))


def measure(producer, programs):
    def expect(what):
        line = producer.stdout.readline()
        if what not in line:
            raise AssertionError(f"the producer printed {line!r}")

    expect("ready")
    producer.stdin.write("\n")
    producer.stdin.flush()
    time.sleep(WARM_UP_SECONDS)
    for program in programs.values():
        program.begin()
    time.sleep(SECONDS)
    counts = {name: program.end() for name, program in programs.items()}
    expect("accepted")
    producer.stdin.write("\n")
    producer.stdin.flush()
    return counts


def totals(counts):
    return {name: sum(parts.values()) for name, parts in counts.items()}


def print_profile(counts):
    for name, parts in counts.items():
        print(f"{name:24} {sum(parts.values()):9}")
        for part, number in sorted(parts.items(), key=lambda each: -each[1]):
            print(f"  {part:22} {number:9}")


class LatencyInstructions(unittest.TestCase):
    def test_of_a_single_task_are_no_more_than_before(self):
        baseline = json.loads(BASELINE.read_text())
        self.assertEqual(tuple(baseline), PROGRAMS)
        counts = count()
        for name, now in totals(counts).items():
            with self.subTest(name):
                print(f"{name:12} {now:9} of {baseline[name]:9}", file=sys.stderr)
                self.assertLessEqual(
                    now, baseline[name] * MARGIN,
                    f"the {name} takes {now} instructions for a task, {baseline[name]} before; "
                    "reduce them, or run latency_instructions_test.py --write and say why")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        BASELINE.write_text(json.dumps(totals(count()), indent=2) + "\n")
    elif sys.argv[1:] == ["profile"]:
        print_profile(count())
    else:
        unittest.main()
