# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for the fuzz targets. Usage: corpus.py FOLDER"""

import pathlib
import re
import struct
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_TOKENS = """# who may come in
sha256={0} subject=ada tenant=shop role=producer rate-producer=100:1000
sha256={1} subject=w1 tenant=shop role=worker queues=mail,print rate-claim=5
sha256={2} subject=ops tenant=* role=admin rate-admin=1:1
"""


def message_numbers():
    """The type number of each message, by its name in the catalogue."""
    schema = (_ROOT / "schema" / "protocol.capnp").read_text(encoding="utf-8")
    catalogue = schema[schema.index("struct Message"):schema.index("enum Role")]
    return {name: int(number) for name, number in re.findall(r"(\w+) @(\d+) :", catalogue)}


def golden_messages():
    """Yields (file name, type number, body)."""
    numbers = message_numbers()
    for path in sorted((_ROOT / "tests" / "golden" / "formats").glob("message.*.golden")):
        name = path.name.split(".")[1]
        digits = "".join(path.read_text(encoding="utf-8").splitlines()[1:])
        yield path.stem, numbers[name], bytes.fromhex(digits)


def main():
    folder = pathlib.Path(sys.argv[1])
    for target in ("frame", "message", "token_file"):
        (folder / target).mkdir(parents=True, exist_ok=True)
    for name, number, body in golden_messages():
        (folder / "message" / name).write_bytes(struct.pack("<H", number) + body)
        header = struct.pack("<IHH", len(body), number, 0)
        (folder / "frame" / name).write_bytes(header + body)
    tokens = _TOKENS.format(*("%064x" % i for i in range(3)))
    (folder / "token_file" / "tokens").write_text(tokens, encoding="utf-8")


main()
