# SPDX-License-Identifier: Apache-2.0
"""Fairness keys that a queue takes from a header of its tasks, and how long they wait."""

import concurrent.futures
import json
import unittest

import cluster
from cluster import wait_until


class FairnessHeader(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator("--shards", "1")
        self.cluster.ctl("queue", "set", "sleep", "--fairness-key", "header=customer")
        self.cluster.ctl("queue", "pause", "sleep")

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def add(self, *options):
        return self.cluster.enqueue("sleep", f"{self.path} 50 0", *options)

    def add_for(self, customer, *options):
        return self.add("--header", f"customer={customer}", *options)

    def keys(self):
        return [(one["fairness_key"], one["fairness_weight"], one["ready"])
                for one in self.json("queue", "fairness", "sleep")["keys"]]

    def test_tasks_have_the_key_of_their_header_also_after_a_crash(self):
        self.assertEqual("customer", self.json("queue", "show", "sleep")["fairness_header"])
        task = self.add_for("a")
        self.add_for("b", "--fairness-weight", "2")
        self.add_for("b", "--fairness-key", "own")
        self.add()
        wanted = [("", 1, 1), ("a", 1, 1), ("b", 2, 1), ("own", 1, 1)]
        self.assertEqual(wanted, self.keys())
        self.assertEqual("a", self.cluster.status(task)["fairness_key"])

        self.cluster.coordinator.kill()
        self.cluster.start_coordinator("--shards", "1")
        self.assertEqual(wanted, self.keys())
        self.add_for("a")
        self.assertEqual(("a", 1, 2), self.keys()[1])

        self.cluster.ctl("queue", "set", "sleep", "--no-fairness-key")
        self.assertEqual("", self.json("queue", "show", "sleep")["fairness_header"])
        self.add_for("a")
        self.assertEqual([("", 1, 2), ("a", 1, 2)], self.keys()[:2])

    def check_flood(self, slots):
        flood = [self.add_for("flood") for _ in range(40)]
        small = [self.add_for("small") for _ in range(4)]
        self.cluster.start_worker("w", "--slots", slots, "--prefetch", "0")
        self.cluster.ctl("queue", "resume", "sleep")
        for task in flood + small:
            self.cluster.result(task)

        started = [line.split()[4] for line in self.path.read_text().splitlines()]
        # In order of arrival the last one is the 44th. How many tasks of the flood come between two
        # of them follows from measured run times, which a busy machine makes several times as long.
        self.assertLess(max(started.index(task) for task in small), 30)

    def test_small_customer_is_not_held_up_by_a_flood(self):
        self.check_flood("1")

    def test_small_customer_is_not_held_up_by_a_flood_behind_a_limit(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.cluster.ctl("queue", "set", "sleep", "--limit", "one")
        self.check_flood("8")

    def test_a_weight_that_an_operator_sets_holds_at_once_and_after_a_crash(self):
        for customer in ("a", "b"):
            self.add_for(customer)
        self.json("queue", "fairness", "sleep", "--key", "b", "--weight", "4")
        self.assertEqual([("a", 1, 1), ("b", 4, 1)], self.keys())
        self.add_for("b", "--fairness-weight", "2")
        self.assertEqual(("b", 4, 2), self.keys()[1])
        self.assertEqual([{"fairness_key": "b", "fairness_weight": 4}],
                         self.json("queue", "show", "sleep")["fairness_weights"])

        self.cluster.coordinator.kill()
        self.cluster.start_coordinator("--shards", "1")
        self.assertEqual(("b", 4, 2), self.keys()[1])
        self.cluster.ctl("queue", "fairness", "sleep", "--key", "b", "--no-weight")
        self.add_for("b", "--fairness-weight", "3")
        self.assertEqual(("b", 3, 3), self.keys()[1])
        self.assertIn("--key is required",
                      self.cluster.ctl_error("queue", "fairness", "sleep", "--weight", "2"))

    def test_weights_that_are_set_at_once_are_all_kept(self):
        keys = [f"key-{number}" for number in range(8)]

        def change(number):
            self.cluster.ctl("queue", "fairness", "sleep", "--key", keys[number], "--weight", "3")
            self.cluster.ctl("queue", "set", "sleep", "--max-depth", str(100 + number))

        with concurrent.futures.ThreadPoolExecutor(len(keys)) as operators:
            list(operators.map(change, range(len(keys))))
        shown = self.json("queue", "show", "sleep")
        self.assertEqual([{"fairness_key": key, "fairness_weight": 3} for key in keys],
                         shown["fairness_weights"])
        self.assertIn(shown["max_depth"], range(100, 108))

    def test_a_task_of_a_key_whose_turn_comes_later_says_so(self):
        self.cluster.ctl("queue", "resume", "sleep")
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        self.cluster.enqueue("sleep", f"{self.path} 60000 1", "--header", "customer=a")
        wait_until(self.path.exists, 10, "the handler runs")
        first = [self.add_for("a") for _ in range(2)]
        later = [self.add_for("b") for _ in range(3)]

        wait_until(lambda: self.json("explain", first[0])["reason"] == "no_free_slots", 10,
                   "it waits for a slot")
        told = self.json("explain", later[2])
        self.assertEqual(("fairness", "b", 1), (
            told["reason"], told["fairness_key"], told["turns_before"]))
        self.assertGreater(told["wait_ms"], 0)
        self.assertIn('waits for the turn of its fairness key "b", behind 1 other',
                      self.cluster.ctl("explain", later[0]).decode())
        told = self.json("explain", "--queue", "sleep")
        self.assertEqual({"no_free_slots": 2, "fairness": 3}, told["waiting"])
        self.assertEqual(5, told["backlog"])

    def test_a_header_that_is_no_key_is_refused_by_name_value_and_limit(self):
        why = self.cluster.ctl_error("enqueue", "sleep", "x", "--header", "customer=" + "c" * 257)

        self.assertIn('from header "customer"', why)
        self.assertIn("has 257 bytes; it must have at most 256", why)
        self.assertEqual([], self.keys())
        self.add_for("c" * 256)
        self.assertEqual([("c" * 256, 1, 1)], self.keys())


class FairnessOverShards(cluster.ClusterTest):
    def add(self, key, count):
        """Adds tasks that are on one shard, whatever the key."""
        return self.cluster.ctl("enqueue", "sleep", f"{self.path} 50 1", "--fairness-key", key,
                                "--count", str(count)).decode().split()

    def started_before_the_last_of(self, flood, small):
        """Number of the flood's tasks that start before the last one of 60 small ones."""
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator("--shards", "8")
        self.cluster.ctl("queue", "set", "sleep", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "sleep")
        for _ in range(40):
            self.add(flood, 8)
        tasks = self.add(small, 60)
        self.cluster.start_worker("w", "--slots", "4", "--prefetch", "0")
        self.cluster.ctl("queue", "resume", "sleep")
        for task in tasks:
            self.cluster.result(task, wait="60s")
        started = [line.split()[4] for line in self.path.read_text().splitlines()]
        return max(started.index(task) for task in tasks) + 1 - len(tasks)

    def test_shares_are_those_among_the_keys_of_all_shards(self):
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator("--shards", "8")
        self.cluster.ctl("queue", "set", "sleep", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "sleep")
        for _ in range(8):
            self.add("many", 2)
        self.add("one", 1)
        self.cluster.ctl("queue", "fairness", "sleep", "--key", "one", "--weight", "3")
        told = json.loads(self.cluster.ctl("--json", "queue", "fairness", "sleep"))["keys"]
        self.assertEqual([("many", 16, 250_000), ("one", 1, 750_000)], [
            (key["fairness_key"], key["ready"], key["share_ppm"]) for key in told])

    # As many as the small key has, and those of a second of run time: 20 of 50 ms. Shards that gave
    # turns by themselves would start the whole flood.
    flood_max = 120

    def test_key_on_one_shard_gets_as_much_as_a_flood_on_all(self):
        self.assertLess(self.started_before_the_last_of("flood", "small"), self.flood_max)

    def test_customer_on_one_shard_gets_as_much_as_a_flood_of_its_tenant_on_all(self):
        before = self.started_before_the_last_of("tenant/flood", "tenant/small")
        self.assertLess(before, self.flood_max)


if __name__ == "__main__":
    unittest.main()
