# SPDX-License-Identifier: Apache-2.0
"""Programs as handlers, and how codeqctl shows their failures."""

import unittest

import cluster


class Exec(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def test_program_gets_the_payload_and_gives_the_result(self):
        self.cluster.start_worker("w1", "--exec", "upper=tr a-z A-Z", handlers=())
        binary = bytes(range(256))

        tasks = [self.cluster.enqueue("upper", "hello"), self.cluster.enqueue("upper", "")]
        odd = self.cluster.ctl("enqueue", "upper", "-", payload=binary).decode().strip()

        self.assertEqual([self.cluster.result(task) for task in tasks], ["HELLO", ""])
        self.assertEqual(self.cluster.ctl("result", odd, "--wait", "20s"), binary.upper())

    def test_program_that_fails_leaves_its_reason(self):
        self.cluster.start_worker("w1", "--exec", "broken=ls /nowhere", handlers=())

        task = self.cluster.enqueue("broken", "x", "--max-attempts", "1")
        self.cluster.result(task, status=4)

        status = self.cluster.status(task)
        self.assertEqual(status["state"], "dead")
        self.assertIn("/nowhere", str(status))

    def test_programs_and_libraries_share_a_worker(self):
        self.cluster.start_worker("w1", "--exec", "count=wc -c")

        counted = self.cluster.enqueue("count", "12345")
        echoed = self.cluster.enqueue("echo", "12345")

        self.assertEqual(self.cluster.result(counted).strip(), "5")
        self.assertEqual(self.cluster.result(echoed), "12345")

    def test_failed_task_is_tried_again(self):
        self.cluster.start_worker("w1")

        task = self.cluster.enqueue("fail_once", "x")

        self.assertEqual(self.cluster.result(task), "2")


if __name__ == "__main__":
    unittest.main()
