# SPDX-License-Identifier: Apache-2.0
"""Operators find tasks, also ended ones, and change queues, dead tasks and leases of others."""

import json
import unittest

import cluster
from cluster import wait_until
from gateway import start_gateway


class OperatorTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.path("starts")
        self.cluster.start_coordinator()

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def state(self, task):
        return self.cluster.status(task)["state"]

    def kill_task(self, payload="x", *options):
        task = self.cluster.enqueue("fail", payload, "--max-attempts", "1", *options)
        wait_until(lambda: self.state(task) == "dead", 10, "it is dead")
        return task

    def start_sleeper(self, *options):
        """A task that a handler of w holds under a long lease."""
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", "--lease", "1h", *options)
        wait_until(self.path.exists, 10, "the handler runs")
        return task

    def start_count(self):
        return self.path.read_bytes().count(b"\n")


class Queues(OperatorTest):
    def test_paused_queue_keeps_its_tasks_over_a_restart(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "echo", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "echo")
        task = self.cluster.enqueue("echo", "x")
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()
        self.cluster.result(self.cluster.enqueue("sleep", f"{self.path} 0 0"))
        self.assertEqual(self.state(task), "ready")

        self.cluster.ctl("queue", "resume", "echo")

        self.assertEqual(self.cluster.result(task), "x")

    def test_settings_give_defaults_to_tasks_that_name_none(self):
        self.cluster.start_worker("w")
        self.cluster.ctl("queue", "set", "fail", "--max-attempts", "1")

        task = self.cluster.enqueue("fail", "x")
        own = self.cluster.enqueue("fail", "x", "--max-attempts", "7")

        self.assertEqual(self.cluster.status(task)["max_attempts"], 1)
        self.assertEqual(self.cluster.status(own)["max_attempts"], 7)

    def test_queue_that_nobody_knows_is_refused_and_one_that_is_empty_is_not(self):
        questions = cluster.questions_about("none")
        for words in questions:
            self.assertIn("unknown_queue: tenant default has no queue `none`",
                          self.cluster.ctl_error(*words), words)
        self.assertNotIn(b"of its own", self.cluster.ctl("queue", "set", "none", "--lease", "5s"))
        for words in questions:
            self.assertNotIn(b"of its own", self.cluster.ctl(*words))

    def test_queue_of_which_only_a_worker_knows_is_not_refused(self):
        self.cluster.start_worker("w")
        self.cluster.result(self.cluster.enqueue("fail", "x", "--max-attempts", "1"), status=4)

        for words in (("queue", "show", "echo"), ("queue", "stats", "echo")):
            self.assertIn(b"The queue has no tasks and no settings of its own",
                          self.cluster.ctl(*words))
        self.assertFalse(self.json("queue", "show", "echo")["exists"])
        self.assertIn(b"redrove 0 tasks", self.cluster.ctl("dead", "redrive", "--queue", "echo"))

    def test_purge_removes_that_queue_only_and_stops_its_handlers(self):
        running = self.start_sleeper()
        waiting = self.cluster.enqueue("sleep", f"{self.path} 0 0")
        other = self.cluster.enqueue("echo", "x", "--delay", "1h")

        self.cluster.ctl("queue", "purge", "sleep", "--yes")

        for task in (running, waiting):
            self.cluster.ctl("get", task, status=1)
        self.assertEqual(self.state(other), "scheduled")
        # The slot is free again, and no heartbeat of the cancelled handler has revived its task.
        self.cluster.result(self.cluster.enqueue("echo", "y"))
        self.cluster.ctl("get", running, status=1)
        stats = self.cluster.queue_stats("sleep")
        self.assertEqual((stats["ready"], stats["leased"]), (0, 0))

    def test_tenant_is_purged_alone(self):
        mine = self.cluster.enqueue("echo", "x", "--tenant", "mine")
        theirs = self.cluster.enqueue("echo", "x")

        self.cluster.ctl("tenant", "purge", "mine", "--yes")

        self.cluster.ctl("get", mine, status=1)
        self.assertEqual(self.state(theirs), "ready")

    def test_list_shows_the_tasks_of_a_state(self):
        later = {self.cluster.enqueue("echo", "x", "--delay", "1h") for _ in range(6)}
        self.cluster.enqueue("echo", "x")

        listed = self.json("list", "--queue", "echo", "--state", "scheduled")

        self.assertEqual({task["id"] for task in listed["tasks"]}, later)

    def test_queue_whose_attempts_fail_pauses_itself_on_all_shards(self):
        self.cluster.ctl("queue", "set", "fail", "--pause-when-failing", "50%/1m")
        self.cluster.start_worker("w", "--slots", "4")
        # The tasks of one request are on one shard.
        self.cluster.ctl("enqueue", "fail", "x", "--count", "200", "--max-attempts", "1")

        wait_until(lambda: self.json("queue", "show", "fail")["paused"], 10, "it is paused")
        wait_until(lambda: self.json("queue", "show", "fail")["uniform"], 10, "on all shards")

        reason = "breaker, 100 % of 20 attempts failed in 1m"
        self.assertEqual(self.json("queue", "show", "fail")["pause_reason"], reason)
        task = self.cluster.enqueue("fail", "y")
        self.assertIn(f"queue paused: {reason}", self.cluster.ctl("explain", task).decode())
        self.assertIn("queue is paused tenant=default queue=fail",
                      self.cluster.coordinator.text())
        self.assertIn(reason, self.cluster.ctl("audit").decode())
        self.cluster.ctl("queue", "set", "fail", "--pause-when-failing", "off")
        self.cluster.ctl("queue", "resume", "fail")
        shown = self.json("queue", "show", "fail")
        self.assertEqual((shown["paused"], shown["pause_reason"]), (False, ""))
        wait_until(lambda: self.cluster.queue_stats("fail")["dead"] >= 200, 20,
                   "the others run")


