# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for the fuzz targets. Usage: corpus.py FOLDER"""

import base64
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


_BODIES = (
    '{"command":"q","payload":{"jobId":"j-1"},"priority":3,"webhook":"https://a.example/x?y=1",'
    '"maxAttempts":5,"idempotencyKey":"k","runAt":"2026-05-20T10:00:00.123Z","delaySeconds":1}',
    '{"command":"q","payload":"\\u00e9","group":"g","onDuplicate":"promote","allowPromotion":true,'
    '"retry":{"kind":"fixed","baseMs":1,"capMs":2},"headers":{"a":"b"},"leaseSeconds":9}',
    '{"queue":"q","payload":1,"key":"k","notBefore":"2026-05-20T10:00:00Z","delay":"90s",'
    '"lease":"2m","retentionSeconds":3600}',
    '{"tasks":[{"command":"q","payload":1},{"command":"q","payload":[1e2,null,true]}]}',
    '{"commands":["a","b"],"leaseSeconds":60,"waitSeconds":10,"count":3}',
    '{"status":"COMPLETED","result":{"ok":true},"fencingToken":"7","artifacts":[{"name":"a",'
    '"contentBase64":"AAAA","contentType":"text/plain"}]}',
    '{"results":[{"taskId":"x","status":"FAILED","error":"e","permanent":true}]}',
    '{"maxAttempts":9,"maxDepth":1,"maxLeased":2,"keepPayload":true,"onDead":"block",'
    '"quarantineAfter":3,"pauseWhenFailing":{"percent":50,"windowMs":60000},'
    '"limits":[{"name":"a","header":"h","cost":2}],"fairnessHeader":"h"}',
    '{"ids":["x"],"queue":"q","limit":1,"rate":2,"before":"2026-05-20T10:00:00Z"}',
    '{"delaySeconds":1,"reason":"X","extendSeconds":5,"how":"revoke"}',
)


_CLAIMS = ('{"iss":"i","aud":["a"],"sub":"w","tenantId":"t","exp":1800000000,"role":["worker"],'
           '"scope":"codeq:claim","eventTypes":["*"]}')


_RULES = (
    "30 2 * * mon-fri; zone=Europe/Berlin; gap=skip; fold=both",
    "*/20 5,8-18/2 1-31/7 JAN,3 *; start=2026-01-01T00:00:00Z; end=2027-01-01T00:00:00+01:00",
    "0 0 0 29 2 7; jitter=90s; fold=last",
    "every 90s; anchor=2026-05-20T10:00:00Z; zone=-03:30",
    "@daily",
)


def zones():
    """Zone files: two transitions and a rule for the years after them, as northern and southern
    zones have, and one whose clocks change by a day."""
    for footer, early, late in (("CET-1CEST,M3.5.0,M10.5.0/3", 3600, 7200),
                                ("<-03>3<-02>,M10.1.0/0,M3.4.4/50", -10800, -7200),
                                ("", -39600, 50400)):
        empty, full = (struct.pack(">4sc15x6I", b"TZif", b"2", 0, 0, 0, *counts)
                       for counts in ((0, 0, 0), (2, 2, 4)))
        block = struct.pack(">2q2B", 1_700_000_000, 1_800_000_000, 1, 0)
        block += b"".join(struct.pack(">iBB", offset, 0, 0) for offset in (early, late))
        yield empty + full + block + b"LMT\0" + f"\n{footer}\n".encode()


def jwts():
    """A token, a key set and claims, each with the letter of its kind."""
    parts = ('{"alg":"ES256","kid":"k"}', _CLAIMS)
    text = ".".join(base64.urlsafe_b64encode(p.encode()).rstrip(b"=").decode() for p in parts)
    yield f"t{text}.{'A' * 86}"
    yield f"c{_CLAIMS}"
    yield ('k{"keys":[{"kty":"EC","crv":"P-256","kid":"k","use":"sig","alg":"ES256",'
           '"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",'
           '"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},'
           '{"kty":"RSA","n":"AQAB","e":"AQAB","key_ops":["verify"]}]}')


def requests():
    """Requests as clients send them."""
    for body in _BODIES:
        yield (f"POST /v1/codeq/tasks?waitSeconds=5&a=%20b HTTP/1.1\r\nHost: localhost:80\r\n"
               f"Authorization: Bearer codeq_x\r\nX-Request-Id: 7\r\nOrigin: http://[::1]:1\r\n"
               f"Content-Length: {len(body)}\r\n\r\n{body}")
        yield (f"POST /v1/codeq/tasks/batch HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
               f"{len(body):x}\r\n{body}\r\n0\r\n\r\n")
        yield body
    yield "GET /v1/codeq/queues/a%2Fb/keys/k?group=g HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def message_numbers():
    """Type number of each message, by its name in the catalogue."""
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
    for target in ("frame", "http", "jwt", "message", "schedule", "token_file"):
        (folder / target).mkdir(parents=True, exist_ok=True)
    for name, number, body in golden_messages():
        (folder / "message" / name).write_bytes(struct.pack("<H", number) + body)
        header = struct.pack("<IHH", len(body), number, 0)
        (folder / "frame" / name).write_bytes(header + body)
    for number, text in enumerate(requests()):
        (folder / "http" / str(number)).write_text(text, encoding="utf-8", newline="")
    for number, text in enumerate(jwts()):
        (folder / "jwt" / str(number)).write_text(text, encoding="utf-8")
    for number, text in enumerate(_RULES):
        (folder / "schedule" / str(number)).write_text("r" + text, encoding="utf-8")
    for number, body in enumerate(zones()):
        (folder / "schedule" / f"zone{number}").write_bytes(b"z" + body)
    tokens = _TOKENS.format(*("%064x" % i for i in range(3)))
    (folder / "token_file" / "tokens").write_text(tokens, encoding="utf-8")


main()
