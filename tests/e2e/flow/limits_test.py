# SPDX-License-Identifier: Apache-2.0
"""Limits: how many tasks of a key run at once over all workers, what a refusal of a foreign service
holds back, and what is left of it after a crash."""

import concurrent.futures
import json
import time
import unittest

import cluster
from cluster import wait_until
from gateway import start_gateway


class LimitTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.start()

    def start(self):
        self.http = start_gateway(self.cluster)

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def state(self, task):
        return self.cluster.status(task)["state"]

    def reason(self, task):
        return self.json("explain", task)["reason"]

    def key(self, limit, key):
        return next(one for one in self.json("limit", "keys", limit)["keys"] if one["key"] == key)

    def start_sleeper(self, *options):
        """A task whose handler sleeps for long."""
        return self.cluster.enqueue("sleep", f"{self.path} 60000 9", *options)


class LimitedConcurrency(LimitTest):
    def spans(self, key):
        """Start and end of each handler of the key, in the order of their starts."""
        rows = [line.split() for line in self.path.read_text().splitlines()]
        return sorted((int(row[1]), int(row[2])) for row in rows if row[0] == key)

    def test_tasks_of_a_key_run_one_at_a_time_over_several_workers(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        for name in ("u", "v", "w"):
            self.cluster.start_worker(name, "--slots", "4")
        tasks = [self.cluster.enqueue("span", f"{self.path} {key} 20", "--limit", f"one:{key}")
                 for _ in range(10) for key in ("a", "b")]
        for task in tasks:
            self.cluster.result(task)

        for key in ("a", "b"):
            spans = self.spans(key)
            self.assertEqual(10, len(spans))
            self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])),
                            spans)
        use = self.json("limit", "show", "one")
        self.assertEqual((0, 0), (use["leased"], use["held"]))

    def test_tasks_have_the_limits_of_their_queue(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.cluster.ctl("queue", "set", "span", "--limit", "one:header=customer")
        self.assertEqual([{"name": "one", "key": "", "header": "customer", "cost": 1}],
                         self.json("queue", "show", "span")["limits"])
        for name in ("u", "v"):
            self.cluster.start_worker(name, "--slots", "4")
        tasks = [self.cluster.enqueue(
                     "span", f"{self.path} {key} 20", "--header", f"customer={key}")
                 for _ in range(10) for key in ("a", "b")]
        for task in tasks:
            self.cluster.result(task)

        for key in ("a", "b"):
            spans = self.spans(key)
            self.assertEqual(10, len(spans))
            self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])),
                            spans)
        self.assertIn('has no limit "two"', self.cluster.ctl_error(
            "queue", "set", "span", "--limit", "two"))
        self.cluster.ctl("queue", "set", "span", "--no-limits")
        self.assertEqual([], self.json("queue", "show", "span")["limits"])

    def test_a_limit_that_queues_give_is_not_deleted(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        for queue in ("mail", "print"):
            self.cluster.ctl("queue", "set", queue, "--limit", "one")

        self.assertIn('queues give limit "one" to their tasks: "mail", "print"; ',
                      self.cluster.ctl_error("limit", "delete", "one"))
        self.assertTrue(self.json("limit", "show", "one")["uniform"])
        self.cluster.enqueue("mail", "x")

        for queue in ("mail", "print"):
            self.cluster.ctl("queue", "set", queue, "--no-limits")
        self.cluster.ctl("limit", "delete", "one")
        self.assertIn("has no limit", self.cluster.ctl_error("limit", "show", "one"))

    def test_a_lowered_limit_revokes_nothing_and_a_deleted_one_lets_go(self):
        self.cluster.ctl("limit", "set", "two", "--concurrency", "2")
        self.cluster.start_worker("w", "--slots", "8", "--prefetch", "0")
        running = [self.start_sleeper("--limit", "two:k") for _ in range(2)]
        for task in running:
            wait_until(lambda task=task: self.state(task) == "leased", 10, "it runs")
        would = self.json("limit", "set", "two", "--concurrency", "1", "--dry-run")
        self.assertEqual(1, would["keys_above"])
        self.assertEqual({"tasks": 0, "keys": 0, "whole": True}, would["would_hold"])
        for key in ("k", "k", "l"):
            self.cluster.enqueue("unserved", "x", "--limit", f"two:{key}")
        would = self.json("limit", "set", "two", "--concurrency", "1", "--dry-run")
        self.assertEqual({"tasks": 2, "keys": 1, "whole": True}, would["would_hold"])
        self.cluster.ctl("queue", "purge", "unserved", "--yes")
        self.assertEqual(2, self.json("limit", "show", "two")["concurrency"])
        self.cluster.ctl("limit", "set", "two", "--concurrency", "1")
        held = self.start_sleeper("--limit", "two:k")

        self.assertEqual("limited", self.reason(held))
        self.assertEqual(["leased"] * 2, [self.state(task) for task in running])
        self.cluster.ctl("force", "complete", running[0])
        self.assertEqual("limited", self.reason(held))
        self.cluster.ctl("force", "complete", running[1])
        wait_until(lambda: self.state(held) == "leased", 10, "the slot is free")

        behind = self.start_sleeper("--limit", "two:k")
        self.assertEqual("limited", self.reason(behind))
        self.cluster.ctl("limit", "delete", "two")
        wait_until(lambda: self.state(behind) == "leased", 10, "it goes on without the limit")
        self.assertIn("has no limit", self.cluster.ctl_error("limit", "show", "two"))

    def test_a_killed_worker_frees_its_slot(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        worker = self.cluster.start_worker("v", "--slots", "4")
        lost = self.cluster.enqueue("sleep", f"{self.path} 60000 1", "--limit", "one:k",
                                    "--lease", "2s")
        wait_until(lambda: self.state(lost) == "leased", 10, "it runs")
        held = self.cluster.enqueue("sleep", f"{self.path} 0 0", "--limit", "one:k")
        worker.kill()
        self.cluster.start_worker("w", "--slots", "4")

        self.assertEqual("2", self.cluster.result(lost))
        self.assertEqual("1", self.cluster.result(held))
        self.assertEqual(0, self.json("limit", "show", "one")["leased"])

    def test_slots_are_recounted_after_a_crash_of_the_coordinator(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        self.cluster.start_worker("w", "--slots", "4", "--prefetch", "0")
        running = self.start_sleeper("--limit", "one:k")
        wait_until(lambda: self.state(running) == "leased", 10, "it runs")
        held = self.start_sleeper("--limit", "one:k")
        self.cluster.coordinator.kill()
        self.start()

        use = self.json("limit", "show", "one")
        self.assertEqual((1, 1), (use["concurrency"], use["leased"]))
        wait_until(lambda: self.json("limit", "show", "one")["held"] == 1, 10, "it is held back")
        self.cluster.ctl("force", "complete", running)
        wait_until(lambda: self.state(held) == "leased", 10, "the slot is free")

    def test_an_unknown_limit_is_refused(self):
        self.assertIn('has no limit "smpt"', self.cluster.ctl_error(
            "enqueue", "echo", "x", "--limit", "smpt"))
        refused = self.http.post("/tasks", {
            "command": "echo", "payload": 1, "limits": [{"name": "smpt"}]})
        self.assertEqual(400, refused.status)
        self.assertIn('has no limit "smpt"', refused.json["error"])


class LimitsOverShards(LimitTest):
    """Groups put tasks of one limit key on all shards; most of them need permits of its owner."""

    def groups(self):
        return [f"g{number}" for number in range(12)]

    def test_tasks_of_many_groups_run_one_at_a_time(self):
        self.cluster.ctl("limit", "set", "one", "--concurrency", "1")
        for name in ("u", "v"):
            self.cluster.start_worker(name, "--slots", "8")
        tasks = [self.cluster.enqueue("span", f"{self.path} a 20", "--limit", "one:a",
                                      "--group", group)
                 for group in self.groups() for _ in range(2)]
        for task in tasks:
            self.cluster.result(task)

        spans = sorted((int(row[1]), int(row[2])) for row in
                       (line.split() for line in self.path.read_text().splitlines()))
        self.assertEqual(len(tasks), len(spans))
        self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])), spans)
        wait_until(lambda: self.json("limit", "show", "one")["leased"] == 0, 10,
                   "all permits are back")

    def test_permits_survive_a_crash_of_the_coordinator(self):
        self.cluster.ctl("limit", "set", "two", "--concurrency", "2")
        self.cluster.start_worker("w", "--slots", "20", "--prefetch", "0")
        tasks = [self.start_sleeper("--limit", "two:k", "--group", group)
                 for group in self.groups()]

        def leased():
            return [task for task in tasks if self.state(task) == "leased"]

        for _ in range(3):
            wait_until(lambda: len(leased()) == 2, 10, "two run")
            running = leased()
            wait_until(lambda: sorted(self.reason(task) for task in tasks if task not in running)
                       == ["limited"] * (len(tasks) - 2), 10, "the others are held back")
            self.cluster.coordinator.kill()
            found = json.loads(self.cluster.ctl("--json", "verify", self.cluster.path("store")))
            self.assertEqual([], found["findings"])
            self.start()
            self.assertEqual(running, leased())
            wait_until(lambda: self.json("limit", "show", "two")["leased"] == 2, 10,
                       "the slots are counted once")
            self.cluster.ctl("force", "complete", running[0])
            tasks.remove(running[0])


