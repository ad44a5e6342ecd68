# SPDX-License-Identifier: Apache-2.0
"""The guides for users: they stay short, name what exists, and a test runs each command in them.

Commands stand in blocks fenced as `sh`. `tests/guides/guides_test.py` runs all blocks of a guide in
order, in one shell, and compares a block fenced as `text` with the output of the block before it;
`...` in it stands for anything. A block fenced as `LANGUAGE FILE` is written to that file.
"""

import collections
import posixpath
import re

# Lines of each guide at most.
GUIDES = {"README.md": 150, "coordinator/README.md": 300,
          "coordinator/TOKENS.md": 300, "coordinator/SCHEDULES.md": 300,
          "coordinator/DASHBOARD.md": 300, "coordinator/OPERATIONS.md": 300,
          "coordinator/FAIRNESS.md": 300, "coordinator/SERVICE.md": 300,
          "coordinator/TASK_LIMITS.md": 300, "coordinator/FAILING_QUEUES.md": 300,
          "worker/README.md": 300,
          "schema/README.md": 300, "bench/README.md": 300}
# Commands that the test of the guides leaves out, and the file that runs them.
RUN_ELSEWHERE = {"./tests/run.sh": ".ci/run"}
# Languages of blocks that are shown only.
_SHOWN = ("text", "json", "http", "toml", "cpp")
# A command that is named inside of a sentence.
_COMMAND = re.compile(
    r"`((?:codeqctl|codeq-bench)(?: [a-z][a-z-]*)+|codeqctl(?: --\S+)+ [a-z]+|"
    r"(?:\./|bench/|examples/|tests/)\S+\.(?:sh|py))\b")

Block = collections.namedtuple("Block", "line language file text")


def blocks(text):
    """The fenced blocks of a guide, in order."""
    found = []
    for match in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, _, file = match[1].partition(" ")
        found.append(Block(text.count("\n", 0, match.start()) + 1, language, file, match[2]))
    return found


def prose(text):
    """The guide with its blocks replaced by empty lines."""
    return re.sub(r"^```.*?^```$", lambda match: "\n" * match[0].count("\n"), text,
                  flags=re.MULTILINE | re.DOTALL)


def commands(text):
    """The lines of all `sh` blocks, with continued lines joined."""
    scripts = [block.text for block in blocks(text) if block.language == "sh"]
    return [line for script in scripts for line in script.replace("\\\n", " ").splitlines()]


def _anchor(heading):
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.strip().replace(" ", "-")


def _headings(text):
    return [match[1] for match in re.finditer(r"^#+ (.+)$", prose(text), re.MULTILINE)]


def _check_blocks(source):
    for block in blocks(source.text):
        if block.language == "sh" or block.file:
            continue
        if block.language not in _SHOWN:
            yield source.found(block.line, "guide-block",
                               f"fence commands as `sh`, or what is shown as one of {_SHOWN}")
    for number, line in enumerate(prose(source.text).splitlines(), 1):
        if line.startswith("    "):
            yield source.found(number, "guide-block", "fence the block, so that a test can run it")


def _check_links(source, by_path):
    folder = posixpath.dirname(source.path)
    folders = {posixpath.dirname(path) for path in by_path}
    for match in re.finditer(r"\]\(([^)#]*)(#[^)]*)?\)", prose(source.text)):
        line = source.text.count("\n", 0, source.text.index(match[0])) + 1
        target = posixpath.normpath(posixpath.join(folder, match[1])) if match[1] else source.path
        if "://" in match[1] or target.endswith((".svg", ".png", "LICENSE")):
            continue
        if target not in by_path and target not in folders:
            yield source.found(line, "guide-link", f"there is no {target}")
        elif match[2] and match[2][1:] not in map(_anchor, _headings(by_path[target].text)):
            yield source.found(line, "guide-link", f"{target} has no section {match[2]}")


def _check_contents(source):
    """Each section is linked from the table of contents."""
    if source.path == "README.md":
        return
    for match in re.finditer(r"^## (.+)$", prose(source.text), re.MULTILINE):
        if f"(#{_anchor(match[1])})" not in source.text:
            line = source.text.count("\n", 0, source.text.index(match[0])) + 1
            yield source.found(line, "guide-contents", f"link {match[1]} from the contents")


def _check_named_commands(source, run):
    for match in re.finditer(_COMMAND, prose(source.text)):
        words = match[1].removeprefix("./")
        if not any(words in line for line in run):
            line = prose(source.text).count("\n", 0, match.start()) + 1
            yield source.found(line, "guide-command",
                               f"run `{match[1]}` in a block of a guide")


def check(sources):
    """Checks the guides among the sources."""
    by_path = {source.path: source for source in sources}
    found = [by_path[path] for path in GUIDES if path in by_path]
    run = [" ".join(line.split()) for source in found for line in commands(source.text)]
    for command, runner in RUN_ELSEWHERE.items():
        if runner in by_path and command not in by_path[runner].text:
            yield by_path[runner].found(1, "guide-command", f"nothing runs {command}")
    for source in found:
        limit = GUIDES[source.path]
        if len(source.lines) > limit:
            yield source.found(limit, "guide-lines", f"at most {limit} lines")
        yield from _check_blocks(source)
        yield from _check_links(source, by_path)
        yield from _check_contents(source)
        yield from _check_named_commands(source, run)
