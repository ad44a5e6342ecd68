#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker in standard-library Python: claims over HTTP, keeps its lease, stops when a cancel is
requested, reports the result.

Usage: http_worker.py URL QUEUE, for example http_worker.py http://127.0.0.1:8080 greetings
A bearer token may be given in the environment variable CODEQ_TOKEN. Ctrl-C stops it.
"""

import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request

LEASE_SECONDS = 30
WAIT_SECONDS = 20
PAUSE_SECONDS_MAX = 30
BUSY = (429, 500, 502, 503, 504)


def call(url, path, body):
    """POSTs JSON; returns the JSON of the response, or None when it has no body."""
    fields = {"Content-Type": "application/json"}
    if token := os.environ.get("CODEQ_TOKEN"):
        fields["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(
        f"{url}/v1/codeq{path}", json.dumps(body).encode(), fields, method="POST")
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 10) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def is_passing(trouble):
    """True for temporary errors: no connection, or a coordinator that is busy or stopping."""
    return not isinstance(trouble, urllib.error.HTTPError) or trouble.code in BUSY


class Pauses:
    """Pauses between retries: as long as the server says, else longer each time, with jitter."""

    def __init__(self):
        self._longest = 0.5

    def next(self, trouble):
        """The next pause in seconds."""
        self._longest = min(2 * self._longest, PAUSE_SECONDS_MAX)
        fields = getattr(trouble, "headers", None)
        told = fields.get("Retry-After", "") if fields else ""
        least = min(int(told), PAUSE_SECONDS_MAX) if told.isdigit() else 0
        return max(least, random.uniform(self._longest / 2, self._longest))


def keep_lease(url, task, attempt):
    """Extends the lease until the attempt has ended, and notices when the work is not wanted any
    more."""
    body = {"extendSeconds": LEASE_SECONDS, "fencingToken": task["fencingToken"]}
    while not attempt.ended.wait(LEASE_SECONDS / 3):
        try:
            answer = call(url, f"/tasks/{task['id']}/heartbeat", body)
            if answer["cancelRequested"]:
                attempt.stop.set()
        except OSError as trouble:
            if not is_passing(trouble):
                print(f"lease lost: {trouble.read().decode()}", file=sys.stderr)
                attempt.lost.set()
                return attempt.stop.set()
            print(f"heartbeat failed, trying again: {trouble}", file=sys.stderr)


def handle(payload, stop):
    """The work. An exception fails the attempt, and the task is retried, or cancelled if that was
    requested. Long work checks `stop` between its steps; here each of them waits for a second."""
    for _ in range(payload.get("steps", 0)):
        if stop.wait(1):
            raise InterruptedError("asked to stop")
    return {"greeting": f"hello {payload.get('name', 'world')}"}


class Attempt:
    """Events of one attempt: its work should stop, its lease is lost, it has ended."""

    def __init__(self):
        self.stop, self.lost, self.ended = (threading.Event() for _ in range(3))


def send_report(url, task, report, lost):
    """Reports how the attempt ended, and retries until it is answered; a repeat is harmless."""
    pauses = Pauses()
    while not lost.is_set():
        try:
            call(url, f"/tasks/{task['id']}/result", report)
            return print(f"{task['id']} {report['status']}", flush=True)
        except OSError as trouble:
            if not is_passing(trouble):
                return print(f"report refused: {trouble.read().decode()}", file=sys.stderr)
            print(f"report failed, trying again: {trouble}", file=sys.stderr)
            lost.wait(pauses.next(trouble))


def run(url, task):
    """Handles one task under its lease and reports how it ended."""
    attempt = Attempt()
    beats = threading.Thread(target=keep_lease, args=(url, task, attempt))
    beats.start()
    report = {"fencingToken": task["fencingToken"]}
    try:
        result = handle(json.loads(task["payload"]), attempt.stop)
        report |= {"status": "COMPLETED", "result": result}
    except Exception as failure:  # pylint: disable=broad-except
        report |= {"status": "FAILED", "error": f"{type(failure).__name__}: {failure}"}
    try:
        send_report(url, task, report, attempt.lost)
    finally:
        attempt.ended.set()
        beats.join()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: http_worker.py URL QUEUE")
    url, queue = sys.argv[1].rstrip("/"), sys.argv[2]
    claim = {"commands": [queue], "leaseSeconds": LEASE_SECONDS, "waitSeconds": WAIT_SECONDS}
    pauses = Pauses()
    while True:
        try:
            task = call(url, "/tasks/claim", claim)
            pauses = Pauses()
            if task:
                run(url, task)
        except OSError as trouble:
            if not is_passing(trouble):
                sys.exit(f"claim refused: {trouble.read().decode()}")
            print(f"claim failed, trying again: {trouble}", file=sys.stderr)
            time.sleep(pauses.next(trouble))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