class MaximumOfAQueue(LimitTest):
    """`--max-leased` over the twelve shards of a store."""

    def spans(self):
        return sorted((int(row[1]), int(row[2])) for row in
                      (line.split() for line in self.path.read_text().splitlines()))

    def leased(self, tasks):
        return [task for task in tasks if self.state(task) == "leased"]

    def test_a_maximum_of_one_never_runs_two(self):
        self.cluster.ctl("queue", "set", "span", "--max-leased", "1")
        shown = self.json("queue", "show", "span")
        self.assertEqual((1, 12, True), (shown["max_leased"], shown["shards"], shown["uniform"]))
        for name in ("u", "v"):
            self.cluster.start_worker(name, "--slots", "8")
        tasks = [self.cluster.enqueue("span", f"{self.path} a 20") for _ in range(30)]
        for task in tasks:
            self.cluster.result(task)

        spans = self.spans()
        self.assertEqual(len(tasks), len(spans))
        self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])), spans)

    def test_it_is_changed_while_tasks_run(self):
        self.cluster.start_worker("w", "--slots", "20", "--prefetch", "0")
        tasks = [self.start_sleeper() for _ in range(8)]
        wait_until(lambda: len(self.leased(tasks)) == 8, 10, "without a maximum all run")
        self.cluster.ctl("queue", "set", "sleep", "--max-leased", "3")
        more = [self.start_sleeper() for _ in range(4)]
        for task in tasks[:5]:
            self.cluster.ctl("force", "complete", task)
        time.sleep(1)
        self.assertEqual([], self.leased(more))
        self.assertEqual(3, len(self.leased(tasks)))
        self.cluster.ctl("force", "complete", tasks[5])
        wait_until(lambda: len(self.leased(more)) == 1, 10, "a slot is free")
        self.assertEqual(3, len(self.leased(tasks + more)))
        self.cluster.ctl("queue", "set", "sleep", "--max-leased", "0")
        wait_until(lambda: len(self.leased(more)) == 4, 10, "without a maximum all run")

    def test_it_holds_over_a_crash_of_the_coordinator(self):
        self.cluster.ctl("queue", "set", "sleep", "--max-leased", "2")
        self.cluster.start_worker("w", "--slots", "20", "--prefetch", "0")
        tasks = [self.start_sleeper() for _ in range(12)]
        for _ in range(3):
            wait_until(lambda: len(self.leased(tasks)) == 2, 10, "two run")
            running = self.leased(tasks)
            self.cluster.coordinator.kill()
            found = json.loads(self.cluster.ctl("--json", "verify", self.cluster.path("store")))
            self.assertEqual([], found["findings"])
            self.start()
            time.sleep(1)
            self.assertEqual(running, self.leased(tasks))
            self.cluster.ctl("force", "complete", running[0])
            tasks.remove(running[0])

    def test_over_http_it_counts_as_it_was_sent(self):
        changed = self.http.call("PUT", "/admin/queues/http/settings", {"maxLeased": 1})
        self.assertEqual(200, changed.status)
        self.assertEqual(1, changed.json["settings"]["maxLeased"])
        self.assertNotIn("message", changed.json)
        for number in range(4):
            self.http.enqueue("http", number)
        first = self.http.claim("http", wait=10)
        answer = self.http.post("/tasks/claim", {"commands": ["http"], "waitSeconds": 1})
        self.assertEqual(204, answer.status)
        self.http.post(f"/tasks/{first['id']}/nack", {"reason": "again"})
        self.assertNotEqual(None, self.http.claim("http", wait=10))


