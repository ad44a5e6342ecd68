# SPDX-License-Identifier: Apache-2.0
"""Names in unnamed namespaces hide none of their layer's.

Sources of a layer are compiled in groups. There a function of an unnamed namespace hides one of the
same name around it, also from the sources behind its own: calls are compiled with the wrong one
where the arguments can be converted."""

import collections
import re

_DECLARED = re.compile(
    r"^(?!return\b|using\b|namespace\b|if\b|for\b|template\b|static_assert\b)"
    r"(?:[\w\[][^=(]*[ *&>])?(\w+)\("
    r"|^(?:struct|class|enum class|enum) (\w+)"
    r"|^(?:inline )?constexpr [^=({]*?\b(\w+)(?: =|\{)")


def _name_in(line):
    found = _DECLARED.match(line)
    return next(filter(None, found.groups()), None) if found else None


def _unnamed(source):
    """Yields (line number, name) of what unnamed namespaces have at their outermost level."""
    inside = False
    for number, line in enumerate(source.lines, 1):
        if line == "namespace {":
            inside = True
        elif line == "} // namespace":
            inside = False
        elif inside and (name := _name_in(line)):
            yield number, name


def _layer_of(path):
    parts = path.split("/")
    return parts[2] if path.startswith("libcodeq/src/") and len(parts) > 3 else None


def check(sources):
    declared = collections.defaultdict(dict)
    for source in sources:
        public = source.path.startswith("libcodeq/include/")
        if source.path.endswith(".hpp") and (public or _layer_of(source.path)):
            layer = "public" if public else _layer_of(source.path)
            for line in source.lines:
                if name := _name_in(line):
                    declared[layer].setdefault(name, source.path)
    for source in sources:
        layer = _layer_of(source.path)
        if not layer or not source.path.endswith(".cpp"):
            continue
        for number, name in _unnamed(source):
            place = declared[layer].get(name) or declared["public"].get(name)
            if place:
                yield source.found(number, "hidden-name", f"`{name}` of {place} is hidden by it")
