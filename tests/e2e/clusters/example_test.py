# SPDX-License-Identifier: Apache-2.0
"""The example of a cluster does what it says, and leaves nothing behind."""

import os
import pathlib
import subprocess
import unittest

import cluster

SCRIPT = pathlib.Path(__file__).parents[3] / "examples" / "cluster" / "run.sh"


def processes_of(mark):
    """Command lines of the processes whose environment has the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes())
        except (OSError, ValueError):
            pass
    return found


class Example(unittest.TestCase):
    def test_example_loses_and_doubles_nothing(self):
        mark = f"CODEQ_EXAMPLE_TEST={os.getpid()}"
        name, value = mark.split("=")
        done = subprocess.run(
            [str(SCRIPT)], capture_output=True, text=True, timeout=200, check=False,
            env={**os.environ, "CODEQ_BUILD": str(cluster.BUILD), name: value})

        print(done.stdout)
        self.assertEqual(0, done.returncode, done.stderr[-4000:])
        self.assertRegex(
            done.stdout.splitlines()[-1],
            r"^cluster: (\d+) tasks, \1 completed, 0 lost, 0 doubled, fail-over \d+ ms$")
        self.assertEqual([], processes_of(mark))


if __name__ == "__main__":
    unittest.main()
