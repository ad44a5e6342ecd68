# SPDX-License-Identifier: Apache-2.0
"""Claims do not get dearer with the number of tasks that a queue has seen: the instructions of the
last ones, counted by callgrind, are within a tenth of those of the first ones."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin/tests/claim_cost"
# Three million by CODEQ_CLAIM_TASKS=3000000.
TASKS = int(os.environ.get("CODEQ_CLAIM_TASKS", "300000"))


def instructions(directory, name):
    """Of the thread that claims, which is the first, in the dump of that name."""
    for path in directory.glob("callgrind.out.*-01"):
        text = path.read_text()
        if f"desc: Trigger: Client Request: {name}\n" in text:
            return int(re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE).group(1))
    raise AssertionError(f"callgrind has left no dump named {name}")


class ClaimCost(unittest.TestCase):
    def test_is_that_of_the_first_claims_after_many_tasks(self):
        with tempfile.TemporaryDirectory(prefix="codeq-cost-") as name:
            directory = pathlib.Path(name)
            done = subprocess.run(
                ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
                 "--separate-threads=yes", f"--callgrind-out-file={name}/callgrind.out",
                 PROGRAM, name, str(TASKS)],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

            first = instructions(directory, "first")
            last = instructions(directory, "last")

        print(f"{done.stdout.strip()}; instructions of 50 claims of 64 tasks: first {first}, "
              f"last {last}, {last / first:.3f} times", file=sys.stderr)
        self.assertLess(last, first * 1.1)


if __name__ == "__main__":
    unittest.main()
