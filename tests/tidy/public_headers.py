# SPDX-License-Identifier: Apache-2.0
"""The public headers are few, each limit that users meet says what it is and why, and the guide
for handlers says how those of the ABI before this one change."""

import re

from finding import Finding

FOLDER = "libcodeq/include/codeq/"
HEADERS_MAX = 22
LIMITS = FOLDER + "limits.hpp"
HANDLER = FOLDER + "handler.hpp"
GUIDE = "worker/UPGRADE.md"
_ABI = re.compile(r"handler_abi_version = (\d+);")
_CONSTANT = re.compile(r"inline constexpr .*?(\w+)(?: =|\{)")
# A second sentence, or a clause that gives a reason.
_REASON = re.compile(r"\w[.:;] \S.*\.$|, (?:so|since) .*\.$")


def check_count(sources):
    """The number of public headers."""
    headers = [s for s in sources if s.path.startswith(FOLDER) and s.path.endswith(".hpp")]
    if len(headers) > HEADERS_MAX:
        yield Finding(FOLDER, 1, "public-headers",
                      f"{len(headers)} headers, at most {HEADERS_MAX}: put one into another")


def _comment_above(lines, index):
    """The text of the `///` lines directly above a line."""
    first = index
    while first > 0 and lines[first - 1].startswith("///"):
        first -= 1
    return " ".join(line.removeprefix("///").strip() for line in lines[first:index])


def check_limits(source):
    """Each constant of `limits.hpp` has a comment of its own, which gives a reason."""
    if source.path != LIMITS:
        return
    for index, line in enumerate(source.lines):
        constant = _CONSTANT.match(line)
        if constant and not _REASON.search(_comment_above(source.lines, index)):
            yield source.found(index + 1, "limit-reason",
                               f"say above {constant[1]} what it limits, and why")


def check_abi(sources):
    """The guide names the ABI of `handler.hpp`, and shows how handlers of the one before change."""
    by_path = {source.path: source for source in sources}
    if HANDLER not in by_path or GUIDE not in by_path:
        return
    guide = by_path[GUIDE]
    current = int(_ABI.search(by_path[HANDLER].text)[1])
    for text in (f"## Handlers of ABI {current - 1}", f"this one has {current}.",
                 f"| ABI {current - 1} | ABI {current} |"):
        if text not in guide.text:
            yield guide.found(1, "handler-abi", f"write: {text}")