class Order(cluster.ClusterTest):
    def test_priority_then_enqueue_order_within_a_shard(self):
        self.cluster.start_coordinator("--shards", "1")
        path = self.cluster.path("starts")
        self.cluster.ctl("queue", "set", "sleep", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "sleep")
        priorities = (0, 5, 9, 0, 9, 5)
        tasks = [self.cluster.enqueue("sleep", f"{path} 0 0", "--priority", str(priority))
                 for priority in priorities]
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        self.cluster.ctl("queue", "resume", "sleep")
        for task in tasks:
            self.cluster.result(task)

        started = [line.split()[4] for line in path.read_text().splitlines()]
        self.assertEqual([tasks.index(task) for task in started], [2, 4, 1, 5, 0, 3])

    def test_priority_holds_over_the_shards(self):
        self.cluster.start_coordinator("--shards", "4")
        path = self.cluster.path("starts")
        priority_of = {}
        for number in range(40):
            priority = number * 7 % 10
            task = self.cluster.enqueue("sleep", f"{path} 0 0", "--priority", str(priority))
            priority_of[task] = priority
        self.assertEqual(len({task.replace("-", "")[20:24] for task in priority_of}), 4)
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        for task in priority_of:
            self.cluster.result(task)

        started = [line.split()[4] for line in path.read_text().splitlines()]
        self.assertEqual([priority_of[task] for task in started],
                         sorted(priority_of.values(), reverse=True))


