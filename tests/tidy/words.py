# SPDX-License-Identifier: Apache-2.0
"""Words and constructs that the project's text must not contain."""

import re

from finding import bare_cpp

# Identifier part -> the standard term.
_SYNONYMS = {
    "job": "task", "jobs": "tasks", "visibility": "lease", "dequeue": "claim",
    "subscriber": "worker", "topic": "queue", "nack_timeout": "lease",
}
_MACHINE_PATH = r"(?<![\w.])/(work|root|home|tmp/[a-z]+-?cache|tmp/build)\b"
_HOST = r"(?<![\w./-])([a-z0-9-]+\.)+(org|com|net|dev)(?![\w(-])"


def _rule(name, pattern, hint, paths=r".*"):
    return name, re.compile(pattern, re.MULTILINE), hint, re.compile(paths)


_CPP = r".*\.(cpp|hpp)$"
_CODE = r"(?!tests/tidy/).*\.(cpp|hpp|py|sh|capnp|cmake|txt)$"
# Searched in the unchanged text.
_TEXT_RULES = [
    _rule("fixme", r"\bFIXME\b", "a known bug: fix it or file it", _CODE),
    _rule("todo", r"\bTODO\b(?!\((perf|robust|api|test)\): \S)",
          "write TODO(perf|robust|api|test): what", _CODE),
    _rule("banner", r"^\s*(//|#)\s?[-=*/#~]{4,}", "no banners", _CODE),
    _rule("commented-code", r"^\s*//(?!/)[^\n]*[;{}]\s*$", "delete code instead", _CPP),
    _rule("machine-path", _MACHINE_PATH, "paths of one machine do not belong here",
          r"(?!tests/tidy/).*"),
    _rule("host", _HOST, "names of hosts do not belong here", r"(?!tests/tidy/).*"),
    _rule("issue-number", r"(?i)\bissue\s+#?\d+|(?<![\w&$#{])#\d+\b",
          "say what, not a number", r"(?!tests/tidy/).*\.(cpp|hpp|py|sh|capnp|md)$"),
    _rule("test-name", r"^(TEST|TEST_F|TEST_P)\((\w*_\w*,|\w+,\s*\w*_)",
          "CamelCase without underscores", r"tests/.*\.cpp$"),
]
# Searched in C++ without comments and strings.
_CPP_RULES = [
    _rule("endl", r"\bstd::endl\b", r"write '\n'", _CPP),
    _rule("using-namespace", r"^[ \t]*using namespace (?!std::[a-z_]*literals;)",
          "only in tests", r"(?!tests/.*\.cpp)" + _CPP),
    _rule("capture", r"\[=[\],]", "name what the lambda captures", r"(?!tests/)" + _CPP),
    _rule("get-prefix", r"^\s+(?!return\b)[\w:<>*&\[\] ]+\s[*&]?get_\w+\(", "nouns for getters",
          r"(libcodeq|coordinator|worker|bench)/.*\.hpp$"),
    _rule("sleep", r"\b(sleep_for|sleep_until|usleep|nanosleep)\b",
          "wait for a message or move the clock", r"tests/(unit|model|sim)/.*\.cpp$"),
]
# Comments that begin so often name no subject. Only few of them read well at once.
_OPENING = re.compile(r"^ *(///|//|#) (Of|What|Whoever|Nobody) ", re.MULTILINE)
_OPENINGS_MAX = 60
_SPDX = "SPDX-License-Identifier: Apache-2.0"
_HAS_SPDX = re.compile(r".*(\.(cpp|hpp|capnp|py|sh|cmake)|CMakeLists\.txt)$")


def check_text(source):
    """Rules for comments, strings and code alike."""
    for name, pattern, hint, paths in _TEXT_RULES:
        if paths.match(source.path):
            for line, _ in source.matches(pattern):
                yield source.found(line, name, hint)


def check_cpp(source):
    """Rules for code only, and the standard term for each thing."""
    if not source.is_cpp:
        return
    bare = bare_cpp(source.text)
    for name, pattern, hint, paths in _CPP_RULES:
        if paths.match(source.path):
            for line, _ in source.matches(pattern, bare):
                yield source.found(line, name, hint)
    if source.path.startswith("tests/"):
        return
    # Members of other libraries' types keep their names.
    for line, match in source.matches(r"(?<![.>:])\b[A-Za-z]\w*\b", bare):
        for part in re.findall(r"[a-z]+|[A-Z][a-z]*", match.group(0)):
            if part.lower() in _SYNONYMS:
                yield source.found(line, "synonym", f"say {_SYNONYMS[part.lower()]}")


def check_head(source):
    """Checks the first lines of a file."""
    if _HAS_SPDX.match(source.path):
        shebang = bool(source.lines) and source.lines[0].startswith("#!")
        first = source.lines[1 if shebang else 0:][:1]
        if not first or _SPDX not in first[0]:
            yield source.found(1, "spdx", f"start with {_SPDX}")
    if source.path.endswith(".hpp") and "#pragma once" not in source.lines[:2]:
        yield source.found(2, "pragma-once", "write #pragma once in line 2")


def check_openings(sources):
    """Few comments begin with a word that stands for their subject."""
    found = [(source, line) for source in sources
             if source.path.endswith((".cpp", ".hpp", ".capnp", ".py", ".sh"))
             for line, _ in source.matches(_OPENING)]
    for source, line in found[_OPENINGS_MAX:]:
        yield source.found(line, "opening", "begin with the thing that the comment is about: "
                                            f"{len(found)} comments begin with Of, What, Whoever "
                                            f"or Nobody, at most {_OPENINGS_MAX} may")
