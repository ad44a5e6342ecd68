#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An issuer of JWTs to try a coordinator's --jwks with; a real one is an identity service.

Usage: issue.py FOLDER SUBJECT [CLAIM=VALUE...]

Prints a token for SUBJECT, valid for an hour. FOLDER has the private key and keys.json, the set
with its public part; both are made when they are missing. A VALUE is JSON, or else a text.
"""

import base64
import json
import pathlib
import subprocess
import sys
import time

ISSUER = "https://issuer.test"
AUDIENCE = "codeq"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True,
                          check=True).stdout


def make_key(file, algorithm="ES256"):
    kind = (("RSA", "rsa_keygen_bits:2048") if algorithm == "RS256"
            else ("EC", "ec_paramgen_curve:P-256"))
    file.touch(0o600)
    file.write_bytes(openssl("genpkey", "-algorithm", kind[0], "-pkeyopt", kind[1]))


def jwk_of(file, kid, algorithm="ES256"):
    """The public part of a key as a JWK."""
    if algorithm == "RS256":
        modulus = openssl("rsa", "-in", file, "-modulus", "-noout").decode().strip()
        members = {"kty": "RSA", "n": base64url(bytes.fromhex(modulus.partition("=")[2])),
                   "e": "AQAB"}
    else:
        point = openssl("pkey", "-in", file, "-pubout", "-outform", "DER")[-64:]
        members = {"kty": "EC", "crv": "P-256", "x": base64url(point[:32]),
                   "y": base64url(point[32:])}
    return {"kid": kid, "use": "sig", "alg": algorithm, **members}


def _take_integer(der):
    """Returns the 32 bytes of a DER integer, and what follows it."""
    end = 2 + der[1]
    return der[2:end].lstrip(b"\0").rjust(32, b"\0"), der[end:]


def sign(file, header, claims):
    """A JWT; `header` names the algorithm."""
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    signature = openssl("dgst", "-sha256", "-sign", file, data=text.encode())
    if signature[0] == 0x30 and len(signature) < 80:
        # OpenSSL writes an ECDSA signature as a DER sequence, JOSE as two numbers of 32 bytes.
        first, rest = _take_integer(signature[2:])
        signature = first + _take_integer(rest)[0]
    return f"{text}.{base64url(signature)}"


def _read(value):
    try:
        return json.loads(value)
    except ValueError:
        return value


def main(folder, subject, *more):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    key, keys = folder / "key.pem", folder / "keys.json"
    if not key.exists():
        make_key(key)
        keys.write_text(json.dumps({"keys": [jwk_of(key, "1")]}), encoding="utf-8")
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": int(time.time()) + 3600}
    claims.update((name, _read(value)) for name, _, value in (one.partition("=") for one in more))
    print(sign(key, {"alg": "ES256", "kid": "1"}, claims))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
