# SPDX-License-Identifier: Apache-2.0
"""Makes JWTs and the key set that verifies them, as an identity service does."""

import http.server
import json
import pathlib
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "jwt"))
import issue  # found by the line above
from issue import ISSUER, base64url

AUDIENCE = "codeq-worker"


class Key:
    """A key pair: `RS256` or `ES256`."""

    def __init__(self, directory, kid, algorithm="ES256"):
        self.kid = kid
        self.algorithm = algorithm
        self.file = directory / f"{kid}-{algorithm}-{time.monotonic_ns()}.key"
        issue.make_key(self.file, algorithm)

    def jwk(self):
        return issue.jwk_of(self.file, self.kid, self.algorithm)

    def sign(self, claims, **header):
        return issue.sign(
            self.file, {"alg": self.algorithm, "typ": "JWT", "kid": self.kid, **header}, claims)


def claims(subject, lifetime=600, **more):
    """Claims as codeQ's identity service makes them; a `None` leaves a claim out."""
    now = int(time.time())
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "tenantId": "dev-tenant", "iat": now,
            "exp": now + lifetime, **more}
    return {name: value for name, value in made.items() if value is not None}


WORKER = {"eventTypes": ["*"],
          "scope": "codeq:claim codeq:heartbeat codeq:abandon codeq:nack codeq:result "
                   "codeq:subscribe"}


def key_set(*keys):
    return json.dumps({"keys": [key.jwk() for key in keys]})


def options(source, *more):
    """The options of a coordinator that accepts the tokens."""
    return ("--jwks", source, "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE, *more)


class KeyServer:
    """Serves a key set on loopback, and counts how often it is read."""

    def __init__(self, text):
        self.text = text
        self.status = 200
        self.reads = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.reads += 1
                body = outer.text.encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
