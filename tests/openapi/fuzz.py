# SPDX-License-Identifier: Apache-2.0
"""Sends random requests to a real coordinator and compares each answer with the OpenAPI document:
no status and no shape that is not in it, and no error of the server."""

import argparse
import collections
import json
import pathlib
import sys
import time
import urllib.parse

import hypothesis
import jsonschema
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

import cluster  # noqa: E402
import values  # noqa: E402
from gateway import BASE, Gateway  # noqa: E402

UNKNOWN = "00000000-0000-0001-0000-000000000000"
# Ids that later requests name; the oldest go first.
IDS_MAX = 64
BATCH = 100


class Finding(Exception):
    """A request whose answer is not as documented."""


def one_of(pool):
    """An element of a pool that grows: what is drawn must not depend on its size."""
    return st.integers(0, IDS_MAX - 1).map(lambda number: pool[number % len(pool)])


def rarely(data, number):
    """True about once in so many times."""
    return data.draw(st.sampled_from([False] * (number - 1) + [True]))


def closed(schema):
    """The schema, whose objects have no members but those that it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(one) for name, one in schema.items()}
    if isinstance(made.get("properties"), dict) and "type" in made:
        made.setdefault("additionalProperties", False)
    return made


class Document:
    """The operations of an OpenAPI document, and whether an answer fits one of them."""

    def __init__(self, text):
        self.whole = text
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in text["paths"].items() for method, operation in methods.items()]
        self._validators = {}

    def resolve(self, part):
        while "$ref" in part:
            at = self.whole
            for name in part["$ref"].removeprefix("#/").split("/"):
                at = at[name]
            part = at
        return part

    def check(self, operation, answer):
        """Raises Finding when the answer is not documented."""
        if answer.status >= 500 and answer.status != 503:
            raise Finding("an error of the server")
        documented = operation["responses"].get(str(answer.status))
        if documented is None:
            raise Finding(f"status {answer.status} is not documented")
        documented = self.resolve(documented)
        content = documented.get("content", {})
        kind = answer.fields.get("content-type", "").partition(";")[0]
        if not content and answer.text:
            raise Finding("a body, where none is documented")
        if content and kind not in content:
            raise Finding(f"content of type '{kind}'")
        if kind == "application/json" and content:
            self._check_shape(content[kind]["schema"], answer.json)

    def _check_shape(self, schema, value):
        name = json.dumps(schema, sort_keys=True)
        if name not in self._validators:
            whole = {**schema, "components": self.whole["components"]}
            self._validators[name] = jsonschema.Draft202012Validator(closed(whole))
        for error in self._validators[name].iter_errors(value):
            raise Finding(f"shape: {'.'.join(map(str, error.path))}: {error.message[:300]}")


class Fuzzer:
    """A coordinator under random requests."""

    def __init__(self, port, tokens):
        self.http = Gateway(port)
        self.tokens = tokens
        self.document = Document(self.http.raw("GET", "/openapi.json").json)
        self.connection = self.http.connect(timeout=30)
        self.ids = collections.deque([UNKNOWN], IDS_MAX)
        self.subscriptions = collections.deque(["nobody"], IDS_MAX)
        self.seen = collections.Counter()

    def post(self, path, body):
        """A request of the first token."""
        return self.http.raw("POST", BASE + path, json.dumps(body),
                             {"Authorization": f"Bearer {self.tokens[0]}"}, self.connection)

    def lease(self):
        """The id of a task that the first token has claimed."""
        self.post("/tasks", {"queue": "fuzz", "payload": {"n": 1}, "maxAttempts": 1000})
        return self.post("/tasks/claim", {"queues": ["fuzz"]}).json["id"]

    def draw_path(self, data, path, operation, leased):
        for one in operation.get("parameters", ()):
            if one["in"] != "path":
                continue
            if leased and one["name"] == "id":
                path = path.replace("{id}", leased)
                continue
            pools = {"id": self.ids, "subscription": self.subscriptions,
                     "key": ["k", "order-7", "none"], "name": ["nightly", "hourly"]}
            names = pools.get(one["name"], ["mail", "q", "GENERATE_MASTER"])
            value = data.draw(st.sampled_from(["a b", "x" * 200, "ä", "%"]) if rarely(data, 20)
                              else one_of(names))
            path = path.replace("{" + one["name"] + "}", urllib.parse.quote(value, safe=""))
        return path

    def draw_query(self, data, operation):
        chosen = {}
        for one in operation.get("parameters", ()):
            if one["in"] != "query":
                continue
            if one.get("required") or rarely(data, 3):
                value = data.draw(values.of_schema(one["schema"], self.some_id(), one["name"]))
                if isinstance(value, dict):
                    chosen.update({f"{one['name']}[{name}]": text for name, text in value.items()})
                else:
                    chosen[one["name"]] = str(value).lower() if isinstance(value, bool) else value
        if rarely(data, 20):
            chosen[data.draw(st.sampled_from(["limit", "wombat", "payload", "after"]))] = \
                data.draw(st.text(max_size=5))
        text = urllib.parse.urlencode(chosen, errors="replace")
        return "?" + text if text else ""

    def draw_body(self, data, operation):
        if "requestBody" not in operation:
            return None
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        how = data.draw(st.sampled_from(["fits"] * 9 + ["spoiled"] * 3 + ["text", "none"]))
        if how == "none":
            return None
        if how == "text":
            return data.draw(st.sampled_from(["", "{", "[]", "null", "7", '{"a":1,"a":2}', "\\"])
                             | st.text(max_size=10)).encode(errors="replace")
        make = values.of_schema if how == "fits" else values.spoiled
        return json.dumps(data.draw(make(schema, self.some_id()))).encode()

    def some_id(self):
        return one_of(self.ids) | st.just("nonsense")

    def send(self, data, operations):
        """Sends one request to one of the operations and checks its answer."""
        method, path, operation = data.draw(st.sampled_from(operations))
        if operation["operationId"] in ("watchQueues", "followTask"):
            # Their answers go on; the tests of the dashboard read them.
            method = "HEAD"
        if "{key}" in path:
            self.post("/tasks", {"queue": "mail", "payload": 1, "key": "k"})
        # Half of the requests about a task are from the worker that holds its lease.
        leased = self.lease() if "{id}" in path and data.draw(st.booleans()) else None
        if leased and operation["operationId"] == "showResult":
            self.post(f"/tasks/{leased}/result", {"status": "COMPLETED", "result": [1]})
        target = self.draw_path(data, path, operation, leased) + self.draw_query(data, operation)
        body = self.draw_body(data, operation)
        token = self.tokens[0] if leased else data.draw(st.sampled_from(self.tokens))
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        if rarely(data, 15):
            fields["Idempotency-Key"] = data.draw(st.sampled_from(["k", "x" * 300]))
        try:
            answer = self.http.raw(method, target, body, fields, self.connection)
            if method == "HEAD" and answer.status >= 400:
                # A refusal ends, so that its body can be read.
                answer = self.http.raw("GET", target, body, fields, self.connection)
            self.document.check(operation, answer)
        except Finding as found:
            raise Finding(f"{found}\n  {method} {target}\n  {body!r}\n  {fields}\n  "
                          f"{answer.status} {answer.text[:1000]}") from None
        self.seen[operation["operationId"], answer.status] += 1
        self.learn(answer)

    def learn(self, answer):
        """Keeps the ids in an answer for later requests."""
        if answer.status >= 300 or not isinstance(answer.json, dict):
            return
        found = [answer.json, *answer.json.get("tasks", ())] if isinstance(
            answer.json.get("tasks", []), list) else [answer.json]
        for one in found:
            if isinstance(one, dict) and "id" in one:
                self.ids.append(one["id"])
        if "subscriptionId" in answer.json:
            self.subscriptions.append(answer.json["subscriptionId"])

    def send_all(self, seed, operations, count):
        """Sends so many requests to these operations."""
        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=count, deadline=None, database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(st.data())
        def send_each(data):
            self.send(data, operations)

        send_each()

    def run(self, seed, seconds):
        """Sends one request to each operation and others for that time; returns how many."""
        for operation in self.document.operations:
            self.send_all(f"{seed} {operation[2]['operationId']}", [operation], 1)
        end = time.monotonic() + seconds
        batch = 0
        while time.monotonic() < end:
            self.send_all(f"{seed} {batch}", self.document.operations, BATCH)
            batch += 1
        return sum(self.seen.values())


def start(here):
    """A coordinator with a token of each role; returns its port and the tokens."""
    file = here.path("tokens")
    made = [here.ctl("token", "create", "--file", file, "--subject", name, *words).decode().strip()
            for name, *words in (
                ("admin", "--tenant", "a", "--role", "admin"),
                ("all", "--tenant", "*", "--role", "admin"),
                ("producer", "--tenant", "a", "--role", "producer"),
                ("worker", "--tenant", "a", "--role", "worker", "--queues", "*"),
                ("other", "--tenant", "b", "--role", "admin"))]
    port_file = here.path("http-port")
    here.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", port_file,
                           access=("--tokens", file))
    port = cluster.wait_until(
        lambda: port_file.exists() and port_file.read_text().strip(), 30, "the port")
    return int(port), made[:1] * 8 + made + ["wrong", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    here = cluster.Cluster()
    try:
        fuzzer = Fuzzer(*start(here))
        count = fuzzer.run(options.seed, options.seconds)
    finally:
        here.close()
    routes = {name for name, _ in fuzzer.seen}
    missing = {one["operationId"] for _, _, one in fuzzer.document.operations} - routes
    print(f"openapi fuzz: seed {options.seed}, {count} requests to {len(routes)} operations, "
          f"{len(fuzzer.seen)} pairs of operation and status, nothing undocumented")
    if missing:
        sys.exit(f"operations without a request: {sorted(missing)}")


if __name__ == "__main__":
    main()
