# SPDX-License-Identifier: Apache-2.0
"""Checks that every statement of the contract has tests: reads the table in tests/README.md.

A row is `| statement | what it says | tests on the core | tests with real parts |`, a test is
`Suite.Test` of C++ or `Class.test_name` of Python, in backticks.
"""

import collections
import re

_TABLE = "tests/README.md"
_FIELDS = ("id", "names", "payload", "priority", "not_before", "max_attempts", "retry", "lease",
           "run_timeout", "progress_timeout", "group", "key", "retention", "headers", "limits",
           "fairness_key", "settings", "effective lease")
_COUNTS = {"2": 11, "3": 13, "4": 8, "5": 9, "6": 12, "8": 7, "9": 7, "10": 5, "12": 7}
_SCENARIOS = "abcdefghij"
_INVARIANTS = 13

# Tests that each column may name, and those that races and scenarios must name in it.
_CORE = (r"tests/(unit|model|schedule|sim|neighbours|permits|mutation|replication|routing|"
         r"placement)/")
_COLUMNS = (("core", _CORE, _CORE),
            ("real", r"tests/(integration|fault|golden|kill|e2e|cluster)/", r"tests/(kill|e2e)/"))


def statements():
    """The statements of the contract, by section and number."""
    wanted = [f"1 {field}" for field in _FIELDS]
    for section, count in _COUNTS.items():
        wanted += [f"{section}.{number}" for number in range(1, count + 1)]
    wanted += [f"5 ({letter})" for letter in _SCENARIOS]
    return wanted + [f"I{number}" for number in range(1, _INVARIANTS + 1)]


def needs_both(statement):
    """True for races and scenarios, which run on the core and with the real programs."""
    return statement.startswith("3.") or statement.startswith("5 (")


def _names_in(source):
    if source.path.endswith(".cpp"):
        for suite, test in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", source.text,
                                      re.MULTILINE):
            yield f"{suite}.{test}"
    elif source.path.endswith("_test.py"):
        for part in re.split(r"^class ", source.text, flags=re.MULTILINE)[1:]:
            suite = re.match(r"\w+", part).group(0)
            for test in re.findall(r"^    def (test_\w+)", part, re.MULTILINE):
                yield f"{suite}.{test}"


def existing_tests(sources):
    """The names of all tests of the project -> the files that contain one."""
    files = collections.defaultdict(set)
    for source in sources:
        if source.path.startswith("tests/"):
            for name in _names_in(source):
                files[name].add(source.path)
    return files


def _rows(table):
    """Yields (line number, statement, its text, tests of each column) of the table's rows."""
    for number, line in enumerate(table.lines, 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and re.match(r"[1-9I]", cells[0]):
            yield number, cells[0], cells[1], [re.findall(r"`([^`]+)`", c) for c in cells[2:]]


def _cell_problems(tests, column, known):
    """Yields the errors in the tests that one cell names."""
    name, allowed, _ = column
    for test in tests:
        if test not in known:
            yield f"there is no test {test}"
        elif not any(re.match(allowed, path) for path in known[test]):
            yield f"{test} is not of the column for {name} tests"


def _row_problems(statement, cells, known):
    for tests, column in zip(cells, _COLUMNS):
        yield from _cell_problems(tests, column, known)
        required = [test for test in tests
                    if any(re.match(column[2], path) for path in known.get(test, ()))]
        if needs_both(statement) and not required:
            yield f"name a {column[0]} test that fails without {statement}"
    if not any(cells):
        yield f"name a test that fails without {statement}"


def check(sources):
    """Finds rows that are missing, unknown or empty, and tests that do not exist."""
    table = next((source for source in sources if source.path == _TABLE), None)
    if not table:
        return
    known, wanted, seen = existing_tests(sources), statements(), set()
    for number, statement, promise, cells in _rows(table):
        problems = list(_row_problems(statement, cells, known))
        if statement not in wanted:
            problems = [f"the contract has no statement {statement}"]
        elif statement in seen:
            problems.append(f"{statement} has a row already")
        elif not promise:
            problems.append(f"say what {statement} promises")
        seen.add(statement)
        for problem in problems:
            yield table.found(number, "contract", problem)
    for statement in wanted:
        if statement not in seen:
            yield table.found(1, "contract", f"add a row for statement {statement}")
