# SPDX-License-Identifier: Apache-2.0
"""The table of layers in libcodeq/README.md, generated from the rules that the includes are checked
with.

Usage: layer_table.py ROOT writes it.
"""

import re
import sys

import layering
from finding import Finding

README = "libcodeq/README.md"
_BEGIN, _END = "<!-- layers: python3 tests/tidy/layer_table.py . -->\n", "<!-- end -->\n"
_HEAD = ("| layer | folder | rooms, lowest first | contents | may include | libraries |\n"
         "|---|---|---|---|---|---|\n")


def level_of(layer):
    """One more than the highest level among the layers that it may include."""
    return 1 + max((level_of(below) for below in layering.BELOW[layer]), default=-1)


def _names(names):
    return " ".join(f"`{name}`" for name in names)


def _may_include(layer):
    allowed = layering.BELOW[layer]
    lower = [name for name in layering.BELOW if level_of(name) < level_of(layer)]
    missing = [name for name in lower if name not in allowed]
    if len(missing) < len(allowed):
        return "all lower layers" + (f" but {_names(missing)}" if missing else "")
    return _names(name for name in layering.BELOW if name in allowed)


def _libraries(layer, paths):
    folder = f"libcodeq/src/{layer}/"
    own = [path for path in paths if path.startswith(folder) and path.endswith((".cpp", ".hpp"))]
    return [name for name, pattern in layering.PLACES.items()
            if any(re.search(pattern, path) for path in own)]


def make_table(paths):
    """The Markdown of the table, from the rules and the paths of the sources."""
    rows = []
    for layer in sorted(layering.BELOW, key=level_of):
        cells = [str(level_of(layer)), f"`{layer}`", _names(layering.ROOMS.get(layer, ())),
                 layering.CONTENTS[layer], _may_include(layer),
                 ", ".join(_libraries(layer, paths))]
        rows.append("| " + " | ".join(cell or "-" for cell in cells) + " |\n")
    return _HEAD + "".join(rows)


def _with_table(text, paths):
    before, rest = text.split(_BEGIN)
    return before + _BEGIN + make_table(paths) + _END + rest.split(_END)[1]


def check(sources):
    """The table in the README matches the rules."""
    readme = next((source for source in sources if source.path == README), None)
    if not readme:
        return
    paths = [source.path for source in sources]
    if _BEGIN not in readme.text or _with_table(readme.text, paths) != readme.text:
        yield Finding(README, 1, "layer-table", "run python3 tests/tidy/layer_table.py .")


def main():
    import tidy
    root = sys.argv[1]
    paths = [source.path for source in tidy.read_sources(root)]
    with open(f"{root}/{README}", encoding="utf-8") as file:
        text = file.read()
    with open(f"{root}/{README}", "w", encoding="utf-8") as file:
        file.write(_with_table(text, paths))


if __name__ == "__main__":
    main()
