# SPDX-License-Identifier: Apache-2.0
"""Workers beside a primary that is cut off."""

import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "cut_off_primary.py"


class WorkerBesideACutOffPrimary(unittest.TestCase):
    def test_its_attempt_ends_with_the_lease(self):
        # A process of its own, since it enters a network namespace.
        done = subprocess.run([sys.executable, SCRIPT], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stdout[-5000:])
        self.assertIn("has ended", done.stdout)


if __name__ == "__main__":
    unittest.main()
