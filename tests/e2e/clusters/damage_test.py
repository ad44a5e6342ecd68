# SPDX-License-Identifier: Apache-2.0
"""A coordinator whose disk has damaged its store replaces it by copies of the others, unless it has
the last copy of a shard."""

import collections
import pathlib
import random
import time
import unittest

from cluster import wait_until
from clusters import coordinators

TASKS = "/v1/codeq/tasks"
PAYLOAD_BYTES = 16 << 10  # Those of a block of the store's tables.
FAILED, LASTING = 1, 2  # Statuses of a process that a restart helps, and that it does not.


class DamagedStores(coordinators.CoordinatorsTest):
    count = 3

    def setUp(self):
        self.cluster = coordinators.Coordinators(count=self.count)
        self.addCleanup(self.cluster.close)
        self.payloads = {}

    def add_tasks(self, name, count):
        """Adds tasks at a node, and notes those that are acknowledged with their payloads."""
        for _ in range(count):
            payload = random.randbytes(PAYLOAD_BYTES // 2).hex()
            key = f"k{len(self.payloads)}"
            # A shard may wait for a fail-over.
            status, task, _ = wait_until(
                lambda body={"queue": "q", "payload": payload, "key": key}: next(
                    (a for a in [self.cluster.http(name, "POST", TASKS, body, 20)] if a[0] != 503),
                    None),
                20, "the shard is served")
            self.assertEqual(202, status, task)
            self.payloads[task["id"]] = payload

    def check_tasks(self, name):
        """Reads all acknowledged tasks at a node."""
        for task, payload in self.payloads.items():
            status, found, _ = self.cluster.http(name, "GET", f"{TASKS}/{task}", timeout=20)
            self.assertEqual(200, status, found)
            self.assertIn(payload, str(found["payload"]))

    def read_until_it_ends(self, victim, name):
        """Reads tasks at a node until another one, which serves some of them, has ended."""
        def has_ended():
            for task in self.payloads:
                if not self.cluster.nodes[victim].is_running():
                    return True
                try:
                    self.cluster.http(name, "GET", f"{TASKS}/{task}", timeout=20)
                except OSError:
                    pass
            return False

        wait_until(has_ended, 60, f"{victim} has read what is damaged")
        self.assertEqual(FAILED, self.cluster.nodes[victim].wait(1))
        self.assertIn("coordinator stops at once", self.cluster.nodes[victim].text())
        self.assertIn("the next start sets it aside", self.cluster.nodes[victim].text())

    def store(self, name):
        return pathlib.Path(self.cluster.path(f"store-{name}"))

    def set_aside(self, name):
        """The stores of a node that were set aside."""
        return sorted(self.cluster.directory.glob(f"store-{name}.damaged-*"))

    def stop_with_tables(self, name):
        """Stops a node, whose store has its tasks in tables afterwards: a start flushes its log."""
        for _ in range(2):
            self.cluster.await_in_sync(nodes=self.running())
            self.cluster.nodes[name].terminate(30)
            self.cluster.start_node(name)
        self.cluster.await_in_sync(nodes=self.running())
        self.cluster.nodes[name].terminate(30)
        self.assertTrue(list(self.store(name).glob("*.sst")))

    def running(self):
        return sorted(name for name, node in self.cluster.nodes.items() if node.is_running())

    def flip_payloads(self, name):
        """Flips a bit of payloads in the store's tables. A start reads the blocks where the data of
        a shard begin or end, so these stay as they are."""
        flipped = 0
        for table in self.store(name).glob("*.sst"):
            data = bytearray(table.read_bytes())
            places = collections.defaultdict(list)
            for task, payload in self.payloads.items():
                at = data.find(payload.encode())
                if at >= 0:
                    places[coordinators.shard_of(task)].append(at)
            for at in (at for found in places.values() for at in sorted(found)[2:-2]):
                data[at + PAYLOAD_BYTES // 2] ^= 1
                flipped += 1
            table.write_bytes(data)
        self.assertGreater(flipped, 5)

    def damage_footers(self, name):
        """Overwrites the ends of the store's tables, so that it cannot be opened."""
        for table in self.store(name).glob("*.sst"):
            data = bytearray(table.read_bytes())
            data[-200:] = random.randbytes(200)
            table.write_bytes(data)

    def copies_of(self, name):
        """The ids of the node's copies in etcd."""
        return {replica for record in self.cluster.records().values()
                for replica, where in record["replicas"].items() if where == name}

    def supervise_until_in_sync(self, name, before):
        """Starts a node again whenever it ends, as a service manager does, until it has copies in
        sync that are others than before."""
        def is_back():
            node = self.cluster.nodes[name]
            if not node.is_running():
                self.assertEqual(FAILED, node.wait(1), node.text()[-2000:])
                self.cluster.start_node(name)
            own = self.copies_of(name)
            return own and not own & before

        wait_until(is_back, 90, f"{name} has new copies")
        self.cluster.await_in_sync(nodes=self.running())

    def log_of(self, name):
        return self.cluster.path(f"{name}.log").read_text(errors="replace")

    def await_log(self, name, words):
        wait_until(lambda: words in self.log_of(name), 60, f"{name} logs: {words}")

    def expect_end(self, name, status, words):
        """Starts a node, which has to end by itself with these words."""
        said_before = len(self.log_of(name))
        node = self.cluster.start_node(name)
        self.assertEqual(status, node.wait(60), node.text()[-2000:])
        self.assertIn(words, node.text()[said_before:])


class ReplacedStore(DamagedStores):
    def check_replaced(self, name):
        aside = self.set_aside(name)
        self.assertEqual(1, len(aside), aside)
        self.assertTrue((aside[0] / "store-damaged").exists())
        self.assertIn(f"rm -r {aside[0]}", self.log_of(name))
        self.add_tasks("c0", 10)
        self.check_tasks("c0")
        # The new copies are whole: without c0 they serve its shards.
        self.cluster.nodes["c0"].kill()
        wait_until(lambda: "c0" not in self.cluster.primaries().values(), 30, "a fail-over")
        self.check_tasks(name)
        self.cluster.nodes[name].terminate(30)
        self.cluster.ctl("verify", self.store(name))

    def test_damage_that_a_read_finds_costs_no_task(self):
        self.cluster.start_all()
        self.add_tasks("c0", 60)
        self.stop_with_tables("c1")
        self.add_tasks("c0", 10)
        self.flip_payloads("c1")
        before = self.copies_of("c1")

        self.cluster.start_node("c1")
        self.cluster.await_in_sync()
        self.assertEqual(before, self.copies_of("c1"))
        self.read_until_it_ends("c1", "c0")
        self.add_tasks("c0", 10)
        self.supervise_until_in_sync("c1", before)

        self.check_replaced("c1")

    def test_store_that_cannot_be_opened_costs_no_task(self):
        self.cluster.start_all()
        self.add_tasks("c0", 40)
        self.stop_with_tables("c1")
        self.damage_footers("c1")
        before = self.copies_of("c1")

        self.expect_end("c1", FAILED, "the store is damaged: the next start sets it aside")
        self.supervise_until_in_sync("c1", before)

        self.check_replaced("c1")


class KeptStore(DamagedStores):
    count = 2

    def test_last_copy_is_kept_until_an_operator_decides(self):
        self.cluster.start_all()
        self.add_tasks("c0", 40)
        self.stop_with_tables("c1")
        self.cluster.start_node("c1")
        self.cluster.await_in_sync()
        self.cluster.nodes["c0"].kill()
        wait_until(lambda: self.in_sync_nodes() == {"c1"}, 30, "c1 is alone in sync")
        self.cluster.nodes["c1"].terminate(30)
        self.flip_payloads("c1")
        self.cluster.start_node("c1")
        self.cluster.await_in_sync(copies=1, nodes=["c1"])
        self.read_until_it_ends("c1", "c1")

        words = "no other coordinator has a copy in sync of these shards: 0, 1, 2, 3, 4, 5"
        self.expect_end("c1", LASTING, words)
        self.cluster.start_node("c0")
        self.expect_end("c1", LASTING, words)
        self.assertIn("force-primary", self.log_of("c1"))
        self.assertEqual([], self.set_aside("c1"))
        before = self.copies_of("c1")
        for shard in range(self.cluster.shard_count):
            wait_until(lambda one=shard: self.force("c0", one), 40, f"shard {shard} is forced")
        self.cluster.start_node("c1")
        self.supervise_until_in_sync("c1", before)
        self.assertEqual(1, len(self.set_aside("c1")))

    def in_sync_nodes(self):
        return {one["replicas"][replica] for one in self.cluster.records().values()
                for replica in one["in_sync"]}

    def force(self, name, shard):
        """Makes the copy of a node the primary by force, once the others count as gone."""
        try:
            status, told, _ = self.cluster.http(
                name, "POST", f"/v1/codeq/admin/cluster/shards/{shard}/force-primary",
                {"to": name, "confirm": "lose what c1 did not copy"})
        except OSError:
            return False
        return status == 200 or "primary already" in str(told)

    def stop_both_in_sync(self):
        """Ends both nodes at once, so that each counts as in sync for all shards."""
        self.cluster.start_all()
        self.add_tasks("c0", 40)
        self.stop_with_tables("c1")
        self.cluster.start_node("c1")
        self.stop_with_tables("c0")
        self.cluster.start_node("c0")
        self.cluster.await_in_sync()
        for name in ("c0", "c1"):
            self.cluster.nodes[name].popen.kill()
        for name in ("c0", "c1"):
            self.cluster.nodes[name].kill()
        self.assertEqual({2}, {len(one["in_sync"]) for one in self.cluster.records().values()})

    def test_store_is_kept_until_the_other_coordinator_serves(self):
        self.stop_both_in_sync()
        self.damage_footers("c1")
        before = self.copies_of("c1")
        self.expect_end("c1", FAILED, "the next start sets it aside")

        self.cluster.start_node("c1")
        self.await_log("c1", "coordinator waits until others serve the shards")
        time.sleep(3)
        self.assertEqual([], self.set_aside("c1"))
        self.cluster.start_node("c0")
        self.supervise_until_in_sync("c1", before)

        self.assertEqual(1, len(self.set_aside("c1")))
        self.check_tasks("c1")

    def test_two_damaged_copies_are_both_kept(self):
        self.stop_both_in_sync()
        for name in ("c0", "c1"):
            self.damage_footers(name)
            self.expect_end(name, FAILED, "the next start sets it aside")
        records = {number: record["in_sync"] for number, record in self.cluster.records().items()}

        for name in ("c0", "c1"):
            self.cluster.start_node(name)
        for name in ("c0", "c1"):
            self.assertEqual(FAILED, self.cluster.nodes[name].wait(60))
            self.assertIn("no other coordinator serves these shards yet: 0, 1, 2, 3, 4, 5",
                          self.log_of(name))
            self.assertEqual([], self.set_aside(name))
        self.assertEqual(records, {number: record["in_sync"]
                                   for number, record in self.cluster.records().items()})


if __name__ == "__main__":
    unittest.main()
