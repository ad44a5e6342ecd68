# SPDX-License-Identifier: Apache-2.0
"""The checker refuses each kind of bad history, and accepts the histories that the contract
allows."""

import unittest

import history

GOOD = """
100 send task=p-1 request=1 atomic=0 delay=0 max=3 group=g limits=
101 send task=p-2 request=1 atomic=0 delay=0 max=3 group=g limits=
200 ack task=p-1 id=A
201 ack task=p-2 id=B
300 start task=p-1 id=A token=10 attempt=1
310 done task=p-1 id=A token=10 how=failed
400 start task=p-1 id=A token=20 attempt=2
410 done task=p-1 id=A token=20 how=completed
420 end id=A state=completed attempt=2 result=p-1/20
500 start task=p-2 id=B token=30 attempt=1
510 done task=p-2 id=B token=30 how=completed
520 end id=B state=completed attempt=1 result=p-2/30
900 final id=A state=completed attempt=2 result=p-1/20
901 final id=B state=completed attempt=1 result=p-2/30
"""

# Two tasks that run one after the other.
LIMITED = """
50 limit limit=one concurrency=1
51 limit limit=few concurrency=2
100 send task=p-1 request=1 atomic=0 delay=0 max=3 group= limits=one:a
101 send task=p-2 request=1 atomic=0 delay=0 max=3 group= limits=one:a
300 start task=p-1 id=A token=10 attempt=1
310 done task=p-1 id=A token=10 how=completed
310 start task=p-2 id=B token=20 attempt=1
320 done task=p-2 id=B token=20 how=completed
330 end id=A state=completed attempt=1 result=p-1/10
331 end id=B state=completed attempt=1 result=p-2/20
"""


def events_of(text):
    return [history.parse(line + "\n") for line in text.splitlines() if line]


def check(text):
    return history.check(events_of(text))


