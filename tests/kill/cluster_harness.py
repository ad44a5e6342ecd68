# SPDX-License-Identifier: Apache-2.0
"""The harness with a cluster: three coordinators and three members of etcd, each in a network
namespace of its own, which are killed, suspended, stopped and cut off at random.

    python3 cluster_harness.py --minutes 10 --durability sync --seed 7
"""

import argparse
import contextlib
import pathlib
import random
import sys
import time

import harness
import history
import network
import own_disk
from clusters import coordinators
from harness import cluster

NODES = ("c0", "c1", "c2")
MEMBERS = ("e0", "e1", "e2")
SHARDS = 6
WORKERS = ("good1", "good2", "slow")
# A coordinator with less than 2 GiB of free space is given no copies.
DISK_BYTES = 4096 * own_disk.MEBIBYTE
# With less free space a coordinator takes no tasks, and with a quarter of it hands none out.
FREE_BYTES = 64 * own_disk.MEBIBYTE
# The longest time for which a fault lasts, and the part of a run that it may last at most.
LONG = 5
LONG_PART = 1 / 8
# After a fault each shard serves again within this time, in seconds. In runs with faults of all
# lengths so many faults are followed by a calm in which that is checked. Elsewhere the next fault
# may come before a shard can serve: a new primary alone waits for 2 s.
SERVED_WITHIN = 5
FAULTS_BEFORE_CALM = 8


class Cluster(coordinators.Coordinators):
    """Coordinators and members of etcd in a network."""

    def __init__(self, links, copies):
        cluster.Cluster.__init__(self)
        self.links = links
        self.replicas, self.shard_count = copies, SHARDS
        self.nodes = {}
        self.hosts = {name: links.address(name) for name in NODES}
        self.ports = {name: 7400 for name in NODES}
        self.http_ports = {name: 7480 for name in NODES}
        self.port = 7400
        self.disks = {name: own_disk.OwnDisk(self.path(f"store-{name}"), DISK_BYTES)
                      for name in NODES}
        self.members = {}
        for member in MEMBERS:
            self.start_member(member)

    @property
    def etcd_url(self):
        return ",".join(f"http://{self.links.address(member)}:2379" for member in MEMBERS)

    @property
    def address(self):
        return ",".join(self.address_of(name) for name in NODES)

    def start(self, name, command):
        # A preloaded library may not come before a sanitizer's.
        if name in self.hosts and not cluster.SANITIZERS:
            library = cluster.BUILD / "lib" / "libe2e_stalled_disk.so"
            command = ["env", f"LD_PRELOAD={library}", f"STALLED_DISK={self.hang_sign(name)}",
                       *command]
        if name in self.hosts or name in MEMBERS:
            command = self.links.inside(name, command)
        return super().start(name, command)

    def hang_sign(self, name):
        """While this file exists, nothing reaches the disk of the coordinator."""
        return self.path(f"{name}.hangs")

    def close(self):
        self.kill_all()
        for disk in self.disks.values():
            disk.close()
        super().close()

    def start_member(self, name):
        url = f"http://{self.links.address(name)}"
        all_members = ",".join(f"{one}=http://{self.links.address(one)}:2380" for one in MEMBERS)
        self.members[name] = self.start(name, [
            "etcd", "--name", name, "--data-dir", self.path(f"etcd-{name}"),
            "--listen-client-urls", f"{url}:2379", "--advertise-client-urls", f"{url}:2379",
            "--listen-peer-urls", f"{url}:2380", "--initial-advertise-peer-urls", f"{url}:2380",
            "--initial-cluster", all_members])


