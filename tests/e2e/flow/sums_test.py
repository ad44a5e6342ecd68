# SPDX-License-Identifier: Apache-2.0
"""The account of a queue's waiting tasks: every one of them has a reason, and the reasons sum to
the backlog, over the node port and over HTTP."""

import collections
import json
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway


class ExplainedQueue(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        port_file = self.cluster.path("http-port")
        self.cluster.start_coordinator("--shards", "4", "--http", "127.0.0.1:0",
                                       "--http-port-file", port_file)
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))
        self.path = self.cluster.path("starts")

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def add(self, count, *options, queue="sleep"):
        return [self.cluster.enqueue(queue, f"{self.path} 60000 9", *options)
                for _ in range(count)]

    def settle(self, expected, queue="sleep"):
        """Waits until those are the reasons, which then have to sum up to the backlog of the
        counts, however they are asked for."""
        wait_until(lambda: self.json("explain", "--queue", queue)["waiting"] == expected, 10,
                   f"the tasks wait for {expected}")
        told = self.json("explain", "--queue", queue)
        stats = self.json("queue", "stats", queue)["queues"][0]
        backlog = stats["scheduled"] + stats["gated"] + stats["ready"]
        self.assertEqual(backlog, told["backlog"])
        self.assertEqual(backlog, sum(told["waiting"].values()), told)
        over_http = self.http.get(f"/admin/queues/{queue}/explain").json
        self.assertEqual(told["waiting"], over_http["waiting"])
        self.assertEqual([], over_http["missingShards"])

    def test_reasons_sum_to_the_backlog(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.add(5, "--delay", "1h")
        groups = [self.add(3, "--group", name) for name in ("g", "h")]
        self.add(4, "--limit", "one:k")
        self.settle({"deferred": 5, "gated": 4, "no_worker": 6})

        self.cluster.start_worker("w", "--slots", "8", "--prefetch", "0")
        self.settle({"deferred": 5, "gated": 4, "limited": 3})
        for tasks in groups:
            self.assertEqual("leased", self.cluster.status(tasks[0])["state"])
        told = self.json("explain", "--queue", "sleep")
        self.assertEqual([{"name": "one", "held": 3}], told["limits"])
        self.assertEqual(("one", "k", 3, 1), tuple(
            told["keys"][0][name] for name in ("limit", "key", "held", "leased")))
        self.assertEqual(3, self.json("queue", "stats", "sleep")["queues"][0]["held"])
        self.assertIn(b"limited (a limit holds them back)",
                      self.cluster.ctl("explain", "--queue", "sleep"))

        self.cluster.ctl("queue", "pause", "sleep")
        self.settle({"deferred": 5, "gated": 4, "queue_paused": 3})

    def test_tasks_agree_with_the_account_of_their_queue_at_its_maximum(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.cluster.ctl("queue", "set", "sleep", "--max-leased", "1")
        self.cluster.start_worker("w", "--slots", "8", "--prefetch", "0")
        tasks = self.add(4, "--limit", "one:k") + self.add(4, "--limit", "one:l")

        def agree():
            reasons = collections.Counter(self.json("explain", task)["reason"] for task in tasks)
            running = reasons.pop("leased", 0)
            return running and reasons == self.json("explain", "--queue", "sleep")["waiting"]

        wait_until(agree, 10, "the tasks and their queue say the same")
        self.cluster.ctl("queue", "set", "sleep", "--max-leased", "0")
        self.settle({"limited": 6})
        wait_until(agree, 10, "the tasks and their queue say the same without a maximum")

    def test_retries_and_busy_workers_are_told_apart(self):
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("fail", "x", "--retry", "fixed", "--retry-base", "1h")
        self.settle({"retry_waiting": 1}, "fail")
        self.assertEqual("scheduled", self.cluster.status(task)["state"])
        self.add(1)
        wait_until(self.path.exists, 10, "the handler runs")
        self.add(3)
        self.settle({"no_free_slots": 3})

    def test_keys_are_told_as_the_shards_that_own_them_know_them(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.cluster.ctl("queue", "set", "sleep", "--limit", "one:header=customer")
        self.cluster.start_worker("w", "--slots", "8", "--prefetch", "0")
        # They are on all shards, and one shard owns the key.
        self.add(8, "--header", "customer=z")
        self.settle({"limited": 7})
        self.cluster.ctl("limit", "close", "one", "z", "--for", "1h")

        would = self.json("limit", "set", "one", "--concurrency", "0", "--dry-run")
        self.assertEqual({"tasks": 7, "keys": 1, "whole": True}, would["would_hold"])
        for told, closed in ((self.json("explain", "--queue", "sleep"), "closed_until"),
                             (self.http.get("/admin/queues/sleep/explain").json, "closedUntil")):
            key = told["keys"][0]
            self.assertEqual((1, 7), (key["leased"], key["held"]))
            self.assertIn(closed, key)

    def test_answers_to_changes_of_limits_count_the_tasks_of_all_shards(self):
        self.cluster.start_worker("w", "--slots", "20", "--prefetch", "0")
        for name in ("one", "two"):
            self.cluster.ctl("limit", "set", name, "--concurrency", "1")
            # Their groups put them on all shards, and one shard owns the key.
            for number in range(8):
                self.add(1, "--limit", f"{name}:k", "--group", f"{name}{number}")
        self.settle({"limited": 14})

        for told in (self.json("limit", "close", "one", "k", "--for", "1h"),
                     self.http.post("/admin/limits/two/keys/k/close", {"for": "1h"}).json):
            self.assertEqual((1, 7), (told["leased"], told["held"]), told)
        for told in (self.json("limit", "delete", "one"),
                     self.http.call("DELETE", "/admin/limits/two").json):
            self.assertEqual((1, 7), (told["leased"], told["held"]), told)

    def test_a_queue_that_does_not_exist_is_said_to_be_none(self):
        for words, path in ((("explain", "--queue"), "explain"),
                            (("queue", "fairness"), "fairness")):
            self.assertIn("unknown_queue: tenant default has no queue `none`",
                          self.cluster.ctl_error(*words, "none"))
            self.assertEqual(404, self.http.get(f"/admin/queues/none/{path}").status)


if __name__ == "__main__":
    unittest.main()
