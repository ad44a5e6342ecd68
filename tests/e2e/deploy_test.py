# SPDX-License-Identifier: Apache-2.0
"""Deployments without interruption: rolling restarts under load, and settings changed at run
time."""

import signal
import subprocess
import threading
import time
import unittest

import cluster
from cluster import wait_until

WEIGHTS = cluster.BUILD / "lib" / "libe2e_weights.so"
NAMES = ("w1", "w2", "w3")
TASKS = 5000
LEASE = 60.0


class Deploy(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def start_worker(self, name, *options):
        return self.cluster.start_worker(
            name, "--slots", "8", *options, handlers=(WEIGHTS,))

    def completed(self):
        return (self.cluster.queue_stats("nap") or {}).get("completed", 0)

    def test_rolling_restart_under_load_loses_and_charges_nothing(self):
        workers = {name: self.start_worker(name) for name in NAMES}
        ended = []

        def produce():
            # One producer waits for all tasks: a task that had to wait for its lease to expire
            # would show in the total time.
            ended.append(subprocess.run(
                [cluster.BIN / "codeqctl", "--coordinator", self.cluster.address, "enqueue", "nap",
                 "50", "--count", str(TASKS), "--lease", f"{LEASE:.0f}s", "--wait", "200s"],
                capture_output=True, timeout=220, check=False))

        producer = threading.Thread(target=produce)
        start = time.monotonic()
        producer.start()
        for number, name in enumerate(NAMES):
            wait_until(lambda done=(number + 1) * 400: self.completed() > done, 60,
                       "all are at work again")
            status, took = workers[name].terminate(30)
            self.assertEqual(status, 0)
            print(f"{name} drained in {took:.3f} s")
            workers[name] = self.start_worker(name)
        done_when_restarted = self.cluster.queue_stats("nap")["completed"]
        producer.join()
        took = time.monotonic() - start

        print(f"{TASKS} tasks in {took:.1f} s, {done_when_restarted} by the last restart")
        self.assertLess(done_when_restarted, TASKS, "the load ended before the restarts did")
        lines = ended[0].stdout.decode().split("\n")
        self.assertEqual(sum(line.endswith(" completed") for line in lines), TASKS)
        stats = self.cluster.queue_stats("nap")
        self.assertEqual(stats["completed"], TASKS)
        self.assertEqual(stats["lost"], 0)
        # Only the attempt that completed the task was charged: the handler returns its number.
        ids = [line.split()[0] for line in lines if line.endswith(" completed")]
        for task in ids[::50]:
            self.assertEqual(self.cluster.result(task), "1")
        self.assertLess(took, LEASE, "a task waited for its lease to expire")

    def test_second_signal_hurries_a_drain(self):
        worker = self.start_worker("w1", "--drain", "60s")
        task = self.cluster.enqueue("nap", "30000")
        wait_until(lambda: self.cluster.status(task)["state"] == "leased", 10, "it runs")

        worker.popen.send_signal(signal.SIGTERM)
        wait_until(lambda: "worker drains running=1" in worker.text(), 10, "it drains")
        self.assertTrue(worker.is_running(), "the first signal lets the handler finish")
        status, took = worker.terminate(20)

        self.assertEqual(status, 0)
        self.assertLess(took, 10)
        back = self.cluster.status(task)
        self.assertEqual((back["state"], back["attempt"]), ("ready", 0))

    def test_settings_that_are_read_again_change_queues_and_slots(self):
        config = self.cluster.path("worker.toml")
        config.write_text('only = ["nap"]\nslots = 1\n')
        worker = self.cluster.start("w1", [
            cluster.BIN / "codeq-worker", "--coordinator", self.cluster.address, "--name", "w1",
            "--handlers", WEIGHTS, "--config", config])
        self.assertEqual(self.cluster.result(self.cluster.enqueue("nap", "1")), "1")
        late = self.cluster.enqueue("burn", "1")
        running = self.cluster.enqueue("nap", "2000")
        wait_until(lambda: self.cluster.status(running)["state"] == "leased", 10, "it runs")
        self.assertEqual(self.cluster.status(late)["state"], "ready")

        config.write_text('only = ["nap", "burn"]\nslots = 4\n')
        worker.popen.send_signal(signal.SIGHUP)

        self.assertEqual(self.cluster.result(late), "1")
        self.assertEqual(self.cluster.status(running)["state"], "leased",
                         "a second slot was there before the first was free")
        config.write_text('only = ["burn"]\n')
        worker.popen.send_signal(signal.SIGHUP)
        self.assertEqual(self.cluster.result(running), "1", "what runs is not disturbed")
        wait_until(lambda: worker.text().count("takes new settings") == 2, 10, "it was read")
        unserved = self.cluster.enqueue("nap", "1")
        self.cluster.result(self.cluster.enqueue("burn", "1"))
        self.assertEqual(self.cluster.status(unserved)["state"], "ready")

    def test_isolation_that_is_read_again_replaces_the_handlers(self):
        config = self.cluster.path("worker.toml")
        config.write_text('slots = 1\nqueue = ["apart=isolation:shared"]\n')
        worker = self.cluster.start("w1", [
            cluster.BIN / "codeq-worker", "--coordinator", self.cluster.address, "--name", "w1",
            "--handlers", WEIGHTS, "--config", config])

        def process_of_handler():
            return int(self.cluster.result(self.cluster.enqueue("apart", "live")))

        def change_isolation(where, times):
            config.write_text(f'slots = 1\nqueue = ["apart=isolation:{where}"]\n')
            worker.hang_up()
            wait_until(lambda: worker.text().count("takes new settings") == times, 10,
                       "it was read")

        self.assertEqual(process_of_handler(), worker.pid)
        change_isolation("process", 1)
        child = process_of_handler()
        self.assertNotEqual(child, worker.pid)
        change_isolation("shared", 2)
        self.assertEqual(process_of_handler(), worker.pid)
        wait_until(lambda: not cluster.pathlib.Path(f"/proc/{child}").exists(), 10,
                   "the child ends with its handler")

    def test_bad_settings_that_are_read_again_change_nothing(self):
        config = self.cluster.path("worker.toml")
        config.write_text("slots = 2\n")
        worker = self.cluster.start("w1", [
            cluster.BIN / "codeq-worker", "--coordinator", self.cluster.address, "--name", "w1",
            "--handlers", WEIGHTS, "--config", config])
        self.cluster.result(self.cluster.enqueue("nap", "1"))

        config.write_text('slots = 2\nonly = ["nowhere"]\n')
        worker.popen.send_signal(signal.SIGHUP)

        wait_until(lambda: "keeps its settings" in worker.text(), 10, "it says so")
        self.assertIn("nowhere", worker.text())
        self.assertEqual(self.cluster.result(self.cluster.enqueue("nap", "1")), "1")


if __name__ == "__main__":
    unittest.main()
