# SPDX-License-Identifier: Apache-2.0
"""A shard that cannot be served, since etcd is away: it holds up no other shard, and is named."""

import asyncio
import json
import unittest

from clusters import coordinators

# Two thirds of them belong to shards that wait: more than one tenant's requests that a gateway has
# under way at a time.
REQUESTS = 1800
SECONDS = 10


async def ask(connection, host, method, path, body=""):
    """Sends a request; returns the status line and what is answered as JSON."""
    reader, writer = connection
    writer.write((f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n"
                  "Content-Type: application/json\r\n"
                  f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    answer = await asyncio.wait_for(reader.readexactly(length), SECONDS)
    return head.partition(b"\r\n")[0], answer


async def connect(host, port, places):
    """A connection on which the gateway has read a request: it bounds others more strictly."""
    async with places:
        connection = await asyncio.open_connection(host, port)
        await ask(connection, host, "GET", "/livez")
    return connection


async def add_task(connection, host, number):
    """The shard of a new task of a group of its own; None when it is not acknowledged in time."""
    body = json.dumps({"queue": "q", "payload": "", "group": f"g{number}"})
    try:
        status, answer = await ask(connection, host, "POST", "/v1/codeq/tasks", body)
        return coordinators.shard_of(json.loads(answer)["id"]) if b" 202 " in status else None
    except asyncio.TimeoutError:
        return None
    finally:
        connection[1].close()


async def add_tasks(host, port):
    places = asyncio.Semaphore(100)
    connections = await asyncio.gather(*(connect(host, port, places) for _ in range(REQUESTS)))
    return await asyncio.gather(*(
        add_task(connection, host, i) for i, connection in enumerate(connections)))


class WaitingShard(coordinators.CoordinatorsTest):
    def test_tasks_for_other_shards_are_taken(self):
        self.cluster.start_all()
        served = {shard for shard, record in self.cluster.records().items()
                  if "c2" not in record["replicas"].values()}
        self.assertEqual(2, len(served))
        # Without etcd nobody may leave the set of a shard.
        self.cluster.etcd.terminate(20)
        self.cluster.nodes["c2"].kill()

        shards = asyncio.run(add_tasks(self.cluster.hosts["c0"], self.cluster.http_ports["c0"]))

        taken = [shard for shard in shards if shard is not None]
        self.assertEqual(served, set(taken))
        # A third of them, give or take what chance may.
        self.assertGreater(len(taken), REQUESTS / 3 - 120)

    def test_a_wait_says_when_the_shard_does_not_answer(self):
        self.cluster.start_all()
        primaries = self.cluster.primaries()
        tasks = (self.cluster.enqueue("q", "", "--group", f"g{i}") for i in range(REQUESTS))
        task = next(one for one in tasks
                    if primaries[coordinators.shard_of(one)] == "c2")
        # Without etcd no other coordinator may take the shard over.
        self.cluster.etcd.terminate(20)
        self.cluster.nodes["c2"].kill()

        done = self.cluster.try_ctl("--timeout", "2s", "result", task, "--wait", "1s")

        said = done.stderr.decode()
        self.assertEqual(1, done.returncode, said)
        self.assertNotIn("has not ended", said)


if __name__ == "__main__":
    unittest.main()
