# SPDX-License-Identifier: Apache-2.0
"""Workers that serve the queues of a pattern."""

import unittest

import cluster

SAY = "sh -c 'printf \"%s %s\" NAME \"$CODEQ_QUEUE\"'"


def program(queue, name):
    return f"{queue}={SAY.replace('NAME', name)}"


class Patterns(cluster.ClusterTest):
    def test_queue_that_appears_later_is_served_without_a_reconnect(self):
        coordinator = self.cluster.start_coordinator()
        self.cluster.start_worker("w1", "--exec", program("print-*", "printer"), handlers=())
        first = self.cluster.enqueue("print-a4", "x")
        self.assertEqual(self.cluster.result(first), "printer print-a4")

        later = self.cluster.enqueue("print-a3", "x")
        other = self.cluster.enqueue("mail", "x")

        self.assertEqual(self.cluster.result(later), "printer print-a3")
        self.assertEqual(self.cluster.status(other)["state"], "ready")
        self.assertEqual(coordinator.text().count("worker connects"), 1)

    def test_name_decides_before_the_longest_pattern(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker(
            "w1", "--exec", program("*", "any"), "--exec", program("print-*", "printer"),
            "--exec", program("print-a4", "a4"), handlers=())

        said = {queue: self.cluster.result(self.cluster.enqueue(queue, "x"))
                for queue in ("mail", "print-a3", "print-a4")}

        self.assertEqual(said, {"mail": "any mail", "print-a3": "printer print-a3",
                                "print-a4": "a4 print-a4"})

    def test_chosen_queues_are_a_part_of_those_that_have_handlers(self):
        self.cluster.start_coordinator()
        worker = ("--exec", program("*", "any"), "--queues", "mail,print-*")
        self.cluster.start_worker("w1", *worker, handlers=())

        tasks = {queue: self.cluster.enqueue(queue, "x") for queue in ("mail", "print-a", "other")}

        self.assertEqual(self.cluster.result(tasks["mail"]), "any mail")
        self.assertEqual(self.cluster.result(tasks["print-a"]), "any print-a")
        self.assertEqual(self.cluster.status(tasks["other"])["state"], "ready")
        explained = self.cluster.ctl("explain", tasks["other"]).decode()
        self.assertIn("no connected worker claims from queue `other`", explained)

    def test_token_allows_only_its_queues_of_a_pattern(self):
        tokens = self.cluster.path("tokens")
        create = ("token", "create", "--file", tokens, "--tenant", "default", "--subject")
        worker_token = self.cluster.ctl(*create, "w", "--role", "worker", "--queues",
                                        "print-a4,mail").decode().strip()
        self.cluster.token = self.cluster.ctl(*create, "o", "--role", "admin").decode().strip()
        self.cluster.start_coordinator(access=("--tokens", tokens))
        token_file = self.cluster.path("w.token")
        token_file.write_text(worker_token)
        self.cluster.start_worker("w1", "--token-file", token_file, "--exec",
                                  program("print-*", "printer"), handlers=())

        allowed = self.cluster.enqueue("print-a4", "x")
        foreign = self.cluster.enqueue("print-a3", "x")
        unmatched = self.cluster.enqueue("mail", "x")

        self.assertEqual(self.cluster.result(allowed), "printer print-a4")
        for task in foreign, unmatched:
            self.assertEqual(self.cluster.status(task)["state"], "ready")

        refused = self.cluster.start_worker("w2", "--token-file", token_file, "--exec",
                                            program("fax-*", "fax"), handlers=())
        self.assertEqual(refused.wait(20), 2)
        self.assertIn("does not allow to claim from any queue fax-*", refused.text())

    def test_limited_queue_of_a_pattern_leaves_slots_to_others(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker(
            "w1", "--slots", "2", "--prefetch", "0", "--exec", "q-*=sleep 3", "--exec",
            program("*", "any"), "--queue", "q-*=slots:1", handlers=())
        for _ in range(4):
            self.cluster.enqueue("q-slow", "x")

        quick = [self.cluster.enqueue("quick", "x") for _ in range(3)]

        for task in quick:
            self.assertEqual(self.cluster.result(task), "any quick")
        self.assertLessEqual(self.cluster.queue_stats("q-slow")["leased"], 2)

    def test_list_shows_names_and_patterns(self):
        worker = (cluster.BIN / "codeq-worker", "--exec", "print-*=cat", "--exec", "mail=cat",
                  "--list-handlers")
        listing = self.cluster.start("list", worker)
        self.assertEqual(listing.wait(20), 0)
        self.assertEqual([line.split()[0] for line in listing.text().splitlines()],
                         ["print-*", "mail"])


if __name__ == "__main__":
    unittest.main()
