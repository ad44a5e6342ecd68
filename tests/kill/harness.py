# SPDX-License-Identifier: Apache-2.0
"""Load on real programs while they are killed, stopped and restarted at random; then everything
heals, the queue drains, and the checker decides about the clients' logs.

    python3 harness.py --minutes 10 --durability sync --seed 7
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import cluster  # noqa: E402
import history  # noqa: E402
import proxy  # noqa: E402
from cluster import wait_until  # noqa: E402

HANDLERS = cluster.BUILD / "lib" / "libkill_handlers.so"
PRODUCER = cluster.BIN / "tests" / "kill_producer"
HEARTBEAT_REQUEST = 10
LEASE = 2.0
# Maximum time without progress while the queue drains.
STANDSTILL_SECONDS = 60
ANSWER_SECONDS = 120
# Good workers are only killed and stopped; the others have faulty networks.
GOOD = ("good1", "good2", "slow")
PROXIED = ("zombie", "forgetful")
UNFINISHED = ("leased", "ready", "gated", "scheduled")
QUEUES = ("kill", "kill2")
# The limits that producers name. Clients cannot tell when a lease was granted, so that the
# checker judges only how many there are at once.
LIMITS = {"one": ("--concurrency", "1"), "few": ("--concurrency", "3"),
          "pace": ("--rate", "20/1s", "--burst", "5")}


class Worker:
    """A worker that is restarted whenever it has ended."""

    def __init__(self, rig, name, network=None):
        self._rig = rig
        self.name = name
        self.network = network
        self.process = None
        self.starts = 0

    def start(self):
        self.starts += 1
        address = self.network.address if self.network else self._rig.address
        self.process = self._rig.start(self.name, [
            cluster.BIN / "codeq-worker", "--coordinator", address, "--name", self.name,
            "--handlers", HANDLERS, "--slots", "8", "--drain", "500ms", "--log-level", "warn"])


class Harness:
    """One run. `counts` has the number of faults of each kind."""

    IS_OF_CLUSTER = False
    # Tasks a second of each producer.
    RATE = 150

    def __init__(self, seed, durability, rig=None):
        self.random = random.Random(seed)
        self.durability = durability
        self.rig = rig or cluster.Cluster()
        self.folder = self.rig.path("history")
        self.folder.mkdir()
        os.environ["CODEQ_HISTORY"] = str(self.folder)
        self.counts = {}
        # (name, begin, end) of each fault, by the monotonic clock in nanoseconds.
        self.faults = []
        self.workers = []
        self.producers = []
        self.networks = []
        self._producer_runs = 0

    def close(self):
        for network in self.networks:
            network.close()
        self.rig.close()

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def start(self):
        self.start_coordinator()
        self.define_limits()
        for name in GOOD:
            self.workers.append(Worker(self.rig, name))
        for name in PROXIED:
            self.networks.append(proxy.Proxy(lambda: self.rig.port))
            self.workers.append(Worker(self.rig, name, self.networks[-1]))
        for worker in self.workers:
            worker.start()
        for _ in range(2):
            self.start_producer()

    def start_coordinator(self):
        self.rig.start_coordinator("--durability", self.durability, "--shards", "4")

    def define_limits(self):
        with open(self.folder / "limits.log", "w", encoding="utf-8") as log:
            for name, rule in LIMITS.items():
                command = ("limit", "set", name, *rule)
                wait_until(lambda words=command: self.rig.try_ctl(*words).returncode == 0,
                           ANSWER_SECONDS, f"limit {name} is set")
                if rule[0] == "--concurrency":
                    log.write(f"{time.monotonic_ns()} limit limit={name} concurrency={rule[1]}\n")

    def start_producer(self):
        self._producer_runs += 1
        name = f"p{self._producer_runs}"
        self.producers.append(self.rig.start(name, [
            PRODUCER, "load", self.rig.address, self.folder / f"{name}.log", name, self.RATE]))

    # Faults. After each one all processes run again, possibly after a pause.

    def pause(self, least, most):
        time.sleep(self.random.uniform(least, most))

    def kill_coordinator(self):
        self.rig.coordinator.kill()
        self.pause(0, 1)
        self.start_coordinator()

    def kill_coordinator_while_it_starts(self):
        self.rig.coordinator.kill()
        starting = self.rig.start("coordinator", [
            cluster.BIN / "codeq-coordinator", "--dev", "--data", self.rig.path("store"),
            "--listen", self.rig.address, "--durability", self.durability])
        self.pause(0, 0.3)
        starting.kill()
        self.start_coordinator()

    def stop_coordinator(self):
        self.rig.coordinator.terminate(20)
        self.start_coordinator()

    def suspend_coordinator(self):
        self.rig.coordinator.suspend()
        self.pause(0.1, 3)
        self.rig.coordinator.go_on()

    def kill_worker(self):
        worker = self.random.choice(self.workers)
        worker.process.kill()
        self.pause(0, 1)
        worker.start()

    def stop_worker(self):
        worker = self.random.choice(self.workers)
        worker.process.terminate(30)
        worker.start()

    def suspend_worker(self):
        """For up to two lease durations, so that it may come back as a zombie."""
        worker = self.random.choice(self.workers)
        worker.process.suspend()
        self.pause(0.1, 2 * LEASE)
        worker.process.go_on()

    def slow_down(self):
        """The worker hardly gets any time to send heartbeats or reports."""
        slow = self.workers[GOOD.index("slow")]
        for _ in range(12):
            slow.process.suspend()
            self.pause(0.1, 0.4)
            slow.process.go_on()
            self.pause(0.01, 0.05)

    def silence_zombie(self):
        """Drops its heartbeats for longer than a lease, but not its results."""
        zombie = self.networks[PROXIED.index("zombie")]
        zombie.drop(HEARTBEAT_REQUEST)
        self.pause(LEASE, 2 * LEASE)
        zombie.drop(None)

    def make_forgetful(self):
        """Drops the coordinator's answers to its requests, then cuts the connection."""
        forgetful = self.networks[PROXIED.index("forgetful")]
        forgetful.swallow_answers()
        self.pause(0.05, 1)
        forgetful.cut()

    def kill_producer(self):
        victim = self.random.choice(self.producers)
        victim.kill()
        self.producers.remove(victim)
        self.start_producer()

    def kill_all(self):
        for process in [worker.process for worker in self.workers] + [self.rig.coordinator]:
            process.kill()
        self.start_coordinator()
        for worker in self.workers:
            worker.start()

    FAULTS = (
        (kill_coordinator, 5), (kill_coordinator_while_it_starts, 1), (stop_coordinator, 1),
        (suspend_coordinator, 2), (kill_worker, 4), (stop_worker, 1), (suspend_worker, 3),
        (slow_down, 2), (silence_zombie, 2), (make_forgetful, 3), (kill_producer, 1), (kill_all, 1))

    def disturb(self, seconds):
        """Causes one fault after the other; each kind once before any is repeated."""
        faults, weights = zip(*self.FAULTS)
        waiting = list(faults)
        self.random.shuffle(waiting)
        over = time.monotonic() + seconds
        while time.monotonic() < over:
            self.rest()
            fault = waiting.pop() if waiting else self.random.choices(faults, weights)[0]
            name, begin = fault.__name__.replace("_", " "), time.monotonic_ns()
            self.count(name)
            fault(self)
            self.restart_crashed()
            self.faults.append((name, begin, time.monotonic_ns()))

    def rest(self):
        """The time between two faults."""
        self.pause(0.1, 1)

    def restart_crashed(self):
        """Restarts workers that were killed by a task. The coordinator is only killed by this
        harness."""
        for worker in self.workers:
            if not worker.process.is_running():
                self.count("worker killed by its task")
                worker.start()
        self.check_coordinators()

    def check_coordinators(self):
        if not self.rig.coordinator.is_running():
            raise RuntimeError("the coordinator ended by itself: " + self.coordinator_text())

    def coordinator_text(self):
        return self.rig.coordinator.text()[-3000:]

    # The end.

    def queue_counts(self):
        return [one for one in self.rig.stats()["queues"] if one["queue"] in QUEUES]

    def unfinished(self):
        # There are none while the shards that have the tasks cannot be asked.
        queues = wait_until(self.queue_counts, ANSWER_SECONDS, "counts of the queues")
        return sum(queue.get(state, 0) for queue in queues for state in UNFINISHED)

    def oldest_unfinished(self):
        """A few tasks of each unfinished state, as text."""
        return "\n".join(
            self.rig.ctl("list", "--queue", queue, "--state", state, "--limit", "5").decode()
            for queue in QUEUES for state in UNFINISHED)

    def limits_in_use(self):
        """The limits with leases or waiting tasks, or whose shards cannot be asked, as text."""
        used = []
        for name in LIMITS:
            told = self.rig.try_ctl("--json", "limit", "show", name)
            use = json.loads(told.stdout) if told.returncode == 0 else {}
            if (use.get("leased"), use.get("held")) != (0, 0):
                used.append(f"{name}: {told.stdout.decode()}{told.stderr.decode()}")
        return "\n".join(used)

    def check_limits(self):
        """No limit has lost a slot: when all tasks have ended, all are free."""
        try:
            wait_until(lambda: not self.limits_in_use(), STANDSTILL_SECONDS,
                       "all slots of limits are free")
        except TimeoutError as late:
            raise RuntimeError(f"{late}\n{self.limits_in_use()}") from late

    def other_than(self, before):
        """One more than the number of unfinished tasks, when that is another one than `before`;
        else None."""
        self.restart_crashed()
        time.sleep(0.1)
        left = self.unfinished()
        return left + 1 if left != before else None

    def drain(self):
        """Stops the producers and waits until all tasks have ended."""
        for producer in self.producers:
            # Its log exists once it handles the signal.
            wait_until((self.folder / f"{producer.name}.log").exists, ANSWER_SECONDS,
                       f"the log of {producer.name}")
            producer.popen.terminate()

        # The number grows when shards are counted that could not be asked before.
        left = self.unfinished()
        while left > 0:
            try:
                left = wait_until(lambda: self.other_than(left), STANDSTILL_SECONDS,
                                  f"another number of unfinished tasks than {left}") - 1
            except TimeoutError as late:
                raise RuntimeError(f"{late}\n{self.oldest_unfinished()}\n"
                                   f"{self.coordinator_text()}") from late
        # All tasks have ended; a producer may only wait for answers.
        for producer in self.producers:
            try:
                producer.popen.wait(ANSWER_SECONDS)
            except subprocess.TimeoutExpired as late:
                raise RuntimeError(
                    f"{producer.name} was not answered: {producer.text()}") from late
            if producer.popen.returncode != 0:
                raise RuntimeError(f"{producer.name} failed: {producer.text()}")

    def audit(self):
        """A fresh client asks how each task ended."""
        ids = sorted({event.fields["id"] for event in history.read_logs(self.folder)
                      if event.what in ("ack", "start")})
        done = subprocess.run(
            [str(PRODUCER), "audit", self.rig.address, str(self.folder / "audit.log")],
            input="\n".join(ids) + "\n", text=True, timeout=ANSWER_SECONDS, check=False)
        if done.returncode != 0:
            raise RuntimeError("the audit was not answered")

    def verdict(self):
        """Runs the checker; returns the violations as text, empty when there are none. Counts the
        events."""
        events = history.read_logs(self.folder)
        for event in events:
            if event.what in ("ack", "start", "done", "final"):
                self.count(f"event: {event.what}")
            if event.what == "send" and event.fields["limits"]:
                self.count("tasks with limits")
        stale = self.rig.stats().get("stale_reports")
        if stale is not None:
            self.counts["stale reports refused since the last start"] = stale
        return history.explain(events, history.check(events, self.IS_OF_CLUSTER))

    def run(self, seconds):
        self.start()
        self.disturb(seconds)
        self.drain()
        self.check_limits()
        self.audit()
        return self.verdict()


