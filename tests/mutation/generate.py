# SPDX-License-Identifier: Apache-2.0
"""Copies sources and puts the faults of a table into the copies, as switches at run time.

Usage: generate.py --list-files FAULTS ROOT     prints the existing files that faults change
       generate.py FAULTS ROOT FOLDER           writes FOLDER/<file> for each, and fault_names.cpp
"""

import collections
import dataclasses
import json
import os
import re
import sys
import tomllib

_CHANGE_FIELDS = {"file", "kind", "text", "replacement", "within"}
_OPTIONAL = {"within"}
_SWITCH = "::codeq::mutation::is_active({})"


class FaultError(Exception):
    """An error in one fault of the table."""


@dataclasses.dataclass(frozen=True)
class Change:
    """One changed place of a fault; `number` is the fault's number."""

    number: int
    fault: str
    file: str
    kind: str
    text: str
    replacement: str
    within: str = ""


def _change(number, fault, fields):
    unknown = sorted(fields.keys() - _CHANGE_FIELDS)
    missing = sorted(_CHANGE_FIELDS - _OPTIONAL - fields.keys())
    file = fields.get("file", "no file")
    if unknown or missing:
        raise FaultError(f"{file}: unknown fields {unknown}, missing fields {missing}")
    if not all(isinstance(value, str) for value in fields.values()):
        raise FaultError(f"{file}: every field is a string")
    if fields["kind"] not in ("expression", "statements"):
        raise FaultError(f"{file}: kind is \"expression\" or \"statements\"")
    if not fields["text"].strip():
        raise FaultError(f"{file}: text is empty")
    if fields["kind"] == "expression" and not fields["replacement"].strip():
        raise FaultError(f"{file}: the replacement of an expression is empty")
    if not file.endswith(".cpp"):
        raise FaultError(f"{file}: only .cpp files can be changed, their headers are compiled into "
                         "other files too")
    if "//" in fields["replacement"]:
        raise FaultError(f"{file}: a replacement becomes one line, so it has no comments")
    return Change(number, fault, **fields)


def _seed(fault, seed):
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise FaultError(f"fault \"{fault}\": seed is a whole number from 0 on, not {seed!r}")
    return seed


def read_changes(table):
    """Returns the names and the first seeds by number, and the changes of all faults."""
    if table.keys() != {"fault"} or not isinstance(table["fault"], list):
        raise FaultError("the table has [[fault]] entries and nothing else")
    names, seeds, changes = ["no fault"], [0], []
    for fields in table["fault"]:
        name = fields.get("name")
        if not isinstance(name, str) or name in names:
            raise FaultError(f"fault {name!r}: each fault has a name of its own")
        names.append(name)
        seeds.append(_seed(name, fields.get("seed", 0)))
        rest = {key: value for key, value in fields.items() if key not in ("name", "seed")}
        # A fault has several places, or one that is written without [[fault.change]].
        places = rest["change"] if rest.keys() == {"change"} else [rest]
        try:
            if not isinstance(places, list) or not places:
                raise FaultError("change is a list of changes, none of them empty")
            changes += [_change(len(names) - 1, name, place) for place in places]
        except FaultError as error:
            raise FaultError(f"fault \"{name}\": {error}") from None
    return names, seeds, changes


def _only_match(what, text, source, begin, end):
    """Finds `text` in the source, as whole words and with any white space between them."""
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    pattern = (r"\b" if re.match(r"\w", pattern) else "") + pattern
    pattern += r"\b" if re.search(r"\w$", pattern) else ""
    found = [match.span() for match in re.compile(pattern).finditer(source, begin, end)]
    if len(found) != 1:
        raise FaultError(f"{what} is found {len(found)} times and not once: {text.strip()}")
    return found[0]


def place_of(change, source):
    """First and last character of the change's text in the source."""
    begin, end = 0, len(source)
    if change.within:
        begin, end = _only_match("within", change.within, source, begin, end)
    return _only_match("text", change.text, source, begin, end)


def _switch(changes, text):
    """The code that chooses between the original text and the replacement of the active fault."""
    is_expression = changes[0].kind == "expression"
    code = "(" if is_expression else "{ "
    for change in changes:
        condition = _SWITCH.format(change.number)
        # On one line, so that the copy keeps the lines of the original.
        replacement = " ".join(change.replacement.split())
        if is_expression:
            code += f"{condition} ? ({replacement}) : "
        else:
            code += f"if ({condition}) {{ {replacement} }} else "
    return code + (f"({text}))" if is_expression else f"{{ {text} }} }}")


def mutate(file, source, changes):
    """The source with a switch at each place. Faults may share a place, but not overlap."""
    places = collections.defaultdict(list)
    for change in changes:
        try:
            places[place_of(change, source)].append(change)
        except FaultError as error:
            raise FaultError(f"fault \"{change.fault}\": {file}: {error}") from None
    code, at, previous = "", 0, None
    for (begin, end), here in sorted(places.items()):
        numbers = {change.number for change in here}
        if len({change.kind for change in here}) > 1 or len(numbers) < len(here):
            raise FaultError(f"fault \"{here[-1].fault}\": {file}: another change is at the same "
                             "place, of another kind or of the same fault")
        if begin < at:
            raise FaultError(f"fault \"{here[0].fault}\": {file}: overlaps with fault "
                             f"\"{previous.fault}\"")
        code += source[at:begin] + _switch(here, source[begin:end])
        at, previous = end, here[0]
    return f'#include "mutation/active_fault.hpp"\n#line 1 "{file}"\n' + code + source[at:]


def _names_source(names, seeds):
    entries = "".join(f"  {json.dumps(name)},\n" for name in names)
    return ('#include "mutation/active_fault.hpp"\n\nnamespace codeq::mutation {\n\n'
            f"static constexpr const char* names[] = {{\n{entries}}};\n\n"
            f"static constexpr std::uint64_t seeds[] = {{{', '.join(map(str, seeds))}}};\n\n"
            "const std::span<const char* const> fault_names = names;\n"
            "const std::span<const std::uint64_t> first_seeds = seeds;\n\n"
            "} // namespace codeq::mutation\n")


def _write(path, text):
    """Does not touch a file whose content is unchanged, so that it is not compiled again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def generate(names, seeds, changes, root, folder):
    """Writes the copies and the names; reports all errors in the table."""
    errors, copies = [], {}
    for path in sorted({change.file for change in changes}):
        here = [change for change in changes if change.file == path]
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                copies[path] = mutate(path, file.read(), here)
        except FileNotFoundError:
            errors += [f"fault \"{change.fault}\": {path}: no such file" for change in here]
        except FaultError as error:
            errors.append(str(error))
    if errors:
        raise FaultError("\n".join(errors))
    for path, text in copies.items():
        _write(os.path.join(folder, path), text)
    _write(os.path.join(folder, "fault_names.cpp"), _names_source(names, seeds))


def main(arguments):
    listed = arguments[:1] == ["--list-files"]
    faults, root = arguments[1:3] if listed else arguments[:2]
    with open(faults, "rb") as file:
        table = tomllib.load(file)
    try:
        names, seeds, changes = read_changes(table)
        if listed:
            files = sorted({change.file for change in changes})
            print(*(path for path in files if os.path.exists(os.path.join(root, path))), sep=";")
        else:
            generate(names, seeds, changes, root, arguments[2])
    except FaultError as error:
        sys.exit("\n".join(f"{faults}: {line}" for line in str(error).split("\n")))


if __name__ == "__main__":
    main(sys.argv[1:])
