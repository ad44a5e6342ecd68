# SPDX-License-Identifier: Apache-2.0
"""What the generator makes of a table of faults, and which tables it refuses."""

import os
import tempfile
import unittest

import generate

_SOURCE = """int half(int x) {
  if (x > 1
      && x < 9)
    x = 2;
  return x / 2;
}
"""


def _fault(text, replacement, **fields):
    return {"name": "wrong", "file": "a.cpp", "kind": "expression", "text": text,
            "replacement": replacement, **fields}


def _mutated(*faults, source=_SOURCE):
    """The copy without its first two lines."""
    changes = generate.read_changes({"fault": list(faults)})[2]
    return generate.mutate("a.cpp", source, changes).split("\n", 2)[2]


class Copy(unittest.TestCase):
    def test_expression_becomes_a_choice(self):
        self.assertIn("return (::codeq::mutation::is_active(1) ? (x * 2) : (x / 2));",
                      _mutated(_fault("x / 2", "x * 2")))

    def test_statements_become_a_branch(self):
        self.assertIn("{ if (::codeq::mutation::is_active(1)) {  } else { x = 2; } }",
                      _mutated(_fault("x = 2;", "", kind="statements")))

    def test_faults_share_a_place(self):
        self.assertIn("(::codeq::mutation::is_active(1) ? (1) : ::codeq::mutation::is_active(2) ? "
                      "(2) : (x / 2))",
                      _mutated(_fault("x / 2", "1"), _fault("x / 2", "2", name="other")))

    def test_white_space_does_not_count_and_lines_stay(self):
        copy = _mutated(_fault("x > 1 && x < 9", "x > 1\n || x < 9"))
        self.assertIn("(x > 1 || x < 9) : (x > 1\n      && x < 9)", copy)
        self.assertEqual(copy.count("\n"), _SOURCE.count("\n"))

    def test_within_chooses_the_place(self):
        self.assertIn("(::codeq::mutation::is_active(1) ? (y) : (x)) / 2",
                      _mutated(_fault("x", "y", within="x / 2")))

    def test_fault_has_several_places(self):
        places = [_fault("x / 2", "x"), _fault("x = 2;", "", kind="statements")]
        for place in places:
            del place["name"]
        self.assertEqual(_mutated({"name": "wrong", "change": places}).count("is_active(1)"), 2)

    def test_says_which_lines_it_is_of(self):
        names, seeds, changes = generate.read_changes({"fault": [_fault("x / 2", "x", seed=7)]})
        self.assertEqual(names, ["no fault", "wrong"])
        self.assertEqual(seeds, [0, 7])
        self.assertEqual(generate.mutate("a.cpp", _SOURCE, changes).split("\n")[1],
                         '#line 1 "a.cpp"')


class Refused(unittest.TestCase):
    def check(self, words, *faults):
        with self.assertRaises(generate.FaultError) as caught:
            _mutated(*faults)
        self.assertIn(words, str(caught.exception))
        self.assertIn('fault "wrong": a.', str(caught.exception))

    def test_text_that_is_not_there_once(self):
        self.check("text is found 0 times", _fault("z", "y"))
        self.check("text is found 5 times", _fault("x", "y"))
        self.check("text is found 0 times", _fault("eturn x", "y"))
        self.check("text is found 0 times", _fault("int hal", "y"))
        self.check("within is found 0 times", _fault("x", "y", within="z"))

    def test_changes_that_overlap(self):
        self.check("overlaps with fault", _fault("return x / 2;", "", kind="statements", name="a"),
                   _fault("x / 2", "x"))

    def test_second_change_of_a_fault_at_one_place(self):
        place = _fault("x / 2", "x")
        del place["name"]
        self.check("another change is at the same place",
                   {"name": "wrong", "change": [place, place]})

    def test_fields_that_are_wrong(self):
        self.check("unknown fields ['texts']", _fault("x / 2", "x", texts="x"))
        self.check("kind is", _fault("x / 2", "x", kind="statement"))
        self.check("every field is a string", _fault("x / 2", 2))
        self.check("text is empty", _fault(" ", "x"))
        self.check("replacement of an expression is empty", _fault("x / 2", ""))
        self.check("no comments", _fault("x / 2", "x // why"))
        self.check("only .cpp files", _fault("x / 2", "x", file="a.hpp"))

    def test_field_that_is_missing(self):
        fault = _fault("x / 2", "x")
        del fault["text"]
        self.check("missing fields ['text']", fault)

    def test_two_faults_of_one_name(self):
        with self.assertRaisesRegex(generate.FaultError, "'wrong'"):
            _mutated(_fault("x / 2", "x"), _fault("x / 2", "1"))

    def test_seed_that_is_none(self):
        for seed in ("7", -1, True, 1.5):
            with self.assertRaisesRegex(generate.FaultError, 'fault "wrong": seed is a whole'):
                _mutated(_fault("x / 2", "1", seed=seed))

    def test_file_that_is_not_there(self):
        names, seeds, changes = generate.read_changes({"fault": [_fault("x", "y")]})
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(generate.FaultError, 'fault "wrong": a.cpp: no such file'):
                generate.generate(names, seeds, changes, folder, os.path.join(folder, "out"))


if __name__ == "__main__":
    unittest.main()