def report(counts, title):
    """Formats the counts; also writes them to the file named by CODEQ_TOTALS."""
    lines = [title] + [f"  {what}: {counts[what]}" for what in sorted(counts)]
    text = "\n".join(lines) + "\n"
    if "CODEQ_TOTALS" in os.environ:
        path = pathlib.Path(os.environ["CODEQ_TOTALS"])
        path.parent.mkdir(exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    return text


def folder_for_logs(named, wrong=None):
    """Where all logs are kept: the folder that was named, or a new one after a wrong history."""
    if named:
        return pathlib.Path(named)
    return pathlib.Path(tempfile.mkdtemp(prefix="codeq-history-")) if wrong else None


def keep_logs(run, folder):
    shutil.copytree(run.folder, folder / "history")
    for log in run.rig.directory.glob("*.log"):
        shutil.copy(log, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="of load with faults")
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    parser.add_argument("--seed", type=int, default=None, help="of the faults")
    parser.add_argument("--keep", metavar="DIR", help="copy all logs there")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 31)
    print(f"CODEQ_SEED={seed}", flush=True)
    run = Harness(seed, options.durability)
    kept = folder_for_logs(options.keep)
    try:
        wrong = run.run(options.minutes * 60)
        kept = folder_for_logs(options.keep, wrong)
    finally:
        if kept:
            keep_logs(run, kept)
        run.close()
    print(report(run.counts, f"kills in {options.durability} mode, seed {seed}:"))
    print(f"{wrong}\nall logs are in {kept}" if wrong else "the history is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
