# SPDX-License-Identifier: Apache-2.0
"""A client of a coordinator's HTTP gateway."""

import http.client
import json
import threading

from cluster import wait_until

BASE = "/v1/codeq"


class Answer:
    """A response: status, header fields and, if it has a body, the body's JSON."""

    def __init__(self, response):
        self.status = response.status
        self.fields = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()
        is_json = self.fields.get("content-type", "").startswith("application/json")
        self.json = json.loads(self.text) if self.text and is_json else None


class Gateway:
    """A client; every call uses a connection of its own, unless one is kept with `keep`."""

    def __init__(self, port, tls=None):
        """With `tls`, an SSLContext, it uses HTTPS."""
        self.port = port
        self.tls = tls
        self.seen = []
        self._lock = threading.Lock()

    def connect(self, timeout=90):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                               context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, method, target, body=None, fields=None, connection=None):
        """Sends any request; `body` is bytes or text."""
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request(method, target, body=body, headers=fields or {})
            answer = Answer(connection.getresponse())
        finally:
            if own:
                connection.close()
        with self._lock:
            self.seen.append((method, target, answer.status))
        return answer

    def call(self, method, path, body=None, **options):
        """Sends a request under the base path with a JSON body."""
        text = None if body is None else json.dumps(body)
        return self.raw(method, BASE + path, text, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, body, **options)

    def get(self, path, **options):
        return self.call("GET", path, **options)

    # The requests that most tests need.

    def enqueue(self, command, payload, **fields):
        answer = self.post("/tasks", {"command": command, "payload": payload, **fields})
        if answer.status != 202:
            raise AssertionError(f"enqueue: {answer.status} {answer.text}")
        return answer.json

    def claim(self, *commands, wait=0, lease=60):
        """Claims a task; None when there is none."""
        answer = self.post("/tasks/claim", {
            "commands": list(commands), "leaseSeconds": lease, "waitSeconds": wait})
        if answer.status == 204:
            return None
        if answer.status != 200:
            raise AssertionError(f"claim: {answer.status} {answer.text}")
        return answer.json

    def complete(self, task, result):
        return self.post(f"/tasks/{task['id']}/result", {"status": "COMPLETED", "result": result})


def start_gateway(rig, *options):
    """Starts the coordinator with a gateway on a free port; returns a client of it."""
    port_file = rig.path("http-port")
    port_file.unlink(missing_ok=True)
    rig.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file, *options)
    return Gateway(int(wait_until(
        lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))
