# SPDX-License-Identifier: Apache-2.0
"""Checks the model of replication by SPIN: every state of it keeps the rules' promises, and without
any one of the rules some state does not."""

import os
import re
import subprocess
import tempfile
import unittest

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replication.pml")
MEMORY_MB = 2000
SECONDS = 240
# A search that is deeper than this is cut off there, which fails the test.
DEPTH = 10000


def _run(command, folder, seconds=SECONDS):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stdout + done.stderr


def _number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"no {pattern!r} in what the verifier printed:\n{text}")
    return float(found.group(1))


class Spin(unittest.TestCase):
    """Builds a verifier of the model with some switches, and runs it."""

    def search(self, switches, optimise):
        """Returns the number of errors, the verifier's text and the steps to the first error."""
        defines = [f"-D{switch}" for switch in switches]
        with tempfile.TemporaryDirectory() as folder:
            code, text = _run(["spin", "-a", *defines, MODEL], folder)
            self.assertEqual(code, 0, text)
            code, text = _run(
                ["gcc", optimise, "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", f"-DMEMLIM={MEMORY_MB}",
                 "-o", "pan", "pan.c"], folder)
            self.assertEqual(code, 0, text)
            # -E: that nothing is left to do is no error.
            code, text = _run(["./pan", "-E", f"-m{DEPTH}", "-w22"], folder)
            self.assertEqual(code, 0, text)
            errors = int(_number(r"errors: (\d+)", text))
            steps = ""
            if errors:
                trail = os.path.join(folder, os.path.basename(MODEL) + ".trail")
                _, steps = _run(["spin", "-p", "-g", "-k", trail, *defines, MODEL], folder)
        states = _number(r"([0-9.e+]+) states, stored", text)
        memory = _number(r"([0-9.]+)\s+total actual memory", text)
        depth = _number(r"depth reached (\d+)", text)
        seconds = _number(r"elapsed time ([0-9.]+)", text)
        print(f"{' '.join(switches) or 'sync'}: {errors} errors, {states:,.0f} states, "
              f"{memory:,.0f} MB, depth {depth:.0f}, {seconds} s", flush=True)
        return errors, text, steps


class Model(Spin):
    """The rules as they are: all states are searched, and each keeps the promises."""

    def hold(self, *switches):
        errors, text, steps = self.search(switches, "-O2")
        self.assertEqual(errors, 0, f"{text}\n{steps[-20000:]}")
        self.assertNotIn("Search not completed", text)
        self.assertNotIn("max search depth too small", text)

    def test_keeps_what_is_acknowledged_in_sync_mode(self):
        self.hold()

    def test_keeps_what_is_acknowledged_in_os_mode(self):
        self.hold("OS")

    def test_ends_an_entitlement_before_the_next_primary_serves(self):
        self.hold("TIMED")


class BrokenRule(Spin):
    """Without one of the rules a promise is broken."""

    def refute(self, *switches):
        errors, text, _ = self.search(switches, "-O1")
        self.assertGreater(errors, 0, text)
        self.assertIn("assertion violated", text)

    def test_confirm_before_sync(self):
        self.refute("CONFIRM_BEFORE_SYNC")

    def test_shrink_before_the_answer(self):
        self.refute("SHRINK_BEFORE_ANSWER")

    def test_elect_outside_of_the_set(self):
        self.refute("ELECT_OUTSIDE")

    def test_volatile_promise(self):
        self.refute("PROMISE_VOLATILE")

    def test_primary_writes_first_and_does_not_undo(self):
        self.refute("PRIMARY_FIRST")

    def test_learner_added_early(self):
        self.refute("LEARNER_EARLY")

    def test_addition_counted_late(self):
        self.refute("ADDITION_COUNTED_LATE")

    def test_addition_that_counts_for_new_deltas_only(self):
        self.refute("OS", "ADDITION_COUNTS_IN_PART")

    def test_epoch_resumed_after_a_restart(self):
        self.refute("EPOCH_RESUMED")

    def test_join_by_position(self):
        self.refute("JOIN_BY_POSITION")

    def test_doubtful_replica_elected(self):
        self.refute("OS", "DOUBTFUL_ELECTED")

    def test_doubt_checked_only_before_the_election(self):
        self.refute("OS", "DOUBT_SEEN_ONCE")

    def test_confirmation_outlives_its_connection(self):
        self.refute("OS", "CONFIRMATION_KEPT")

    def test_no_wait_before_serving(self):
        self.refute("TIMED", "NO_WAIT")

    def test_growth_before_serving(self):
        self.refute("TIMED", "GROW_BEFORE_SERVING")

    def test_release_before_serving(self):
        self.refute("TIMED", "RELEASE_BEFORE_SERVING")

    def test_no_wait_after_the_release_of_an_older_epoch(self):
        self.refute("TIMED", "OLDER_RELEASE")

    def test_release_that_is_not_final(self):
        self.refute("TIMED", "RELEASE_NOT_FINAL")


if __name__ == "__main__":
    unittest.main()
