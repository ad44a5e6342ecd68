# SPDX-License-Identifier: Apache-2.0
"""Types that the rules share: a source file, a finding, and C++ text without comments and
strings."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Finding:
    """One violation of a rule. `hint` says what to do instead."""

    path: str
    line: int
    rule: str
    hint: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.hint}"


class Source:
    """A text file of the project; `path` is relative to its root, with forward slashes."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")[: -1 if text.endswith("\n") else None]

    @property
    def is_cpp(self):
        return self.path.endswith((".cpp", ".hpp"))

    def found(self, line, rule, hint):
        return Finding(self.path, line, rule, hint)

    def matches(self, pattern, text=None):
        """Yields (line number, match) of a pattern in `text`, by default the whole file."""
        text = self.text if text is None else text
        compiled = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
        for match in compiled.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match


_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def _blank(match):
    """Keeps line breaks and quotes, so that positions do not change."""
    text = match.group(0)
    lines = "\n" * text.count("\n")
    return f'"{lines}"' if text[0] in "\"'R" else lines


def bare_cpp(text):
    """C++ without comments, string contents and preprocessor lines; line numbers do not change."""
    # A digit separator would look like the start of a character literal.
    text = re.sub(r"(?<=\d)'(?=\d)", "", text)
    text = _TOKEN.sub(_blank, text)
    return _PREPROCESSOR.sub(lambda m: "\n" * m.group(0).count("\n"), text)
