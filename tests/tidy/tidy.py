# SPDX-License-Identifier: Apache-2.0
"""Checks the project's rules of layout and style. Usage: tidy.py ROOT"""

import fnmatch
import os
import subprocess
import sys

import contract
import folders
import guides
import hidden_names
import layer_table
import layering
import public_headers
import sizes
import words
from finding import Finding, Source

_TEXT = (".cpp", ".hpp", ".capnp", ".py", ".sh", ".md", ".cmake", ".txt", ".toml", ".js", ".css",
         ".html")
_PER_FILE = [layering.check, sizes.check_file, sizes.check_functions, words.check_text,
             words.check_cpp, words.check_head, public_headers.check_limits]
_PER_PROJECT = [folders.check_readmes, folders.check_named, folders.check_folder_sizes,
                folders.check_own_header_first, folders.check_listed_sources,
                folders.check_snippets, contract.check, guides.check, hidden_names.check,
                layer_table.check, public_headers.check_count, public_headers.check_abi,
                words.check_openings]
_EXCEPTIONS = "tests/tidy/exceptions.txt"


def _paths(root):
    """Tracked and new files; without git (an unpacked archive) all files outside of build
    folders."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
        return [path for path in listed.stdout.splitlines() if os.path.exists(f"{root}/{path}")]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, below, names in os.walk(root):
            below[:] = [name for name in below if not name.startswith((".git", "build"))]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return found


def read_sources(root):
    """The text files of the project, sorted by path."""
    sources = []
    for path in sorted(_paths(root)):
        if path.endswith(_TEXT) or path in (".ci/run",):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                sources.append(Source(path, file.read()))
    return sources


def read_exceptions(source):
    """Yields (line number, path pattern, rule); every exception needs a reason."""
    for number, line in enumerate(source.lines if source else [], 1):
        if line and not line.startswith("#"):
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != 3 or not all(fields):
                raise SystemExit(f"{_EXCEPTIONS}:{number}: write: path | rule | reason")
            yield number, fields[0], fields[1]


def find_all(sources):
    """All findings that no exception covers, and all exceptions that cover none."""
    findings = [f for source in sources for check in _PER_FILE for f in check(source) or []]
    findings += [f for check in _PER_PROJECT for f in check(sources)]
    listed = next((source for source in sources if source.path == _EXCEPTIONS), None)
    for number, pattern, rule in read_exceptions(listed):
        kept = [f for f in findings
                if not (f.rule == rule and fnmatch.fnmatchcase(f.path, pattern))]
        if len(kept) == len(findings):
            kept.append(Finding(_EXCEPTIONS, number, "stale-exception", "covers nothing: remove"))
        findings = kept
    return findings


def main():
    sources = read_sources(sys.argv[1])
    if not sources:
        raise SystemExit("tidy: no files found")
    findings = find_all(sources)
    for finding in findings:
        print(finding)
    print(f"tidy: {len(sources)} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
