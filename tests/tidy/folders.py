# SPDX-License-Identifier: Apache-2.0
"""Rules that compare several files."""

import posixpath
import re

from finding import Finding
from guides import GUIDES, blocks

# Folders whose README also describes the folders below them.
_SPEAKS_BELOW = (
    "tests/", "examples/", "bench/", "coordinator/", "libcodeq/include/", "libcodeq/src/")
SOURCES_MAX = 40
_NEEDS_NONE = {"", ".ci", "libcodeq/cmake", "libcodeq/include", "libcodeq/src"}
_BEGIN, _END = "// [begin readme]\n", "// [end readme]\n"


def _spoken_for(folder, folders_with_readme):
    if folder in _NEEDS_NONE or folder in folders_with_readme:
        return True
    parent = posixpath.dirname(folder)
    return folder.startswith(_SPEAKS_BELOW) and parent in folders_with_readme and (
        parent != "tests")


def check_readmes(sources):
    """Every folder has a README."""
    folders = {posixpath.dirname(source.path) for source in sources}
    with_readme = {posixpath.dirname(s.path) for s in sources if s.path.endswith("README.md")}
    for folder in sorted(folders):
        if not _spoken_for(folder, with_readme):
            yield Finding(f"{folder}/README.md", 1, "readme", "say what this folder is for")


def check_named(sources):
    """The README of the tests has a row for each of their folders, that of the schema a line for
    each file."""
    parts = {"tests/README.md": r"tests/([\w-]+/).+", "schema/README.md": r"schema/(\w+\.capnp)"}
    for source in sources:
        pattern = parts.get(source.path)
        if not pattern:
            continue
        found = [re.fullmatch(pattern, other.path) for other in sources]
        start = "| " if source.path.startswith("tests/") else ""
        for name in sorted({match.group(1) for match in found if match}):
            if f"{start}`{name}`" not in source.text:
                yield source.found(1, "named-part", f"say what {name} is for")


def check_folder_sizes(sources):
    """A folder with many sources contains several ideas."""
    paths = [s.path for s in sources if s.path.endswith((".cpp", ".hpp", ".py"))]
    folders = [posixpath.dirname(path) for path in paths]
    for folder in sorted(set(folders)):
        count = folders.count(folder)
        if count > SOURCES_MAX:
            yield Finding(folder, 1, "folder-size",
                          f"{count} sources, at most {SOURCES_MAX}: make rooms by idea")


def _cmake_paths(source):
    """Yields the C++ files that a CMakeLists names, as paths from the root of the project."""
    places = {"PROJECT_SOURCE_DIR": ".", "CMAKE_CURRENT_SOURCE_DIR": posixpath.dirname(source.path)}
    for name, value in re.findall(r"\bset\((\w+) \$\{PROJECT_SOURCE_DIR\}/([\w/]+)\)", source.text):
        places[name] = value
    for match in re.finditer(r"(?:\$\{(\w+)\}/)?([\w./-]+\.cpp)\b", source.text):
        before = source.text[match.start() - 1]
        place = match.group(1) or "CMAKE_CURRENT_SOURCE_DIR"
        if before in " \n(" and place in places:
            path = posixpath.normpath(posixpath.join(places[place], match.group(2)))
            yield source.text.count("\n", 0, match.start()) + 1, path


def check_listed_sources(sources):
    """Every file that a CMakeLists names exists, even if only some option uses it."""
    paths = {source.path for source in sources}
    for source in sources:
        if source.path.endswith("CMakeLists.txt"):
            for line, path in _cmake_paths(source):
                if path not in paths:
                    yield Finding(source.path, line, "listed-source", f"{path} does not exist")


def check_own_header_first(sources):
    """The first include of a source file is its own header, which shows that the header is
    self-contained."""
    headers = {source.path for source in sources if source.path.endswith(".hpp")}
    for source in sources:
        if not source.path.endswith(".cpp"):
            continue
        stem = source.path[:-4]
        own = [stem + ".hpp"]
        if source.path.startswith("libcodeq/src/"):
            own.append("libcodeq/include/codeq/" + posixpath.basename(stem) + ".hpp")
        wanted = next((path for path in own if path in headers), None)
        first = re.search(r"^#include [<\"]([^>\"]+)", source.text, re.MULTILINE)
        if wanted and first and not wanted.endswith("/" + first.group(1)):
            yield source.found(1, "own-header", f"include {wanted} first")


def check_snippets(sources):
    """The C++ in the guides is identical to compiled examples, and they show all that is marked."""
    shown = [(source, block) for source in sources if source.path in GUIDES
             for block in blocks(source.text) if block.language == "cpp"]
    snippets = {}
    for source in sources:
        if source.path.startswith("examples/") and _BEGIN in source.text:
            snippet = source.text.split(_BEGIN)[1].split(_END)[0].rstrip() + "\n"
            snippets[snippet] = source
    for snippet, source in snippets.items():
        if not any(block.text == snippet for _, block in shown):
            yield source.found(1, "snippet", "show what is between the marks in a guide")
    for guide, block in shown:
        if block.text not in snippets:
            yield guide.found(block.line, "snippet", "mark this in an example that is compiled")
