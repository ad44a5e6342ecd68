# SPDX-License-Identifier: Apache-2.0
"""Services of a node for its handlers: heartbeats, isolation, queue weights, progress."""

import json
import os
import signal
import subprocess
import threading
import time
import unittest

import cluster
from cluster import wait_until

WEIGHTS = cluster.BUILD / "lib" / "libe2e_weights.so"


class HandlersTest(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def start_worker(self, *options):
        return self.cluster.start_worker("w", *options, handlers=(WEIGHTS,))

    def enqueue_many(self, queue, payload, count, *options):
        ids = self.cluster.ctl("enqueue", queue, payload, "--count", count, *options)
        return ids.decode().split()


class Heartbeats(HandlersTest):
    """Handlers cannot delay heartbeats."""

    def run_all(self, queue, milliseconds, count):
        tasks = self.enqueue_many(queue, str(milliseconds), count, "--lease", "1s")
        return [self.cluster.result(task, wait="60s") for task in tasks]

    def test_handlers_that_sleep_in_all_slots_keep_their_leases(self):
        self.start_worker("--slots", "8")

        self.assertEqual(self.run_all("nap", 3000, 8), ["1"] * 8)
        self.assertEqual(self.cluster.queue_stats("nap")["lost"], 0)

    def test_handlers_that_burn_every_processor_keep_their_leases(self):
        self.start_worker("--slots", "8")

        self.assertEqual(self.run_all("burn", 3000, 8), ["1"] * 8)
        self.assertEqual(self.cluster.queue_stats("burn")["lost"], 0)

    def test_eight_sleeps_in_eight_slots_take_the_time_of_one(self):
        self.start_worker("--slots", "8")
        # Makes sure that the node is connected and its threads are running.
        self.run_all("nap", 100, 8)

        with cluster.MachineNoise(self.cluster.path("noise")) as noise:
            start = time.monotonic()
            self.cluster.ctl("enqueue", "nap", "1000", "--count", "8", "--wait", "30s")
            took = time.monotonic() - start

        print(f"8 sleeps of 1 s took {took:.3f} s, machine {noise.worst:.3f} s late")
        self.assertLess(took, 1.5 + 4 * noise.worst)

    def test_wedged_handler_loses_its_own_lease_only(self):
        self.start_worker("--slots", "4")
        others = self.enqueue_many("nap", "4000", 3, "--lease", "1s")

        wedged = self.cluster.enqueue("wedge", "60000", "--run-timeout", "1s", "--lease", "1s")

        self.assertEqual(self.cluster.result(wedged), "2")
        for task in others:
            self.assertEqual(self.cluster.result(task), "1")
        events = self.cluster.ctl("events", wedged).decode()
        self.assertIn("run_timeout", events)

    def test_handler_without_progress_loses_its_lease_and_one_with_keeps_it(self):
        self.start_worker()

        silent = self.cluster.enqueue("wedge", "60000", "--progress-timeout", "1s")
        busy = self.cluster.enqueue("steps", "3000", "--progress-timeout", "1s")

        self.assertEqual(self.cluster.result(silent), "2")
        self.assertEqual(self.cluster.result(busy), "1")
        self.assertIn("progress_timeout", self.cluster.ctl("events", silent).decode())


class Isolation(HandlersTest):
    def test_handler_that_dies_fails_its_task_and_no_other(self):
        worker = self.start_worker("--slots", "2")
        neighbour = self.cluster.enqueue("nap", "1000")
        fine = self.cluster.enqueue("apart", "live")
        child = self.cluster.result(fine)

        bad = self.cluster.enqueue("apart", "die", "--max-attempts", "1")
        self.cluster.result(bad, status=4)

        self.assertNotEqual(int(child), worker.pid)
        self.assertIn("signal 11", str(self.cluster.status(bad)))
        self.assertEqual(self.cluster.result(neighbour), "1")
        self.assertTrue(worker.is_running())
        after = self.cluster.result(self.cluster.enqueue("apart", "live"))
        self.assertNotEqual(int(after), worker.pid)

    def test_child_is_kept_for_the_next_task_and_goes_with_its_worker(self):
        worker = self.start_worker("--slots", "1")
        pids = {self.cluster.result(self.cluster.enqueue("apart", "live")) for _ in range(3)}

        self.assertEqual(len(pids), 1)
        child = pids.pop()
        worker.kill()
        wait_until(lambda: not cluster.pathlib.Path(f"/proc/{child}/stat").exists()
                   or " Z " in cluster.pathlib.Path(f"/proc/{child}/stat").read_text(),
                   10, "the child ends with its parent")

    def test_handler_that_hangs_beyond_its_timeout_is_killed(self):
        self.start_worker("--slots", "1", "--log-level", "debug")

        stuck = self.cluster.enqueue(
            "apart", "hang", "--run-timeout", "1s", "--max-attempts", "1")
        self.cluster.result(stuck, status=4)

        # The only slot is free again once the grace is over.
        self.cluster.result(self.cluster.enqueue("apart", "live"), wait="30s")

    def test_isolation_is_the_operator_s_to_choose(self):
        worker = self.start_worker("--queue", "nap=slots:2,isolation:process")

        self.assertEqual(self.cluster.result(self.cluster.enqueue("nap", "1")), "1")
        children = subprocess.run(["pgrep", "-P", str(worker.pid)], capture_output=True, check=True)
        self.assertEqual(len(children.stdout.split()), 1)


class Checkpoints(HandlersTest):
    """The handler `count` saves a checkpoint for every number and waits at the half; the next
    attempt resumes."""

    def run_to_the_half(self, queue):
        worker = self.start_worker()
        task = self.cluster.enqueue(queue, "20", "--lease", "1s")
        wait_until(lambda: "is at the half" in worker.text(), 20, "it is at the half")
        return worker, task

    def test_next_attempt_goes_on_when_the_worker_is_killed(self):
        worker, task = self.run_to_the_half("count")

        worker.kill()
        self.start_worker()

        self.assertEqual(self.cluster.result(task), "went on from 10")
        self.assertEqual(self.cluster.status(task)["attempt"], 2)

    def test_next_attempt_goes_on_when_the_coordinator_is_killed_as_well(self):
        worker, task = self.run_to_the_half("count")

        worker.kill()
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()
        self.start_worker()

        self.assertEqual(self.cluster.result(task), "went on from 10")

    def test_next_attempt_goes_on_when_only_the_child_is_killed(self):
        worker, task = self.run_to_the_half("count-apart")

        child = subprocess.run(["pgrep", "-P", str(worker.pid)], capture_output=True, check=True)
        os.kill(int(child.stdout), signal.SIGKILL)

        self.assertEqual(self.cluster.result(task), "went on from 10")
        self.assertTrue(worker.is_running())


class Weights(HandlersTest):
    def test_batch_and_keyed_handlers_answer_each_task(self):
        self.start_worker("--slots", "16")

        batch = self.enqueue_many("batch", "x", 20)
        keyed = [self.cluster.enqueue("keyed", "", "--group", "g") for _ in range(3)]

        sizes = [int(self.cluster.result(task)) for task in batch]
        self.assertTrue(all(1 <= size <= 16 for size in sizes), sizes)
        self.assertEqual([self.cluster.result(task) for task in keyed], ["g1", "g2", "g3"])

    def test_slow_queue_does_not_fill_the_room_of_others(self):
        self.start_worker("--slots", "4", "--prefetch", "4")
        self.enqueue_many("narrow", "1000", 40)
        wait_until(lambda: self.cluster.queue_stats("narrow")["leased"] > 0, 10, "it is taken")

        start = time.monotonic()
        self.cluster.ctl("enqueue", "nap", "1", "--count", "50", "--wait", "30s")

        took = time.monotonic() - start
        print(f"50 short tasks beside 40 slow ones took {took:.3f} s")
        self.assertGreater(self.cluster.queue_stats("narrow")["ready"], 20)
        self.assertLess(took, 15)
        # One running task, and the queue's part of the prefetch.
        self.assertLessEqual(self.cluster.queue_stats("narrow")["leased"], 2)

    def test_handlers_are_listed(self):
        listed = subprocess.run(
            [cluster.BIN / "codeq-worker", "--handlers", WEIGHTS, "--handlers", cluster.HANDLERS,
             "--exec", "upper=tr a-z A-Z", "--queue", "burn=weight:3", "--list-handlers"],
            capture_output=True, check=True).stdout.decode().splitlines()

        self.assertIn("nap function slots=8 weight=1 isolation=shared", listed)
        self.assertIn("burn function slots=8 weight=3 isolation=shared", listed)
        self.assertIn("apart function slots=8 weight=1 isolation=process", listed)
        self.assertIn("narrow function slots=1 weight=1 isolation=shared", listed)
        self.assertIn("batch batch slots=8 weight=1 isolation=shared", listed)
        self.assertIn("keyed keyed actor slots=8 weight=1 isolation=shared", listed)
        self.assertIn("upper program slots=8 weight=1 isolation=shared", listed)
        self.assertIn("echo function slots=8 weight=1 isolation=shared", listed)


class Progress(HandlersTest):
    def test_watcher_sees_how_far_a_handler_is_and_how_it_ends(self):
        worker = self.start_worker()
        task = self.cluster.enqueue("steps", "1500", "--delay", "1s")

        lines = self.cluster.ctl("--json", "watch", task, "--wait", "30s").decode().splitlines()

        told = [json.loads(line) for line in lines]
        percents = [line["percent"] for line in told if "percent" in line]
        self.assertGreater(len(percents), 3)
        self.assertEqual(percents, sorted(percents))
        self.assertIn("step at", told[0]["note"])
        self.assertEqual(told[-1]["state"], "completed")
        self.assertIn("begins to walk", worker.text())
        self.assertIn(task, worker.text())

    def test_watcher_that_reconnects_goes_on(self):
        self.start_worker()
        task = self.cluster.enqueue("steps", "4000")
        seen = []
        watching = threading.Thread(target=lambda: seen.append(
            self.cluster.ctl("watch", task, "--wait", "60s").decode()))
        watching.start()
        wait_until(lambda: self.cluster.status(task)["state"] == "leased", 10, "it runs")

        self.cluster.coordinator.kill()
        self.cluster.start_coordinator()
        watching.join()

        self.assertTrue(seen and seen[0].endswith("completed\n"), seen)


if __name__ == "__main__":
    unittest.main()
