# SPDX-License-Identifier: Apache-2.0
"""What a turn has nothing to do with makes it no dearer: its instructions, counted by callgrind,
grow by no more than a search does while what waits grows a hundredfold."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin/tests/growth_cost"
SIZES = (100, 10_000)
# And how many times as many instructions they may take: `names_of_a_claim` for a hundred times as
# many names.
SUBJECTS = {"claimers_without_credits": 1.5, "claimers_without_slots": 1.5,
            "claimers_who_know": 1.5, "names_of_a_claim": 200, "owner_of_key": 3, "peers": 3,
            "resume": 1.5, "snapshot_of_one_queue": 1.5, "snapshot_of_retries": 1.5,
            "tenant_of_a_claim": 1.5}


def instructions(subject, size):
    with tempfile.NamedTemporaryFile(prefix="codeq-growth-") as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
             f"--callgrind-out-file={out.name}", PROGRAM, subject, str(size)],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{subject} did not run: {done.stderr}")
        text = pathlib.Path(out.name).read_text()
        return int(re.search(r"^totals: (\d+)", text, re.MULTILINE).group(1))


class GrowthCost(unittest.TestCase):
    def test_is_that_of_a_search(self):
        for subject, most in SUBJECTS.items():
            with self.subTest(subject):
                few, many = (instructions(subject, size) for size in SIZES)
                print(f"{subject:26} {few:9} at {SIZES[0]}, {many:9} at {SIZES[1]}, "
                      f"{many / few:.2f} times", file=sys.stderr)
                self.assertLess(many, few * most)


if __name__ == "__main__":
    unittest.main()