class Fairness(cluster.ClusterTest):
    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def test_small_key_is_not_held_up_by_a_flood(self):
        # Each shard has its own turns.
        self.cluster.start_coordinator("--shards", "1")
        self.cluster.ctl("queue", "set", "sleep", "--max-depth", "0")
        self.cluster.ctl("queue", "pause", "sleep")
        path = self.cluster.path("starts")
        flood = [self.cluster.enqueue("sleep", f"{path} 50 0", "--fairness-key", "flood")
                 for _ in range(40)]
        small = [self.cluster.enqueue("sleep", f"{path} 50 0", "--fairness-key", "small",
                                      "--fairness-weight", "2") for _ in range(4)]
        page = self.json("queue", "fairness", "sleep")
        self.assertEqual([(key["fairness_key"], key["fairness_weight"], key["ready"])
                          for key in page["keys"]], [("flood", 1, 40), ("small", 2, 4)])
        self.assertEqual(self.json("get", small[0])["fairness_key"], "small")
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")
        self.cluster.ctl("queue", "resume", "sleep")
        for task in flood + small:
            self.cluster.result(task)

        started = [line.split()[4] for line in path.read_text().splitlines()]
        self.assertLess(max(started.index(task) for task in small), 12)


class Leases(OperatorTest):
    def lease_left(self, *options):
        """Remaining seconds of a lease at its beginning; frees the worker's only slot again."""
        task = self.cluster.enqueue("sleep", f"{self.path} 60000 1", *options)
        wait_until(lambda: self.state(task) == "leased", 10, "it is handed out")
        left = self.json("explain", task)["lease_left_ms"] / 1000
        self.cluster.ctl("force", "complete", task)
        return left

    def test_lease_is_the_task_s_own_else_the_queue_s(self):
        self.cluster.ctl("queue", "set", "sleep", "--lease", "50m")
        self.cluster.start_worker("w", "--slots", "1", "--prefetch", "0")

        self.assertAlmostEqual(self.lease_left(), 3000, delta=60)
        self.assertAlmostEqual(self.lease_left("--lease", "20m"), 1200, delta=60)