class DepthOfAQueue(LimitTest):
    """`--max-depth` over the shards of a store."""

    def start(self):
        self.http = start_gateway(self.cluster, "--shards", "8")

    def set_depth(self, most):
        self.cluster.ctl("queue", "set", "deep", "--max-depth", str(most))

    def enqueue(self, number):
        return self.http.post("/tasks", {"queue": "deep", "payload": number}).status

    def live(self):
        return self.cluster.queue_stats("deep")["ready"]

    def test_a_queue_takes_exactly_as_many_tasks_as_it_may(self):
        self.set_depth(1000)
        shown = self.json("queue", "show", "deep")
        self.assertEqual((1000, 8, True), (shown["max_depth"], shown["shards"], shown["uniform"]))
        with concurrent.futures.ThreadPoolExecutor(8) as producers:
            found = list(producers.map(self.enqueue, range(1100)))

        self.assertEqual(1000, found.count(202))
        self.assertEqual(100, found.count(429))
        self.assertEqual(1000, self.live())

    def test_a_full_queue_is_told_from_a_rate_that_is_used_up(self):
        self.set_depth(1)
        self.assertEqual(202, self.enqueue(1))
        refused = self.http.post("/tasks", {"queue": "deep", "payload": 2})

        self.assertEqual((429, "queue_full"), (refused.status, refused.json["code"]))
        self.assertEqual("1", refused.fields["retry-after"])
        self.assertNotIn("scope", refused.json)

    def test_room_of_ended_tasks_is_used_by_any_shard(self):
        self.set_depth(10)
        first = [self.cluster.enqueue("deep", "x", "--group", "one") for _ in range(10)]
        refused = self.cluster.try_ctl("enqueue", "deep", "x", "--group", "two")
        self.assertIn("queue_full", refused.stderr.decode())
        for task in first[:4]:
            self.cluster.ctl("cancel", task)
        found = [self.enqueue(number) for number in range(6)]
        self.assertEqual(4, found.count(202))

    def test_the_count_survives_a_crash_of_the_coordinator(self):
        self.set_depth(20)
        self.assertEqual([202] * 12, [self.enqueue(number) for number in range(12)])
        self.cluster.coordinator.kill()
        found = json.loads(self.cluster.ctl("--json", "verify", self.cluster.path("store")))
        self.assertEqual([], found["findings"])
        self.start()

        self.assertEqual(8, [self.enqueue(number) for number in range(12)].count(202))
        self.set_depth(0)
        self.assertEqual(202, self.enqueue(99))


