# SPDX-License-Identifier: Apache-2.0
"""The programs' logs: failed attempts, output of programs, formats, and the level at run time."""

import json
import time
import unittest

import cluster


class Logs(cluster.ClusterTest):
    def lines(self, process, message):
        return [line for line in process.text().splitlines() if message in line]

    def wait_for(self, process, message, count=1):
        cluster.wait_until(lambda: len(self.lines(process, message)) >= count, 20, message)
        return self.lines(process, message)

    def test_failed_attempt_leaves_a_line_and_the_last_one_an_error(self):
        self.cluster.start_coordinator()
        worker = self.cluster.start_worker(
            "w1", "--exec", "broken=sh -c 'echo no paper >&2; exit 3'", handlers=())

        task = self.cluster.enqueue("broken", "x", "--max-attempts", "2", "--retry", "fixed",
                                    "--retry-base", "1ms")
        self.cluster.result(task, status=4)

        first, last = self.wait_for(worker, "attempt fails", 2)
        for line in first, last:
            self.assertIn(f"queue=broken task={task} ", line)
            self.assertRegex(line, r" duration_ms=\d+ ")
            self.assertIn('reason="exit status 3: no paper"', line)
        self.assertRegex(first, r"Z warning .* attempt=1 .* last=false ")
        self.assertRegex(last, r"Z error .* attempt=2 .* last=true ")
        said = self.wait_for(worker, "program says", 2)
        self.assertIn(f'task={task} queue=broken attempt=1 left_out=0 text="no paper"', said[0])

    def test_many_failures_of_a_queue_are_counted_in_few_lines(self):
        self.cluster.start_coordinator()
        worker = self.cluster.start_worker("w1", "--log-level", "warn", "--exec", "broken=false",
                                           handlers=())
        self.cluster.ctl("enqueue", "broken", "x", "--max-attempts", "1", "--count", "200")
        cluster.wait_until(
            lambda: (self.cluster.queue_stats("broken") or {}).get("dead") == 200, 30, "all dead")
        # The next line after a second tells how many were left out.
        time.sleep(1.1)
        self.cluster.enqueue("broken", "x", "--max-attempts", "1")

        def left_out():
            lines = self.lines(worker, "attempt fails")
            counts = [int(line.split("left_out=")[1].split()[0]) for line in lines]
            return sum(counts) > 0 and (len(counts), sum(counts))

        lines, uncounted = cluster.wait_until(left_out, 20, "lines that were left out")
        self.assertLess(lines, 100)
        self.assertGreater(uncounted, 50)

    def test_json_has_one_object_per_line(self):
        coordinator = self.cluster.start_coordinator("--log-format", "json")
        worker = self.cluster.start_worker("w1", "--log-format", "json", "--exec", "broken=false",
                                           handlers=())
        task = self.cluster.enqueue("broken", "x", "--max-attempts", "1")
        self.cluster.result(task, status=4)
        self.wait_for(worker, "attempt fails")

        for process in coordinator, worker:
            for line in process.text().splitlines():
                self.assertLessEqual({"time", "level", "message"}, json.loads(line).keys(), line)
        failed = json.loads(self.lines(worker, "attempt fails")[0])
        self.assertEqual(
            (failed["level"], failed["queue"], failed["task"], failed["attempt"], failed["last"]),
            ("error", "broken", task, 1, True))

    def test_level_is_changed_while_the_coordinator_runs(self):
        coordinator = self.cluster.start_coordinator("--http", "127.0.0.1:0")
        self.assertEqual(self.cluster.ctl("log-level").decode(), "info\n")
        for message in "operator connects", "node says goodbye", "connection closes":
            self.assertEqual(self.lines(coordinator, message), [], "tools leave no lines")

        self.assertEqual(self.cluster.ctl("--json", "log-level", "debug"), b'{"level":"debug"}\n')
        self.wait_for(coordinator, "log changes its level from=info to=debug")
        self.cluster.stats()
        self.wait_for(coordinator, "operator connects name=codeqctl")

        self.assertIn("loud", self.cluster.ctl_error("log-level", "loud"))
        self.cluster.ctl("log-level", "off")
        before = coordinator.text()
        self.cluster.stats()
        self.assertEqual(coordinator.text(), before)

    def test_worker_rereads_its_level(self):
        self.cluster.start_coordinator()
        config = self.cluster.path("worker.toml")
        config.write_text('exec = ["upper=tr a-z A-Z"]\nlog-level = "error"\n')
        worker = self.cluster.start_worker("w1", "--config", config, handlers=())
        task = self.cluster.enqueue("upper", "x")
        self.cluster.result(task)
        self.assertEqual(worker.text(), "")

        config.write_text('exec = ["upper=tr a-z A-Z"]\nlog-level = "info"\n')
        worker.hang_up()

        self.wait_for(worker, "worker has read its settings")

    def test_expired_leases_are_noted(self):
        coordinator = self.cluster.start_coordinator()
        worker = self.cluster.start_worker("w1", "--exec", "slow=sleep 60", handlers=())
        task = self.cluster.enqueue("slow", "x", "--lease", "1s", "--max-attempts", "1")
        cluster.wait_until(lambda: self.cluster.status(task)["state"] == "leased", 20, "leased")
        worker.kill()

        line = self.wait_for(coordinator, "leases expire")[0]
        self.assertRegex(line, rf"warning .*tenant=default queue=slow count=1 task={task} ")
        self.assertRegex(line, r" attempt=1 worker=\S*w1 ")


if __name__ == "__main__":
    unittest.main()