class Checker(unittest.TestCase):
    def assert_refused(self, text, word):
        found = check(text)
        self.assertTrue(any(line.startswith(word + ":") for line in found), found)

    def test_good_history_is_allowed(self):
        self.assertEqual(check(GOOD), [])

    def test_line_that_was_cut_off_is_no_event(self):
        self.assertIsNone(history.parse("100 ack task=p-1 id="))
        self.assertIsNone(history.parse("\n"))

    def test_acknowledged_task_that_is_unknown_is_lost(self):
        self.assert_refused(GOOD.replace(
            "901 final id=B state=completed attempt=1 result=p-2/30",
            "901 final id=B state=unknown_task"), "lost")

    def test_acknowledged_task_that_never_ended_is_lost(self):
        self.assert_refused(GOOD.replace(
            "901 final id=B state=completed attempt=1 result=p-2/30", ""), "lost")

    def test_task_that_nobody_sent_is_invented(self):
        self.assert_refused(GOOD + "600 start task=p-9 id=C token=40 attempt=1", "invented")

    def test_task_that_was_enqueued_twice_is_invented(self):
        self.assert_refused(GOOD + "600 start task=p-2 id=C token=40 attempt=1", "invented")

    def test_refused_task_that_runs_is_invented(self):
        refused = """
100 send task=p-3 request=1 atomic=0 delay=0 max=3 group= limits=
110 refused task=p-3 code=queue_full
120 start task=p-3 id=C token=40 attempt=1
"""
        self.assert_refused(refused, "invented")
        self.assertEqual(check(refused.replace("queue_full", "disconnected")), [])

    def test_half_of_an_atomic_request_is_torn(self):
        self.assert_refused("""
100 send task=p-3 request=7 atomic=1 delay=0 max=3 group= limits=
101 send task=p-4 request=7 atomic=1 delay=0 max=3 group= limits=
120 start task=p-3 id=C token=40 attempt=1
""", "torn")

    def test_result_that_changes_is_refused(self):
        self.assert_refused(GOOD.replace(
            "900 final id=A state=completed attempt=2 result=p-1/20",
            "900 final id=A state=completed attempt=2 result=p-1/21"), "result")

    def test_second_accepted_result_is_refused(self):
        self.assert_refused(GOOD + """
600 start task=p-2 id=B token=40 attempt=2
610 done task=p-2 id=B token=40 how=completed
620 end id=B state=completed attempt=2 result=p-2/40
""", "result")

    def test_result_that_nobody_reported_is_refused(self):
        self.assert_refused(
            GOOD.replace("510 done task=p-2 id=B token=30 how=completed", ""), "result")

    def test_result_of_another_attempt_is_refused(self):
        self.assert_refused(GOOD.replace("result=p-2/30", "result=p-2/29"), "result")
        self.assert_refused(GOOD.replace("result=p-2/30", "result=p-1/30"), "result")

    def test_task_that_runs_again_after_its_end_is_refused(self):
        self.assert_refused(GOOD + "600 start task=p-2 id=B token=50 attempt=2", "result")

    def test_late_start_of_a_lost_lease_is_allowed(self):
        self.assertEqual(check(GOOD + "600 start task=p-2 id=B token=29 attempt=1"), [])

    def test_attempt_that_starts_twice_is_refused(self):
        self.assert_refused(GOOD + "430 start task=p-1 id=A token=20 attempt=2", "token")

    def test_token_that_does_not_grow_is_refused(self):
        self.assert_refused(
            GOOD.replace("token=10 attempt=1", "token=10 attempt=3"), "token")

    def test_attempt_beyond_the_limit_is_refused(self):
        self.assert_refused(GOOD.replace("max=3", "max=1"), "attempts")

    def test_early_death_is_refused_unless_a_handler_said_so(self):
        dead = GOOD.replace("how=completed", "how=failed").replace(
            "state=completed attempt=1 result=p-2/30", "state=dead attempt=1")
        self.assert_refused(dead, "attempts")
        said = dead.replace("token=30 how=failed", "token=30 how=permanent")
        self.assertFalse(any("B died" in line for line in check(said)))

    def test_deferred_task_that_starts_early_is_refused(self):
        early = """
1000000 send task=p-3 request=1 atomic=0 delay=50 max=3 group= limits=
40000000 start task=p-3 id=C token=40 attempt=1
"""
        self.assert_refused(early, "early")
        self.assertEqual(check(early.replace("40000000", "51000000")), [])

    def test_group_out_of_order_is_refused(self):
        self.assert_refused(GOOD.replace("token=30", "token=15"), "group")

    def test_group_that_runs_two_at_a_time_is_refused(self):
        self.assert_refused(GOOD.replace("500 start", "405 start"), "group")

    def test_requests_of_a_cluster_that_are_open_together_may_arrive_in_any_order(self):
        def swapped(text):
            return (text.replace("token=30", "token=5").replace("500 start", "290 start")
                    .replace("510 done", "295 done").replace("p-2/30", "p-2/5")
                    .replace("id=A", "id=20").replace("id=B", "id=10"))

        together = swapped(GOOD).replace("task=p-2 request=1", "task=p-2 request=2")
        later = together.replace("101 send", "250 send")
        self.assertIn("group", str(check(together)))
        for text, is_allowed in ((together, True), (later, False), (swapped(GOOD), False)):
            found = history.check(events_of(text), is_of_cluster=True)
            self.assertEqual(not found, is_allowed, found)

    def test_violation_is_explained_by_the_events_of_its_task(self):
        bad = GOOD + "600 start task=p-2 id=B token=50 attempt=2"
        told = history.explain(events_of(bad), check(bad))
        self.assertIn("600 start task=p-2 id=B token=50", told)
        self.assertNotIn("id=A", told)

    def test_two_leases_of_a_key_with_one_slot_are_refused(self):
        crowded = LIMITED.replace("310 start", "309 start")
        self.assertEqual(check(LIMITED), [])
        self.assert_refused(crowded, "limit")
        self.assertIn("had 2 leases of 1, of A B", check(crowded)[0])

    def test_a_third_lease_of_a_key_with_two_slots_is_refused(self):
        third = """
102 send task=p-3 request=2 atomic=0 delay=0 max=3 group= limits=few:a
300 start task=p-3 id=C token=15 attempt=1
315 done task=p-3 id=C token=15 how=completed
332 end id=C state=completed attempt=1 result=p-3/15
"""
        few = LIMITED.replace("one:a", "few:a").replace("310 start", "309 start")
        self.assertEqual(check(few), [])
        self.assert_refused(few + third, "limit")
        self.assertEqual(check(few + third.replace("few:a", "few:b")), [])

    def test_a_task_with_two_limits_has_a_slot_of_each(self):
        both = LIMITED.replace("limits=one:a", "limits=few:x,one:a", 1)
        self.assertEqual(check(both), [])
        self.assert_refused(both.replace("310 start", "309 start"), "limit")

    def test_leases_of_other_keys_and_other_limits_do_not_matter(self):
        together = LIMITED.replace("310 start", "309 start")
        for change in (("limits=one:a", "limits=one:b"), ("limits=one:a", "limits=few:a"),
                       ("limits=one:a", "limits=")):
            self.assertEqual(check(together.replace(*change, 1)), [])
        unlimited = together.replace("one:a", "pace:a")
        self.assertEqual(check(unlimited), [])

    def test_handler_that_outlives_its_lease_is_allowed(self):
        zombie = LIMITED.replace("310 start", "309 start").replace(
            "330 end id=A state=completed attempt=1 result=p-1/10",
            """400 start task=p-1 id=A token=30 attempt=2
410 done task=p-1 id=A token=30 how=completed
430 end id=A state=completed attempt=2 result=p-1/30""")
        self.assertEqual(check(zombie), [])

    def test_other_groups_do_not_matter(self):
        self.assertEqual(check(GOOD.replace("group=g", "group=")
                               .replace("500 start", "405 start")), [])


if __name__ == "__main__":
    unittest.main()