class Dead(OperatorTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_worker("w")

    def test_dead_tasks_are_listed_redriven_and_purged(self):
        dead = [self.kill_task(f"{number}") for number in range(6)]

        listed = self.json("dead", "list", "--queue", "fail")
        self.assertEqual({task["id"] for task in listed["tasks"]}, set(dead))
        redriven = self.json("dead", "redrive", "--queue", "fail", "--limit", "4")
        self.assertEqual(redriven["changed"], 4)
        wait_until(lambda: all(self.state(task) == "dead" for task in dead), 10, "they die again")
        purged = self.json("dead", "purge", "--queue", "fail", "--yes")

        self.assertEqual(purged["changed"], 6)
        for task in dead:
            self.cluster.ctl("get", task, status=1)

    def test_redrive_is_refused_when_another_task_has_the_key(self):
        dead = self.kill_task("x", "--key", "K")
        self.cluster.enqueue("fail", "y", "--key", "K", "--on-duplicate", "defer", "--delay", "1h")

        answer = json.loads(self.cluster.ctl("--json", "redrive", dead, status=1))

        self.assertEqual((answer["outcome"], answer["state"]), ("key_taken", "dead"))


class Force(OperatorTest):
    def test_revoked_lease_goes_to_the_next_worker(self):
        task = self.start_sleeper()
        token = int(self.cluster.status(task)["token"])

        self.cluster.ctl("force", "revoke", task)

        wait_until(lambda: self.start_count() == 2, 10, "it is handed out again")
        self.assertGreater(int(self.cluster.status(task)["token"]), token)
        self.assertEqual(self.cluster.status(task)["attempt"], 1)

    def test_completed_by_force(self):
        task = self.start_sleeper()

        self.cluster.ctl("force", "complete", task, "--text", "by hand")

        self.assertEqual(self.cluster.result(task), "by hand")
        self.cluster.result(self.cluster.enqueue("echo", "the slot is free"))
        self.assertEqual(self.cluster.result(task), "by hand")

    def test_failed_by_force(self):
        task = self.start_sleeper()

        self.cluster.ctl("force", "fail", task, "--text", "no good")

        self.assertEqual(self.state(task), "dead")
        self.assertIn("no good", self.cluster.status(task)["error_text"])


class Groups(OperatorTest):
    def test_group_runs_in_order_one_at_a_time_over_two_workers(self):
        for name in ("a", "b"):
            self.cluster.start_worker(name, "--slots", "4")
        tasks = [self.cluster.enqueue("sleep", f"{self.path} 100 9", "--group", "g", "--priority",
                                      str(number % 10)) for number in range(12)]
        for task in tasks:
            self.cluster.result(task)

        rows = [line.split() for line in self.path.read_text().splitlines()]
        self.assertEqual([row[4] for row in rows], tasks)
        times = [int(row[0]) for row in rows]
        self.assertTrue(all(b - a >= 100 for a, b in zip(times, times[1:])), times)

    def test_dead_head_is_skipped_or_blocks(self):
        self.cluster.start_worker("w")
        options = ("--max-attempts", "1", "--on-dead")
        self.kill_task("1", "--group", "skipping", "--on-dead", "skip")
        second = self.cluster.enqueue("fail", "2", "--group", "skipping", *options, "skip")
        wait_until(lambda: self.state(second) == "dead", 10, "the next one runs")

        head = self.kill_task("1", "--group", "blocking", "--on-dead", "block")
        behind = self.cluster.enqueue("fail", "2", "--group", "blocking", *options, "block")
        self.assertEqual(self.state(behind), "gated")
        blocking = self.json("dead", "list", "--blocking")["tasks"]
        self.assertEqual([(task["id"], task["group"]) for task in blocking], [(head, "blocking")])
        self.cluster.ctl("purge", head)

        wait_until(lambda: self.state(behind) == "dead", 10, "the gate opens")


class FindTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.start()

    def start(self):
        self.http = start_gateway(self.cluster)

    def restart(self):
        self.cluster.coordinator.terminate(10)
        self.start()

    def json(self, *arguments):
        return json.loads(self.cluster.ctl("--json", *arguments))

    def listed(self, *options):
        return [task["id"] for task in self.json("list", *options)["tasks"]]

    def found(self, query):
        return [task["id"] for task in self.http.get("/tasks?" + query).json["tasks"]]

    def complete(self, queue, payload, *options):
        task = self.cluster.enqueue(queue, payload, *options)
        self.cluster.result(task)
        return task


class EndedTasks(FindTest):
    def test_are_listed_for_long_after_their_end_and_over_a_restart(self):
        self.cluster.start_worker("w")
        tasks = [self.complete("echo", str(number)) for number in range(5)]
        cancelled = self.cluster.enqueue("idle", "x")
        self.cluster.ctl("cancel", cancelled)
        everything = [cancelled, *reversed(tasks)]
        self.assertEqual(everything, self.listed())
        self.restart()

        self.assertEqual(everything, self.listed())
        self.assertEqual(tasks, self.listed("--queue", "echo", "--order", "oldest"))
        self.assertEqual([cancelled], self.listed("--state", "cancelled"))
        self.assertEqual(everything, self.found("limit=10"))
        shown = self.json("list", "--queue", "echo", "--limit", "1")["tasks"][0]
        self.assertEqual(("completed", "w"), (shown["state"], shown["worker"]))
        self.assertGreaterEqual(shown["ended_at_ms"], shown["enqueued_at_ms"])
        live = self.cluster.enqueue("idle", "y")
        self.assertEqual([live, *everything], self.listed())

    def test_are_found_by_group_key_header_worker_error_and_time(self):
        self.cluster.start_worker("w")
        grouped = self.complete("echo", "1", "--group", "g")
        keyed = self.complete("echo", "2", "--key", "k")
        marked = self.http.enqueue("echo", 3, headers={"traceparent": "00-7"})["id"]
        self.cluster.result(marked)
        other = self.http.enqueue("http", 4)["id"]
        self.http.complete(self.http.claim("http"), {"ok": True})
        failing = self.cluster.enqueue("fail", "5", "--retry-base", "10m", "--retry", "fixed")
        wait_until(lambda: self.cluster.status(failing)["state"] == "scheduled", 10, "it fails")

        for _ in ("before the restart", "after it"):
            self.assertEqual([grouped], self.listed("--group", "g"))
            self.assertEqual([keyed], self.found("key=k"))
            self.assertEqual([marked], self.found("header.traceparent=00-7"))
            self.assertEqual([marked], self.found("header[traceparent]=00-7&queue=echo"))
            self.assertEqual([], self.found("header.traceparent=00-8"))
            self.assertEqual([marked], self.listed("--header", "traceparent=00-7"))
            self.assertEqual([failing, marked, keyed, grouped], self.listed("--worker", "w"))
            worker = self.http.get("/tasks?queue=http").json["tasks"][0]["workerId"]
            self.assertEqual([other], self.found(f"worker={worker}"))
            self.assertEqual([failing], self.listed("--error", "told to"))
            self.assertEqual(5, len(self.listed("--since", "1h")))
            self.assertEqual([], self.listed("--until", "1h"))
            self.restart()

    def test_pages_show_each_task_once_while_tasks_end(self):
        self.cluster.start_worker("w", "--slots", "4")
        ended = self.cluster.ctl("enqueue", "echo", "x", "--count", "300").decode().split()
        wait_until(lambda: self.cluster.queue_stats("echo")["completed"] == 300, 20, "they end")
        self.restart()
        self.cluster.ctl("queue", "pause", "echo")
        live = self.cluster.ctl("enqueue", "echo", "x", "--count", "200").decode().split()

        for order in ("newest", "oldest"):
            seen, after = [], ""
            while True:
                page = self.http.get(f"/tasks?queue=echo&limit=37&order={order}&after={after}").json
                seen += [task["id"] for task in page["tasks"]]
                if "after" not in page:
                    break
                after = page["after"]
                if len(seen) == 37:
                    # They end while the walk is on.
                    self.cluster.ctl("queue", "resume", "echo")
            self.assertEqual(len(seen), len(set(seen)))
            self.assertEqual(set(ended + live), set(seen))
        times = [task["enqueued_at_ms"] for task in self.json(
            "list", "--queue", "echo", "--limit", "1000")["tasks"]]
        self.assertEqual(sorted(times, reverse=True), times)

    def test_of_a_purged_queue_are_gone(self):
        self.cluster.start_worker("w")
        self.complete("echo", "1")
        kept = self.complete("measure", "2")
        self.restart()
        self.http.post("/admin/queues/echo/purge")

        self.assertEqual([kept], self.listed())
        self.restart()
        self.assertEqual([kept], self.listed())

    def test_of_another_tenant_are_not_listed(self):
        task = self.cluster.enqueue("idle", "x", "--tenant", "a", "--group", "g")
        self.cluster.ctl("cancel", task)
        self.restart()

        self.assertEqual([task], self.listed("--tenant", "a", "--group", "g"))
        self.assertEqual([], self.listed("--tenant", "b"))
        self.assertEqual([], self.listed("--group", "g"))
        self.assertEqual([], self.found("group=g"))

    def test_after_of_another_list_is_refused(self):
        self.cluster.ctl("enqueue", "idle", "x", "--count", "3")
        after = self.json("list", "--limit", "1")["after"]

        refusal = self.cluster.ctl_error("list", "--after", after, "--order", "oldest")
        self.assertIn("after", refusal)
        self.assertEqual(2, len(self.listed("--after", after)))


class DeadTasks(FindTest):
    def setUp(self):
        super().setUp()
        self.dead = {}
        for number, error in enumerate(["no order 17", "no order 4711", "disk is full"]):
            task = self.cluster.enqueue("mail", str(number), "--group", f"g{number}")
            self.cluster.ctl("force", "fail", task, "--text", error)
            self.dead[error] = task

    def dead_listed(self, *options):
        return [task["id"] for task in self.json("dead", "list", *options)["tasks"]]

    def test_say_why_and_when_they_died(self):
        shown = {task["error_text"]: task for task in self.json("dead", "list")["tasks"]}

        self.assertEqual(set(self.dead), set(shown))
        for error, task in shown.items():
            self.assertEqual(self.dead[error], task["id"])
            self.assertEqual((0, 5), (task["attempt"], task["max_attempts"]))
            self.assertGreaterEqual(task["ended_at_ms"], task["enqueued_at_ms"])
        text = self.cluster.ctl("dead", "list").decode()
        self.assertIn("no order 4711", text)
        over_http = self.http.get("/admin/dead?order=oldest").json["tasks"]
        self.assertEqual(list(self.dead), [task["error"] for task in over_http])
        self.assertTrue(all("endedAt" in task for task in over_http))

    def test_are_found_by_error_group_and_age(self):
        full = self.dead["disk is full"]
        for _ in ("before the restart", "after it"):
            self.assertEqual([full], self.dead_listed("--error", "disk"))
            self.assertEqual([full], self.dead_listed("--group", "g2"))
            self.assertEqual(3, len(self.dead_listed("--newer-than", "1h")))
            self.assertEqual([], self.dead_listed("--older-than", "1h"))
            self.assertEqual(
                1, len(self.http.get("/admin/dead?error=disk&newerThan=1h").json["tasks"]))
            self.restart()

    def test_are_summarized_by_their_errors(self):
        summary = self.json("dead", "summary")
        kinds = {kind["fingerprint"]: kind["tasks"] for kind in summary["kinds"]}
        self.assertEqual({"no order #": 2, "disk is full": 1}, kinds)
        self.assertEqual(3, summary["tasks"])
        over_http = self.http.get("/admin/dead/summary?error=order").json
        self.assertEqual([("no order #", 2)], [
            (kind["fingerprint"], kind["tasks"]) for kind in over_http["kinds"]])
        self.assertIn("no order #", self.cluster.ctl("dead", "summary").decode())
        newest = self.http.get("/admin/dead/summary?newest=4000").json
        self.assertEqual((3, False), (newest["tasks"], newest.get("partial", False)))
        refused = self.http.get("/admin/dead/summary?newest=0")
        self.assertEqual(400, refused.status)
        self.assertIn("'newest' is 0; it must be 1..100000", refused.text)

    def test_dry_run_counts_what_is_then_changed(self):
        for verb in ("redrive", "purge"):
            options = ("dead", verb, "--error", "order")
            would = self.json(*options, "--dry-run")["changed"]
            self.assertEqual(2, would)
            self.assertEqual(3, len(self.dead_listed()))
            over_http = self.http.post(f"/admin/dead/{verb}", {"error": "order", "dryRun": True})
            self.assertEqual({"changed": 2, "dryRun": True}, over_http.json)
        self.assertEqual(2, self.json("dead", "purge", "--error", "order", "--yes")["changed"])
        self.assertEqual([self.dead["disk is full"]], self.dead_listed())
        self.assertEqual(1, self.http.post("/admin/dead/redrive", {"group": "g2"}).json["changed"])
        self.assertEqual([], self.dead_listed())
        self.assertEqual("ready", self.cluster.status(self.dead["disk is full"])["state"])

    def test_dry_run_counts_one_task_per_key(self):
        for _ in range(3):
            task = self.cluster.enqueue("keyed", "x", "--key", "k", "--on-duplicate",
                                        "replace_ended")
            self.cluster.ctl("force", "fail", task, "--text", "why")
        would = self.json("dead", "redrive", "--queue", "keyed", "--dry-run")["changed"]
        over_http = self.http.post("/admin/dead/redrive", {"queue": "keyed", "dryRun": True}).json

        self.assertEqual(1, would)
        self.assertEqual(1, over_http["changed"])
        self.assertEqual(would, self.json("dead", "redrive", "--queue", "keyed")["changed"])

    def test_limit_and_age_bound_what_is_changed(self):
        purge = ("dead", "purge", "--yes")
        self.assertEqual(0, self.json(*purge, "--older-than", "1h")["changed"])
        self.assertEqual(1, self.json(*purge, "--limit", "1", "--rate", "5")["changed"])
        self.assertEqual(2, len(self.dead_listed()))


if __name__ == "__main__":
    unittest.main()
