# SPDX-License-Identifier: Apache-2.0
"""Invalid values for every field: the refusal names field, value and limit, and nothing is
stored."""

import subprocess
import unittest

import cluster

LONG = "n" * 129
LONG_KEY = "k" * 257

# Arguments of enqueue (queue, options, payload), and words that the refusal must contain.
REFUSED = [
    ((LONG, (), "x"), ("queue", LONG, "128")),
    (("a b", (), "x"), ("queue", "a b")),
    (("", (), "x"), ("queue",)),
    (("q", ("--tenant", LONG), "x"), ("tenant", LONG, "128")),
    (("q", ("--tenant", "a/b"), "x"), ("tenant", "a/b")),
    (("q", (), "x" * ((1 << 20) + 1)), ("payload", "more than", "1048576")),
    (("q", ("--priority", "10"), "x"), ("priority", "10", "9")),
    (("q", ("--priority", "-1"), "x"), ("priority", "-1", "0")),
    (("q", ("--delay", "4000d"), "x"), ("delay", "3650")),
    (("q", ("--delay", "5"), "x"), ("delay", "5")),
    (("q", ("--max-attempts", "0"), "x"), ("max-attempts", "0", "1")),
    (("q", ("--max-attempts", "1001"), "x"), ("max-attempts", "1001", "1000")),
    (("q", ("--retry", "never"), "x"), ("retry", "never", "fixed")),
    (("q", ("--retry-base", "366d"), "x"), ("retry-base", "365")),
    (("q", ("--retry-cap", "366d"), "x"), ("retry-cap", "365")),
    (("q", ("--lease", "999ms"), "x"), ("lease", "999ms", "1s")),
    (("q", ("--lease", "13h"), "x"), ("lease", "13h", "12h")),
    (("q", ("--run-timeout", "31d"), "x"), ("run-timeout", "31d", "30d")),
    (("q", ("--progress-timeout", "31d"), "x"), ("progress-timeout", "31d", "30d")),
    (("q", ("--retention", "2h"), "x"), ("retention", "2h", "1h")),
    (("q", ("--group", LONG_KEY), "x"), ("group", "257", "256")),
    (("q", ("--key", LONG_KEY), "x"), ("key", "257", "256")),
    (("q", ("--on-dead", "maybe"), "x"), ("on-dead", "maybe", "skip")),
    (("q", ("--key", "k", "--on-duplicate", "maybe"), "x"), ("on-duplicate", "maybe", "existing")),
    (("q", ("--on-duplicate", "reject"), "x"), ("on-duplicate", "key")),
    (("q", ("--replace-payload",), "x"), ("replace-payload", "key")),
]

# Complete commands, and words that the refusal must contain.
COMMANDS_REFUSED = [
    (("promote", "--key", "k"), ("queue",)),
    (("cancel", "--queue", "q"), ("key",)),
    (("queue", "set", "q", "--max-attempts", "0"), ("max-attempts", "0", "1")),
    (("queue", "set", "q", "--lease", "13h"), ("lease", "13h", "12h")),
    (("queue", "set", "q", "--max-depth", "-1"), ("max-depth", "-1")),
    (("tenant", "purge", "t"), ("yes",)),
    (("queue", "purge", "q"), ("yes",)),
    (("dead", "purge"), ("yes",)),
    (("queue", "pause", "nosuch"), ("unknown_queue", "nosuch", "default")),
    (("queue", "resume", "nosuch"), ("unknown_queue", "nosuch")),
    (("queue", "purge", "nosuch", "--yes"), ("unknown_queue", "nosuch")),
    (("bogus", "--help"), ("bogus",)),
    (("queue", "dance", "--help"), ("dance",)),
    (("list", "--state", "sleeping"), ("state", "sleeping", "ready")),
    (("list", "--limit", "0"), ("limit", "0", "1")),
    (("dead", "redrive", "--rate", "0"), ("rate", "0", "1")),
    (("explain", "no-id"), ("no-id",)),
]


class BadInput(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def check(self, said, words, what):
        for word in words:
            self.assertIn(word.lower(), said.lower(), what)

    def test_every_field_of_a_task_is_refused_by_name_value_and_limit(self):
        for (queue, options, payload), words in REFUSED:
            said = self.cluster.ctl_error(
                "enqueue", queue, "-", *options, payload=payload.encode())
            self.check(said, words, (queue[:20], options))

        self.assertEqual(self.cluster.stats()["queues"], [])

    def test_every_operator_command_is_refused_by_name_value_and_limit(self):
        for command, words in COMMANDS_REFUSED:
            self.check(self.cluster.ctl_error(*command), words, command)

        self.assertEqual(self.cluster.stats()["queues"], [])


class Headers(cluster.ClusterTest):
    """Headers, which only a producer's own code can set."""

    def setUp(self):
        super().setUp()
        self.cluster.start_coordinator()

    def enqueue(self, name, size):
        return subprocess.run(
            [cluster.HEADERS, self.cluster.address, "headers", name, str(size)],
            capture_output=True, text=True, timeout=60, check=False)

    def test_reach_the_handler(self):
        self.cluster.start_worker("w")
        largest = 16384 - len("traceparent")

        done = self.enqueue("traceparent", largest)

        self.assertEqual(done.stderr, "")
        self.assertEqual(self.cluster.result(done.stdout.strip()), f"traceparent={largest}")

    def test_over_their_limit_are_refused(self):
        for name, size, words in (
                ("traceparent", 16384, ("too_large", "headers is 16395 bytes", "16384")),
                ("", 1, ("invalid_argument", "header's name is empty", "at least 1"))):
            done = self.enqueue(name, size)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            for word in words:
                self.assertIn(word, done.stderr)

        self.assertEqual(self.cluster.stats()["queues"], [])


if __name__ == "__main__":
    unittest.main()
