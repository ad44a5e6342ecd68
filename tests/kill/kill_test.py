# SPDX-License-Identifier: Apache-2.0
"""A short run of the harness in each durability mode."""

import os
import unittest

import harness

SECONDS = 20


class Killed(unittest.TestCase):
    def check(self, durability):
        seed = int(os.environ.get("CODEQ_SEED", "1"))
        print(f"CODEQ_SEED={seed}")
        run = harness.Harness(seed, durability)
        self.addCleanup(run.close)

        wrong = run.run(SECONDS)

        print(harness.report(run.counts, f"kills in {durability} mode, seed {seed}:"))
        # `assertEqual` would cut a long list.
        if wrong:
            self.fail(wrong)
        self.assertGreater(run.counts["event: final"], 500)
        self.assertGreater(run.counts["tasks with limits"], 20)
        return run

    def test_in_sync_the_history_is_allowed(self):
        self.check("sync")

    def test_in_os_the_history_is_allowed_and_the_store_says_that_it_was_not_closed(self):
        run = self.check("os")

        self.assertIn("not closed in order", run.rig.coordinator.text())


if __name__ == "__main__":
    unittest.main()
