# SPDX-License-Identifier: Apache-2.0
"""A short run of the harness of a cluster in each durability mode, with always the same faults."""

import pathlib
import subprocess
import sys
import unittest

SECONDS = 10
# Different ones, so that the two runs have more kinds of faults.
SEEDS = {"sync": 30, "os": 27}
HARNESS = pathlib.Path(__file__).resolve().parent / "cluster_harness.py"


class ClusterUnderFaults(unittest.TestCase):
    def check(self, durability):
        # A process of its own, since it enters a network namespace.
        done = subprocess.run(
            [sys.executable, HARNESS, "--seconds", str(SECONDS), "--seed", str(SEEDS[durability]),
             "--copies", "2", "--durability", durability],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        self.assertEqual(0, done.returncode, done.stdout[-5000:])
        self.assertIn("the history is allowed", done.stdout)

    def test_in_sync_the_history_is_allowed(self):
        self.check("sync")

    def test_in_os_the_history_is_allowed(self):
        self.check("os")


if __name__ == "__main__":
    unittest.main()
