# SPDX-License-Identifier: Apache-2.0
"""Runs codeq and other queues in turn, with the same tasks, and prints one ratio per comparison:
the median of the rounds, with the smallest and the largest. Each run is a line of JSON before it.

Each round runs one after the other, so both see the machine as it is at that time. Ratios of
tasks per second are codeq's over the peer's: more is better; those of CPU and latency are the same
way round: less is better."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin"
START_MAX_S = 10
# Long after the time at which the peer's client gives up.
RUN_MAX_S = 600


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


SERVERS = {
    ("redis", "everysec"): ["redis-server", "--appendonly", "yes", "--appendfsync", "everysec",
                            "--save", "", "--bind", "127.0.0.1", "--port", "{port}",
                            "--dir", "{data}"],
    ("redis", "always"): ["redis-server", "--appendonly", "yes", "--appendfsync", "always",
                          "--save", "", "--bind", "127.0.0.1", "--port", "{port}",
                          "--dir", "{data}"],
    ("jetstream", "file"): ["nats-server", "--jetstream", "--store_dir", "{data}",
                            "--addr", "127.0.0.1", "--port", "{port}"],
    ("beanstalkd", "f50"): ["beanstalkd", "-l", "127.0.0.1", "-p", "{port}", "-b", "{data}",
                            "-s", "104857600"],
    ("beanstalkd", "f0"): ["beanstalkd", "-l", "127.0.0.1", "-p", "{port}", "-b", "{data}",
                           "-f", "0", "-s", "104857600"],
}


@contextlib.contextmanager
def server(peer, mode):
    """Starts a peer's server in a directory of its own; yields its port and process."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="codeq-peer-") as data:
        words = [word.format(port=port, data=data) for word in SERVERS[peer, mode]]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as made:
            try:
                end = time.monotonic() + START_MAX_S
                while not is_open(port):
                    if made.poll() is not None or time.monotonic() > end:
                        raise RuntimeError(f"{peer} did not start: {' '.join(words)}")
                    time.sleep(0.02)
                yield port, made
            finally:
                made.kill()


def run_json(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=RUN_MAX_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run_peer(peer, mode, figure, *numbers):
    with server(peer, mode) as (port, process):
        line = run_json(BUILD / "codeq-peer", peer, figure, port, *numbers)
        line["mode"] = mode
        if figure == "cycle":
            server_us = cpu_seconds(process.pid) * 1e6 / line["tasks"]
            line["cpu_us_per_task"] = round(server_us + line["client_cpu_us_per_task"], 3)
    return line


def run_ours(*words):
    return run_json(BUILD / "codeq-bench", *words)


def comparisons(wanted):
    """Yields name, codeq's run, the peer's run, and the figures to compare."""
    payload, seconds = str(wanted.payload), str(wanted.seconds)

    def cycle(durability, *more, tasks=wanted.tasks):
        return lambda: run_ours("cycle", "--durability", durability, "--tasks", tasks,
                                "--payload", payload, *more)

    def peer_cycle(peer, mode, tasks=wanted.tasks):
        return lambda: run_peer(peer, mode, "cycle", tasks, payload)

    # Each of the peer's puts and deletes waits for the disk.
    few = max(wanted.tasks // 30, 1)

    rates = ("tasks_per_s", "cpu_us_per_task")
    return [
        ("cycle os / redis everysec", cycle("os"), peer_cycle("redis", "everysec"), rates),
        ("cycle sync / redis always", cycle("sync"), peer_cycle("redis", "always"), rates),
        ("cycle os, batch 1 / redis everysec", cycle("os", "--batch", "1"),
         peer_cycle("redis", "everysec"), rates),
        ("cycle os / jetstream file", cycle("os"), peer_cycle("jetstream", "file"), rates),
        ("cycle os / beanstalkd f50", cycle("os"), peer_cycle("beanstalkd", "f50"), rates),
        ("cycle sync / beanstalkd f0", cycle("sync", tasks=few),
         peer_cycle("beanstalkd", "f0", tasks=few), rates),
        ("latency os / redis everysec",
         lambda: run_ours("latency", "--durability", "os", "--rate", "200", "--seconds", seconds,
                          "--payload", payload),
         lambda: run_peer("redis", "everysec", "latency", 200, seconds, payload),
         ("p50_ms", "p99_ms", "p999_ms")),
    ]


def compare(name, ours, peer, figures, rounds):
    ratios = {figure: [] for figure in figures}
    for _ in range(rounds):
        try:
            lines = ours(), peer()
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            print(f"compare: {name}: {failure}", file=sys.stderr, flush=True)
            continue
        for line in lines:
            print(json.dumps(line), flush=True)
        for figure in figures:
            ratios[figure].append(lines[0][figure] / lines[1][figure])
    return [(name, figure, statistics.median(found), min(found), max(found))
            for figure, found in ratios.items() if found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--tasks", type=int, default=300_000, help="of a cycle; default: 300000")
    parser.add_argument("--payload", type=int, default=256, help="bytes; default: 256")
    parser.add_argument("--seconds", type=int, default=10, help="of latency runs; default: 10")
    parser.add_argument("--only", default="", help="comparisons whose name has this in it")
    wanted = parser.parse_args()
    for name in ("codeq-bench", "codeq-peer"):
        if not shutil.which(BUILD / name):
            sys.exit(f"compare: {BUILD / name} is missing; build it, or set CODEQ_BUILD")
    rows = []
    for name, ours, peer, figures in comparisons(wanted):
        if wanted.only in name:
            rows += compare(name, ours, peer, figures, wanted.rounds)
    for name, figure, middle, low, high in rows:
        print(f"{name:38} {figure:16} {middle:6.2f}  ({low:.2f} - {high:.2f})")


if __name__ == "__main__":
    main()