class ClusterHarness(harness.Harness):
    """One run. `counts` has the number of faults of each kind."""

    IS_OF_CLUSTER = True
    # A backlog that grows all the time would hide what happens to single tasks.
    RATE = 80

    def __init__(self, seed, durability, copies, links):
        super().__init__(seed, durability, Cluster(links, copies))
        self.links = links
        self.options = ("--durability", durability, "--free-bytes", str(FREE_BYTES))
        self.disturbed_from = 0
        self.longest = LONG

    def start(self):
        self.rig.start_all(*self.options)
        self.define_limits()
        for name in WORKERS:
            self.workers.append(harness.Worker(self.rig, name))
            self.workers[-1].start()
        for _ in range(2):
            self.start_producer()

    def start_node(self, name):
        self.rig.start_node(name, *self.options)

    def check_coordinators(self):
        for name, node in {**self.rig.nodes, **self.rig.members}.items():
            if not node.is_running():
                raise RuntimeError(f"{name} ended by itself: {node.text()[-3000:]}")

    def coordinator_text(self):
        return "\n".join(node.text()[-3000:] for node in self.rig.nodes.values())

    # Faults.

    def some_nodes(self, count):
        return self.random.sample(NODES, count)

    def kill_nodes(self, names):
        for name in names:
            self.rig.nodes[name].kill()
        self.pause(0, self.longest if self.random.random() < 0.5 else 0.5)
        for name in names:
            self.start_node(name)

    def kill_coordinator(self):
        self.kill_nodes(self.some_nodes(1))

    def kill_two_coordinators(self):
        self.kill_nodes(self.some_nodes(2))

    def kill_all_coordinators(self):
        self.kill_nodes(NODES)

    def kill_one_coordinator_after_the_other(self):
        for name in self.some_nodes(3):
            self.kill_nodes([name])

    def stop_coordinator(self):
        name, = self.some_nodes(1)
        self.rig.nodes[name].terminate(30)
        self.start_node(name)

    def suspend_coordinator(self):
        self.suspend(self.rig.nodes, self.some_nodes(1))

    def suspend_two_coordinators(self):
        self.suspend(self.rig.nodes, self.some_nodes(2))

    def suspend(self, processes, names):
        for name in names:
            processes[name].suspend()
        self.pause(0.1, self.longest)
        for name in names:
            processes[name].go_on()

    def while_cut(self, *cuts):
        with contextlib.ExitStack() as stack:
            for cut in cuts:
                stack.enter_context(cut)
            self.pause(0.1, self.longest)

    def isolate_coordinator(self):
        name, = self.some_nodes(1)
        self.while_cut(self.links.isolated(name))

    def isolate_coordinator_and_kill_another(self):
        isolated, killed = self.some_nodes(2)
        with self.links.isolated(isolated):
            self.pause(0, 2)
            self.kill_nodes([killed])

    def cut_link_of_coordinators(self):
        one, other = self.some_nodes(2)
        self.while_cut(self.links.silenced(one, [self.links.address(other)]),
                       self.links.silenced(other, [self.links.address(one)]))

    def cut_link_of_coordinators_one_way(self):
        one, other = self.some_nodes(2)
        self.while_cut(self.links.silenced(one, [self.links.address(other)]))

    def cut_coordinator_from_coordinators(self):
        name, = self.some_nodes(1)
        others = [other for other in NODES if other != name]
        self.while_cut(
            self.links.silenced(name, [self.links.address(other) for other in others]),
            *(self.links.silenced(other, [self.links.address(name)]) for other in others))

    def cut_coordinator_from_etcd(self):
        name, = self.some_nodes(1)
        self.while_cut(self.links.silenced(name, [self.links.address(one) for one in MEMBERS]))

    def cut_coordinator_from_clients(self):
        name, = self.some_nodes(1)
        self.while_cut(self.links.silenced(name, [self.links.base]))

    def kill_etcd_member(self):
        self.kill_members([self.random.choice(MEMBERS)])

    def kill_etcd_quorum(self):
        self.kill_members(self.random.sample(MEMBERS, 2))

    def kill_members(self, names):
        for name in names:
            self.rig.members[name].kill()
        self.pause(0, self.longest)
        for name in names:
            self.rig.start_member(name)

    def suspend_etcd_member(self):
        self.suspend(self.rig.members, [self.random.choice(MEMBERS)])

    def hang_disk(self):
        name, = self.some_nodes(1)
        sign = self.rig.hang_sign(name)
        sign.touch()
        try:
            self.pause(0.1, self.longest)
        finally:
            sign.unlink()

    def fill_disk(self):
        """Leaves no space, or too little for new tasks, or for claims. Without any a coordinator
        stops as soon as it has to write."""
        name, = self.some_nodes(1)
        self.rig.disks[name].fill(self.random.choice((0, FREE_BYTES // 8, FREE_BYTES // 2)))
        self.pause(0.1, self.longest)
        self.rig.disks[name].free()
        if not self.rig.nodes[name].is_running():
            self.count("coordinator that stopped without space")
            self.start_node(name)

    def move_shard(self):
        shard, name = self.random.randrange(SHARDS), self.random.choice(NODES)
        # It is refused when the node has no copy in sync.
        self.rig.try_ctl("cluster", "move", str(shard), "--to", name)
        self.pause(0, 1)

    def balance(self):
        self.rig.try_ctl("cluster", "balance")

    FAULTS = (
        (kill_coordinator, 6), (kill_two_coordinators, 2), (kill_all_coordinators, 1),
        (kill_one_coordinator_after_the_other, 1), (stop_coordinator, 3),
        (suspend_coordinator, 4), (suspend_two_coordinators, 1), (isolate_coordinator, 4),
        (isolate_coordinator_and_kill_another, 1), (cut_link_of_coordinators, 2),
        (cut_link_of_coordinators_one_way, 3), (cut_coordinator_from_coordinators, 2),
        (cut_coordinator_from_etcd, 2), (cut_coordinator_from_clients, 2), (kill_etcd_member, 3),
        (kill_etcd_quorum, 1), (suspend_etcd_member, 2), (hang_disk, 3), (fill_disk, 3),
        (move_shard, 4), (balance, 1),
        (harness.Harness.kill_worker, 2), (harness.Harness.stop_worker, 1),
        (harness.Harness.suspend_worker, 2), (harness.Harness.slow_down, 1),
        (harness.Harness.kill_producer, 1))

    def disturb(self, seconds):
        self.disturbed_from = time.monotonic_ns()
        self.longest = min(LONG, seconds * LONG_PART)
        super().disturb(seconds)

    def rest(self):
        is_calm = self.longest == LONG and len(self.faults) % FAULTS_BEFORE_CALM == 0
        if is_calm and self.faults:
            self.count("calm")
            time.sleep(SERVED_WITHIN + 1)
        super().rest()

    def verdict(self):
        wrong = super().verdict()
        events = history.read_logs(self.folder)
        shards = range(self.rig.shard_count)
        for what, pauses in pauses_of_shards(events, self.disturbed_from, shards).items():
            longest = self.note_longest(what, pauses)
            if self.longest == LONG and longest > SERVED_WITHIN * 1000:
                wrong += (f"a shard served no {what} for {longest} ms without a fault; "
                          f"at most {SERVED_WITHIN} s are allowed\n")
        return wrong

    def note_longest(self, what, pauses):
        """Counts the longest pause, what happened in it, and the longest time between two faults
        in which a shard served nothing; returns the latter in milliseconds."""
        begin, end = max(pauses, key=lambda pause: pause[1] - pause[0])
        names = ", ".join(name for name, first, last in self.faults if first < end and last > begin)
        place = f"longest pause of a shard, {what}, ms"
        self.counts[place] = f"{(end - begin) // 1_000_000} ({names or 'without faults'})"
        longest = 0
        for pause in sorted(pauses, key=lambda pause: pause[0] - pause[1]):
            if pause[1] - pause[0] <= longest:
                break
            longest = max(longest, longest_undisturbed(pause, self.faults))
        longest //= 1_000_000
        self.counts[f"{place}, between two faults"] = longest
        return longest


def pauses_of_shards(events, begin, shards):
    """The times, as (begin, end), between two acknowledgements, and two starts, of one shard from
    `begin` until the last request was sent, in nanoseconds. One that was silent until then, or all
    the time, counts too."""
    end = max((event.at for event in events if event.what == "send"), default=begin)
    names = {"ack": "acknowledgements", "start": "starts"}
    last = {(what, shard): begin for what in names for shard in shards}
    pauses = {name: [] for name in names.values()}
    for event in events:
        if event.what not in names or not begin <= event.at <= end:
            continue
        place = event.what, coordinators.shard_of(event.fields["id"])
        pauses[names[event.what]].append((last[place], event.at))
        last[place] = event.at
    for (what, _), at in last.items():
        pauses[names[what]].append((at, end))
    return pauses


def longest_undisturbed(pause, faults):
    """The longest time between two faults, which follow each other, in a pause."""
    begin, end = pause
    longest = 0
    for _, first, last in faults:
        if first >= end:
            break
        longest = max(longest, first - begin)
        begin = max(begin, last)
    return max(longest, end - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, help="of load with faults")
    length.add_argument("--seconds", type=float, help="the same")
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    parser.add_argument("--seed", type=int, default=None, help="of the faults")
    parser.add_argument("--copies", type=int, choices=(2, 3), default=None,
                        help="of each shard [default: by the seed]")
    parser.add_argument(
        "--keep", metavar="DIR", help="copy all logs there, and write the times of the faults")
    options = parser.parse_args()
    links = network.enter([*NODES, *MEMBERS])
    seed = options.seed if options.seed is not None else random.randrange(1 << 31)
    copies = options.copies or 2 + seed % 2
    print(f"CODEQ_SEED={seed} copies={copies}", flush=True)
    run = ClusterHarness(seed, options.durability, copies, links)
    kept = harness.folder_for_logs(options.keep)
    try:
        wrong = run.run(options.seconds or options.minutes * 60)
        kept = harness.folder_for_logs(options.keep, wrong)
    finally:
        if kept:
            harness.keep_logs(run, kept)
            (kept / "faults.txt").write_text(
                "".join(f"{begin} {end} {name}\n" for name, begin, end in run.faults))
        run.close()
    title = f"faults of a cluster in {options.durability} mode, {copies} copies, seed {seed}:"
    print(harness.report(run.counts, title))
    print(f"{wrong}\nall logs are in {kept}" if wrong else "the history is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
