# SPDX-License-Identifier: Apache-2.0
"""A worker that reaches only a primary which is cut off from all others: its attempt ends with its
lease, since nobody answers its heartbeats, and the task runs elsewhere.

    python3 cut_off_primary.py
"""

import contextlib
import sys

import network
from cluster_harness import MEMBERS, NODES, Cluster
from harness import cluster

WORKER = "w0"
LEASE = "2s"
# The lease, the time for which a primary that is cut off may answer, and some to see it.
ENDS_WITHIN = 6


def start_worker(rig, name, *options, inside=None):
    command = [cluster.BIN / "codeq-worker", "--coordinator", rig.address, "--name", name, *options]
    return rig.start(name, inside(command) if inside else command)


def cut(links, primary):
    """Cuts the primary off from all but the worker, and the worker from all but the primary."""
    others = [links.address(name) for name in NODES if name != primary]
    stack = contextlib.ExitStack()
    stack.enter_context(links.silenced(
        primary, others + [links.address(name) for name in MEMBERS]))
    stack.enter_context(links.silenced(WORKER, others))
    return stack


def check(rig, links):
    rig.start_all("--durability", "os")
    alone = start_worker(rig, WORKER, "--exec", "long=sleep 60",
                         inside=lambda command: links.inside(WORKER, command))
    task = rig.enqueue("long", "", "--lease", LEASE)
    cluster.wait_until(lambda: rig.status(task)["state"] == "leased", 20, "the worker has the task")
    primary = rig.primaries()[int(task.split("-")[4][:4], 16)]
    with cut(links, primary):
        cluster.wait_until(lambda: "worker stops a task" in alone.text(), ENDS_WITHIN,
                           "the attempt ends")
        start_worker(rig, "elsewhere", "--exec", "long=echo done")
        done = cluster.wait_until(
            lambda: rig.status(task)["state"] == "completed" and rig.result(task), 20,
            "the task runs elsewhere")
    assert done.strip() == "done", done
    assert alone.is_running()
    print(f"the attempt beside {primary} has ended")


def main():
    links = network.enter([*NODES, *MEMBERS, WORKER])
    rig = Cluster(links, 2)
    try:
        check(rig, links)
    finally:
        rig.close()


if __name__ == "__main__":
    sys.exit(main())
