# SPDX-License-Identifier: Apache-2.0
"""Limits on files, functions, parameters, nesting and columns."""

import re

from finding import bare_cpp
from guides import GUIDES

COLUMNS = 100
FILE_LINES = 600
FUNCTION_LINES = 70
PARAMETERS = 5
NESTING = 3
README_LINES = 40
_CONTROL = re.compile(r"(?:\}\s*)?(?:else\s+)?(if|for|while|switch|do|else|try|catch)\b")
_MACROS = re.compile(r"^(?:[A-Z_]+\([^()]*\)\s*)+(?=\w)")
_SCOPE = re.compile(r"(?:^|.*\s)(namespace|class|struct|union|enum|extern)\b(?![^<]*>)", re.DOTALL)


def _file_limit(path):
    if re.fullmatch(r"examples/.*\.cpp", path):
        return 100
    if re.fullmatch(r"(coordinator|worker)/main\.cpp", path):
        return 150
    return FILE_LINES


def check_file(source):
    """Checks the number of lines, and the columns of each line."""
    if source.path.endswith(".md"):
        if len(source.lines) > README_LINES and source.path not in GUIDES:
            yield source.found(README_LINES, "readme-lines", f"at most {README_LINES} lines")
        return
    limit = _file_limit(source.path)
    if not source.path.endswith(".txt") and len(source.lines) > limit:
        yield source.found(limit, "file-lines", f"at most {limit} lines: make it two ideas")
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield source.found(number, "columns", f"{len(line)} columns, at most {COLUMNS}")


def _parameters(header):
    """Number of parameters in the first parentheses of a function's head."""
    depth, count, text = 0, 0, header[header.index("(") + 1:]
    used = False
    for char in text:
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth -= 1
            if depth < 0:
                break
        elif char == "," and depth == 0:
            count += 1
        used = used or not char.isspace()
    return count + 1 if used else 0


def _kind(header, inside_function):
    head = header.strip()
    if inside_function:
        return "control" if _CONTROL.match(head) else "block"
    head = _MACROS.sub("", head)
    without_templates = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", head, flags=re.DOTALL)
    if re.match(r"(inline\s+)?(namespace|extern)\b", without_templates):
        return "scope"
    if "(" in head and not re.search(r"=\s*$|\boperator\s*=\s*$", head):
        return "function"
    return "scope" if _SCOPE.match(without_templates) else "block"


class _Blocks:
    """Follows the braces of one file to find each function's length and nesting."""

    def __init__(self, source):
        self.source = source
        self.stack = []
        self.findings = []

    def open(self, header, line):
        inside = any(kind == "function" for kind, _, _ in self.stack)
        kind = _kind(header, inside)
        self.stack.append((kind, line, header))
        depth = sum(1 for kind, _, _ in self.stack if kind == "control")
        if kind == "control" and depth == NESTING + 1:
            self._report(line, "nesting", f"more than {NESTING} levels: split the function")
        # An override cannot choose its parameters.
        chosen = not re.search(r"\boverride\s*$", header)
        if kind == "function" and chosen and _parameters(header) > PARAMETERS:
            self._report(line, "parameters", f"more than {PARAMETERS}: take a struct")

    def close(self, line):
        if not self.stack:
            return
        kind, first, _ = self.stack.pop()
        if kind == "function" and line - first + 1 > FUNCTION_LINES:
            self._report(first, "function-lines",
                         f"{line - first + 1} lines, at most {FUNCTION_LINES}: split it")

    def _report(self, line, rule, hint):
        self.findings.append(self.source.found(line, rule, hint))


def check_functions(source):
    """Checks lines, parameters and nesting of every function body."""
    if not source.is_cpp:
        return []
    blocks, header, header_line, line = _Blocks(source), "", 1, 1
    parens = [0]  # Open parentheses per open brace: a lambda's body starts anew.
    for char in bare_cpp(source.text):
        if char == "\n":
            line += 1
        if not header.strip():
            header_line = line
        parens[-1] += (char == "(") - (char == ")")
        if char == "{":
            blocks.open(header, header_line)
            parens.append(0)
            header = ""
        elif char == "}":
            blocks.close(line)
            parens = parens[:-1] or [0]
            header = ""
        elif char == ";" and parens[-1] == 0:
            header = ""
        else:
            header += char
    return blocks.findings
