# SPDX-License-Identifier: Apache-2.0
"""The micro-benchmarks of the core, of records and of frames take no more instructions than
`instructions.json` says, within a margin. Callgrind counts them, which no machine's load changes:
those of 300 iterations less those of 100, so that the start does not count.

`python3 instructions_test.py --write` takes today's numbers as the new ones."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin/codeq-micro"
BASELINE = pathlib.Path(__file__).with_name("instructions.json")
ITERATIONS = (100, 300)
# Libraries select some of their code by the processor.
MARGIN = 1.15
BENCHMARKS = [
    "decide/enqueue/batch:1", "decide/enqueue/batch:64",
    "decide/enqueue_claim/batch:1", "decide/enqueue_claim/batch:64",
    "decide/enqueue_claim_complete/batch:1", "decide/enqueue_claim_complete/batch:64",
    "retry/batch:64", "apply/batch:64", "encode_and_decode_keys", "encode_records/batch:64",
    "decode_bodies/batch:64", "build_enqueue_frame/batch:64", "read_enqueue_frame/batch:64",
    "wheel",
]


def with_fixed_addresses():
    """Prefix that disables address randomisation: some containers are ordered by addresses. Where a
    sandbox forbids that, the margin has to suffice."""
    command = ["setarch", "-R"]
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if tried.returncode == 0 else []


def total(benchmark, iterations):
    """Instructions of a whole run of the program."""
    with tempfile.NamedTemporaryFile(prefix="codeq-micro-") as out:
        words = [*with_fixed_addresses(), "valgrind", "--tool=callgrind",
                 f"--callgrind-out-file={out.name}", PROGRAM,
                 f"--benchmark_filter=^{benchmark}(/iterations:|$)"]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False,
            env={**os.environ, "CODEQ_MICRO_ITERATIONS": str(iterations)})
        if done.returncode != 0 or benchmark not in done.stdout:
            raise AssertionError(f"{benchmark} did not run: {done.stderr}")
        text = pathlib.Path(out.name).read_text()
        return int(re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE).group(1))


def instructions(benchmark):
    few, many = (total(benchmark, iterations) for iterations in ITERATIONS)
    return round((many - few) / (ITERATIONS[1] - ITERATIONS[0]))


class Instructions(unittest.TestCase):
    def test_are_no_more_than_before(self):
        baseline = json.loads(BASELINE.read_text())
        self.assertEqual(sorted(baseline), sorted(BENCHMARKS))
        for benchmark, before in baseline.items():
            with self.subTest(benchmark):
                now = instructions(benchmark)
                print(f"{benchmark:40} {now:9} of {before:9}  {now / before:5.3f}",
                      file=sys.stderr)
                self.assertLessEqual(
                    now, before * MARGIN,
                    f"{benchmark} takes {now} instructions, {before} before; mend it, or run "
                    "instructions_test.py --write and say why")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        counts = {benchmark: instructions(benchmark) for benchmark in BENCHMARKS}
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n")
    else:
        unittest.main()