class LimitedRates(LimitTest):
    def test_starts_are_spread(self):
        self.cluster.ctl("limit", "set", "slow", "--rate", "10/1s", "--burst", "3")
        self.cluster.start_worker("w", "--slots", "8")
        tasks = [self.cluster.enqueue("sleep", f"{self.path} 0 0", "--limit", "slow")
                 for _ in range(20)]
        for task in tasks:
            self.cluster.result(task)

        starts = sorted(int(line.split()[0]) for line in self.path.read_text().splitlines())
        self.assertEqual(20, len(starts))
        # The burst of 3 starts at once; what is left starts every 100 ms.
        self.assertGreater(starts[-1] - starts[0], 1600)


class ClosedKeys(LimitTest):
    def closure_over_http(self, task, until):
        """The explanation in words, if it says that the key is closed until that time."""
        why = self.http.get(f"/tasks/{task}/explain").json
        return why["sentence"] if why.get("closedUntil") == until else None

    def test_a_refusal_closes_its_key_only(self):
        self.cluster.ctl("limit", "set", "api", "--concurrency", "5")
        busy = self.cluster.path("starts.busy")
        busy.touch()
        self.cluster.start_worker("w", "--slots", "4", "--prefetch", "0")
        refused = self.cluster.enqueue("refused", f"{self.path} 2000", "--limit", "api:a")
        wait_until(lambda: "closed_until" in self.key("api", "a"), 10, "the key is closed")
        busy.unlink()
        behind = self.cluster.enqueue("refused", f"{self.path} 2000", "--limit", "api:a")
        other = self.cluster.enqueue("echo", "x", "--limit", "api:b")

        self.assertEqual("x", self.cluster.result(other))
        self.assertEqual("limited", self.reason(behind))
        self.assertEqual(0, self.cluster.status(refused)["attempt"])
        self.assertIn("limited", [event["event"] for event in
                                  self.http.get(f"/tasks/{refused}/events").json["events"]])
        for task in (refused, behind):
            self.cluster.result(task)
            self.assertEqual(1, self.cluster.status(task)["attempt"])
        starts = [int(line.split()[0]) for line in self.path.read_text().splitlines()]
        self.assertGreaterEqual(starts[1] - starts[0], 2000)

    def test_a_closed_key_stays_closed_over_a_crash_until_it_is_opened(self):
        self.cluster.ctl("limit", "set", "api", "--rate", "1000/1s")
        closed = self.json("limit", "close", "api", "a", "--for", "1h")["closed_until"]
        task = self.cluster.enqueue("echo", "x", "--limit", "api:a")
        self.cluster.coordinator.kill()
        self.start()
        self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("echo", "y", "--limit", "api:b"))

        self.assertEqual(closed, self.key("api", "a")["closed_until"])
        self.assertEqual("limited", self.reason(task))
        self.assertEqual(closed, self.json("explain", task)["closed_until"])
        self.cluster.ctl("limit", "open", "api", "a")

        self.assertEqual("x", self.cluster.result(task))

    def test_explanations_say_until_when_a_key_is_closed(self):
        self.cluster.ctl("limit", "set", "api", "--concurrency", "5")
        closed = self.json("limit", "close", "api", "a", "--for", "1h")["closed_until"]
        self.cluster.start_worker("w")
        # Their groups put them on all shards, and one shard owns the key.
        tasks = [self.cluster.enqueue("echo", "x", "--limit", "api:a", "--group", f"g{number}")
                 for number in range(8)]
        for task in tasks:
            until = wait_until(lambda task=task: self.json("explain", task).get("closed_until"),
                               10, "it is held back by the closed key")
            self.assertEqual(closed, until)
            sentence = wait_until(lambda task=task: self.closure_over_http(task, closed),
                                  10, "HTTP says the same")
            self.assertIn("; the key is closed until ", sentence)
        self.assertIn("CLOSED UNTIL", self.cluster.ctl("explain", "--queue", "echo").decode())
        self.assertRegex(self.cluster.ctl("limit", "show", "api").decode(),
                         r"CLOSED KEY +UNTIL\na +\d{4}-\d\d-\d\d ")

        self.cluster.ctl("limit", "open", "api", "a")
        for task in tasks:
            self.assertEqual("x", self.cluster.result(task))
        self.assertNotIn("CLOSED KEY", self.cluster.ctl("limit", "show", "api").decode())

    def test_over_http(self):
        self.assertEqual(200, self.http.call("PUT", "/admin/limits/api", {
            "concurrency": 10, "rate": {"count": 100, "perSeconds": 1, "burst": 20}}).status)
        limits = [{"name": "api", "key": "a"}]
        first = self.http.enqueue("http", 1, limits=limits)
        self.assertEqual([{"name": "api", "key": "a", "cost": 1}], first["limits"])
        second = self.http.enqueue("http", 2, limits=limits)
        claimed = self.http.claim("http")
        began = time.monotonic()
        answer = self.http.post(f"/tasks/{claimed['id']}/nack", {
            "limited": True, "retryAfterSeconds": 2, "reason": "429"})
        self.assertEqual((200, {"delaySeconds": 2, "status": "requeued", "state": "ready"}),
                         (answer.status, answer.json))
        self.assertEqual(0, self.http.get(f"/tasks/{first['id']}").json["attempts"])

        claimed = self.http.claim("http", wait=10)
        self.assertGreaterEqual(time.monotonic() - began, 1.9)
        self.assertEqual(first["id"], claimed["id"])
        self.assertEqual(second["id"], self.http.claim("http", wait=10)["id"])


if __name__ == "__main__":
    unittest.main()
