# SPDX-License-Identifier: Apache-2.0
"""One tenant meets a limit: it hears of it, the limit is counted and logged, the other tenant is
served meanwhile, and so is the first one when it stops."""

import concurrent.futures
import json
import os
import select
import socket
import subprocess
import time
import unittest
import unittest.mock

import cluster
from cluster import wait_until
from isolation_http_test import TenantsTest

MIB = 1 << 20
# How long a call of the other tenant may take.
SERVED_WITHIN = 3 if not cluster.SANITIZERS else 20
ENQUEUE_BYTES = 64 * MIB
PRODUCERS = 6
TASKS = 60
PAYLOAD_BYTES = 1_000_000
# One tenant gets half of the bytes; the copy in the log and memory kept by the allocator are extra.
RSS_GROWTH_MAX = 3 * ENQUEUE_BYTES // 2 + 64 * MIB + cluster.SANITIZER_BYTES
# Half of the unread bytes of all tenants, in buffers that grow by doubling, and what is read from
# the disk at once. Without a bound it is three gigabytes.
UNREAD_CONNECTIONS = 60
UNREAD_GROWTH_MAX = 768 * MIB + cluster.SANITIZER_BYTES
# The allocator keeps nothing that is free, so that what is resident is what the coordinator holds.
KEEP_NOTHING = {"MIMALLOC_DECOMMIT_DELAY": "0", "MIMALLOC_SEGMENT_DECOMMIT_DELAY": "0"}
RESUMED_TASKS = 200
FLOOD = cluster.BIN / "tests" / "e2e_flood"


class TwoTenants(TenantsTest):
    """`mallory` is hostile, `acme` is not."""

    # The longest call of acme, in seconds.
    longest = 0.0

    def start_gateway_of_two(self, *options, slow_disk=False, environment=None):
        access = self.create_tokens("mallory", "acme", "*")
        environment = dict(environment or {})
        if slow_disk:
            environment["LD_PRELOAD"] = str(cluster.BUILD / "lib" / "libe2e_stalled_disk.so")
            environment["SLOW_DISK_MS"] = "20"
        with unittest.mock.patch.dict(os.environ, environment):
            self.start_gateway("--shards", "1", *options, access=access,
                               durability="sync" if slow_disk else "os")

    def assert_acme_is_served(self, payload="x"):
        """Adds a task, reads and cancels it, each at once."""
        added = self.ask_at_once("POST", "/tasks", {"command": "q", "payload": payload})
        self.assertEqual(202, added.status, added.text[:1000])
        task = "/tasks/" + added.json["id"]
        found = self.ask_at_once("GET", task)
        self.assertEqual(200, found.status, found.text[:1000])
        self.assertEqual(payload, json.loads(found.json["payload"]))
        self.assertEqual(200, self.ask_at_once("POST", task + "/cancel").status)

    def ask_at_once(self, *request):
        start = time.monotonic()
        answer = self.ask("acme", *request)
        seconds = time.monotonic() - start
        self.longest = max(self.longest, seconds)
        self.assertLess(seconds, SERVED_WITHIN)
        return answer


class FloodedConnection(TwoTenants):
    @unittest.skipIf(cluster.SANITIZERS, "a preloaded library comes before the sanitizer")
    def test_has_bounded_bytes_of_requests_that_are_not_answered(self):
        self.start_gateway_of_two(slow_disk=True)
        said = self.flood("enqueue", 150, MIB - 1000)

        self.assertIn("refused overloaded: over 67108864 bytes of requests are not answered yet "
                      "retry_after_ms=50", said)
        self.assertRegex(said, r"again accepted=\d+ refused=0")
        self.assert_met("producer_inflight_bytes_max")

    def test_has_a_bounded_number_of_answers_that_are_not_acknowledged(self):
        self.start_gateway_of_two()
        said = self.flood("enqueue", 1100, 1)

        self.assertIn("refused overloaded: the producer has 1024 requests", said)
        self.assertIn("answered accepted=1024 refused=76", said)
        self.assertIn("again accepted=76 refused=0", said)
        self.assert_met("producer_requests_max")

    def test_ends_when_it_awaits_too_many_tasks(self):
        self.start_gateway_of_two()
        said = self.flood("await", 1_000_000)

        self.assertIn("closed overloaded: 1000000 tasks of one shard are awaited already; the "
                      "limit is 1000000", said)
        self.assert_met("awaited_tasks_max")
        self.assert_acme_is_served()
        # Another connection of the tenant may await tasks.
        self.cluster.token = self.tokens["mallory"]
        task = self.cluster.enqueue("q", "x", "--tenant", "mallory")
        self.cluster.ctl("cancel", task)
        self.assertIn("is cancelled", self.cluster.ctl_error("result", task, "--wait", "5s"))

    def test_is_not_answered_what_it_does_not_read(self):
        self.start_gateway_of_two(environment=KEEP_NOTHING)
        before = self.cluster.coordinator.rss_bytes()
        flood = self.start_flood("look-up", UNREAD_CONNECTIONS, 50, MIB - 1000)
        wait_until(lambda: "asked" in flood.text(), 60, "all look-ups are sent")
        self.assert_met("unread_bytes_max")
        self.assert_acme_is_served()
        grown = self.cluster.coordinator.rss_bytes() - before
        print(f"{UNREAD_CONNECTIONS * 50} MiB were asked for, {grown / MIB:.0f} MiB are held")
        self.assertLess(grown, UNREAD_GROWTH_MAX)

        flood.hang_up()
        self.assertEqual(0, flood.wait(60))
        self.assertRegex(flood.text(), r"refused overloaded: the (nodes of tenant mallory have not "
                                       r"read|connection has) \d+ (unread )?bytes")
        self.assertRegex(flood.text(), r"looked up answered=[1-9]\d* refused=[1-9]\d*")
        again = self.start_flood("look-up", 1, 3, MIB - 1000, name="again")
        wait_until(lambda: "asked" in again.text(), 60, "all look-ups are sent")
        again.hang_up()
        self.assertEqual(0, again.wait(60))
        self.assertIn("looked up answered=3 refused=0", again.text())

    def test_is_delivered_its_leases_again_once(self):
        worker = self.cluster.ctl(
            "token", "create", "--file", self.cluster.path("tokens"), "--subject", "flood",
            "--tenant", "mallory", "--role", "worker", "--queues", "*").decode().strip()
        self.start_gateway_of_two()
        large = {"command": "q", "payload": "x" * 950_000}
        for _ in range(RESUMED_TASKS // 10):
            self.ask("mallory", "POST", "/tasks/batch", {"tasks": [large] * 10})

        flood = self.start_flood("resume", RESUMED_TASKS, 200, token=worker)
        wait_until(lambda: "resumed" in flood.text(), 60, "the worker resumes")
        self.assert_acme_is_served()
        print(f"acme was served within {self.longest:.2f} s\n{flood.text()}")
        self.assertEqual(0, flood.wait(20))
        self.assertIn("a second ResumeRequest for shard 0 on one connection; the limit is 1",
                      self.cluster.coordinator.text())

    def start_flood(self, *words, name="flood", token=None):
        """Starts a client of mallory that keeps no bounds."""
        os.environ["CODEQ_TOKEN"] = token or self.tokens["mallory"]
        try:
            return self.cluster.start(name, [FLOOD, self.cluster.address, "mallory", *words])
        finally:
            os.environ.pop("CODEQ_TOKEN")

    def flood(self, *words):
        """Runs such a producer, and serves acme meanwhile. Returns the producer's output."""
        flood = self.start_flood(*words)
        served = 0
        while served == 0 or flood.is_running():
            self.assert_acme_is_served()
            served += 1
        print(f"acme was served {served} times, within {self.longest:.2f} s\n{flood.text()}")
        self.assertEqual(0, flood.wait(20))
        return flood.text()


class FullQueue(TwoTenants):
    def test_over_http_is_logged_with_the_tenant_of_the_task(self):
        self.start_gateway_of_two()
        settings = self.ask("mallory", "PUT", "/admin/queues/q/settings", {"maxDepth": 1})
        self.assertEqual(200, settings.status, settings.text)
        task = {"command": "q", "payload": 1}
        self.assertEqual(202, self.ask("mallory", "POST", "/tasks", task).status)

        refused = self.ask("mallory", "POST", "/tasks", task)

        self.assertIn("max_depth", refused.text)
        self.assert_met("max_depth")
        self.assert_acme_is_served()


class UnreadClaims(TwoTenants):
    def claim_without_reading(self):
        """Claims up to ten large tasks, more than the system takes, and reads only the status."""
        peer = socket.socket()
        self.addCleanup(peer.close)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(20)
        peer.connect(("127.0.0.1", self.port))
        body = '{"count":10,"commands":["q"],"leaseSeconds":3600}'
        peer.sendall(
            ("POST /v1/codeq/tasks/claim/batch HTTP/1.1\r\nHost: localhost\r\n"
             f"Authorization: Bearer {self.tokens['mallory']}\r\n"
             f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        self.assertEqual(b"HTTP/1.1 200", peer.recv(12))
        return peer

    def ready(self):
        return self.ask("mallory", "GET", "/admin/queues/q").json["ready"]

    def test_are_refused_before_they_lease_and_given_back_when_they_end(self):
        self.start_gateway_of_two()
        large = {"command": "q", "payload": "x" * 950_000, "maxAttempts": 1}
        for _ in range(10):
            self.ask("mallory", "POST", "/tasks/batch", {"tasks": [large] * 10})

        # A tenant gets half of 128 MiB.
        peers = [self.claim_without_reading() for _ in range(7)]
        ready = self.ready()
        refused = self.ask("mallory", "POST", "/tasks/claim/batch", {"count": 10})

        self.assertEqual(503, refused.status, refused.text[:200])
        self.assertRegex(refused.text, "tenant mallory has 6\\d+ bytes of responses at once")
        self.assertEqual(ready, self.ready())
        self.assert_acme_is_served("x" * 1_000_000)
        self.assert_met("http_answers_bytes_max")
        for peer in peers:
            peer.close()
        wait_until(lambda: self.ready() == 100, 10, "all tasks are ready again")


class NewQueues(TwoTenants):
    QUEUES = 900
    CLAIMS = 1000

    def test_of_a_tenant_with_many_waiting_claims_delay_no_other(self):
        self.start_gateway_of_two()
        self.add_queues([f"old-{i}" for i in range(self.QUEUES)])
        peers = [self.dial() for _ in range(self.CLAIMS)]
        body = b'{"waitSeconds":30}'
        claim = (f"POST /v1/codeq/tasks/claim HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                 f"{self.tokens['mallory']}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        for peer in peers:
            peer.sendall(claim + body)
        self.assert_acme_is_served()
        for i in range(20):
            self.add_queues([f"new-{i}"])
        self.assert_acme_is_served()

        print(f"acme was served within {self.longest:.2f} s")
        # A task of a new queue reaches one of the claims.
        self.ask("mallory", "POST", "/tasks", {"command": "newest", "payload": 1})
        ready = select.select(peers, [], [], 20)[0]
        self.assertIn(b'"newest"', ready[0].recv(4096))

    def add_queues(self, names):
        """Adds queues whose tasks cannot be claimed yet."""
        tasks = [{"command": name, "payload": 1, "delaySeconds": 3600} for name in names]
        added = self.ask("mallory", "POST", "/tasks/batch?limit=extended", {"tasks": tasks})
        self.assertEqual(200, added.status, added.text[:200])


class HttpBytes(TwoTenants):
    def header(self, tenant, method, path, body_bytes=0):
        return (f"{method} /v1/codeq{path} HTTP/1.1\r\nHost: localhost\r\n"
                f"Authorization: Bearer {self.tokens[tenant]}\r\n"
                f"Content-Length: {body_bytes}\r\n\r\n").encode()

    def test_of_requests_are_refused_to_one_that_has_its_share(self):
        self.start_gateway_of_two()
        peers = [self.dial() for _ in range(40)]
        for peer in peers:
            peer.sendall(self.header("mallory", "POST", "/tasks", 2 * MIB) + b"{")

        # Half of 128 MiB are for one tenant.
        refused = wait_until(lambda: self.readable(peers, 8), 10, "eight requests are refused")
        for peer in refused:
            answer = peer.recv(4096).decode()
            self.assertRegex(answer, "^HTTP/1.1 503")
            self.assertIn("Retry-After: 1", answer)
            self.assertIn("tenant mallory has 67108864 bytes at once; all share "
                          "http_bodies_bytes_max=134217728", answer)
        self.assert_acme_is_served("x" * 1_000_000)
        self.assertFalse(self.readable(peers, 9))
        self.assert_met("http_bodies_bytes_max")

        for peer in peers:
            peer.close()
        large = {"command": "q", "payload": "x" * 1_000_000}
        wait_until(lambda: self.ask("mallory", "POST", "/tasks", large).status == 202, 10,
                   "mallory is served again")

    def readable(self, peers, wanted):
        """Those that can read, once there are as many as that."""
        ready = select.select(peers, [], [], 0)[0]
        return len(ready) >= wanted and ready

    def test_of_responses_are_refused_to_one_that_does_not_read(self):
        self.start_gateway_of_two()
        large = {"command": "q", "payload": "x" * 1_000_000}
        task = "/tasks/" + self.ask("mallory", "POST", "/tasks", large).json["id"]
        peers = []

        def leave_unread():
            peer = socket.socket()
            self.addCleanup(peer.close)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(("127.0.0.1", self.port))
            # The system takes the first responses; a later one waits in the coordinator.
            peer.sendall(self.header("mallory", "GET", task) * 8)
            peers.append(peer)

        def refused_after_another():
            # The response that this asks for may have taken the place of another one.
            leave_unread()
            return self.refused(task)

        for _ in range(80):
            leave_unread()
        refused = wait_until(refused_after_another, 10, "mallory is refused")
        self.assertRegex(refused.text, r"tenant mallory has 6\d+ bytes of responses at once and "
                                       r"needs \d+ more; all share "
                                       "http_answers_bytes_max=134217728")
        self.assertEqual("1", refused.fields["retry-after"])
        self.assert_acme_is_served("x" * 1_000_000)
        self.assert_met("http_answers_bytes_max")

        for peer in peers:
            peer.close()
        wait_until(lambda: not self.refused(task), 10, "mallory is served again")

    def refused(self, task):
        """The response to mallory if it is refused."""
        answer = self.ask("mallory", "GET", task)
        self.assertIn(answer.status, (200, 503))
        return answer if answer.status == 503 else None


class ManyWebhooks(TwoTenants):
    SHARE = 100_000
    BATCH = 1000

    def test_of_one_tenant_that_are_open_leave_places_to_others(self):
        self.start_gateway_of_two("--webhook-allow-private")
        receiver = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(receiver.close)
        receiver.settimeout(20)
        here = f"http://127.0.0.1:{receiver.getsockname()[1]}/"
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            added = pool.map(
                lambda _: self.add_batch("mallory", here), range(self.SHARE // self.BATCH))
            self.assertEqual({200}, {answer.status for answer in added})

        refused = self.add("mallory", here)
        self.assertEqual(503, refused.status, refused.text)
        self.assertIn("tenant mallory has 100000 webhooks that are not delivered yet; all tenants "
                      "share 200000", refused.text)
        self.assertEqual("1", refused.fields["retry-after"])
        self.assert_met("webhooks_open_max")
        self.assert_acme_is_served()
        task = self.add("acme", here).json["id"]
        self.assertEqual(200, self.ask("acme", "POST", f"/tasks/{task}/cancel").status)
        receiver.accept()[0].close()

        self.cluster.token = self.tokens["mallory"]
        self.cluster.ctl("tenant", "purge", "mallory", "--yes")
        wait_until(lambda: self.add("mallory", here).status == 202, 20, "mallory is served again")

    def add(self, tenant, webhook):
        task = {"command": "q", "payload": 1, "webhook": webhook}
        return self.ask(tenant, "POST", "/tasks", task)

    def add_batch(self, tenant, webhook):
        tasks = [{"command": "q", "payload": 1, "webhook": webhook}] * self.BATCH
        return self.ask(tenant, "POST", "/tasks/batch?limit=extended", {"tasks": tasks})


@unittest.skipIf(cluster.SANITIZERS, "a preloaded library comes before the sanitizer")
class StalledDisk(TenantsTest):
    """While the disk stalls, enqueues wait in the coordinator's memory: their size is bounded, and
    one tenant leaves room for others."""

    def start_gateway(self, *options, **more):
        self.sign = self.cluster.path("stalled")
        os.environ["LD_PRELOAD"] = str(cluster.BUILD / "lib" / "libe2e_stalled_disk.so")
        os.environ["STALLED_DISK"] = str(self.sign)
        try:
            return super().start_gateway(
                "--enqueue-bytes", ENQUEUE_BYTES, *options, durability="sync", **more)
        finally:
            os.environ.pop("LD_PRELOAD")
            os.environ.pop("STALLED_DISK")

    def stall(self):
        self.sign.touch()

    def go_on(self):
        self.sign.unlink()

    def met_limit(self):
        return "limit=enqueue_bytes_max" in self.cluster.coordinator.text()

    def test_many_producers_take_bounded_memory_and_all_go_on(self):
        self.start_gateway()
        before = self.cluster.coordinator.rss_bytes()
        self.stall()
        producers = [subprocess.Popen(
            [cluster.LARGE, self.cluster.address, "measure", str(TASKS), "", str(PAYLOAD_BYTES),
             "60"], stdout=subprocess.PIPE) for _ in range(PRODUCERS)]
        rss = 0
        end = time.monotonic() + 5
        while time.monotonic() < end:
            rss = max(rss, self.cluster.coordinator.rss_bytes())
            time.sleep(0.02)
        self.assertTrue(self.met_limit())
        self.go_on()
        self.cluster.start_worker("w", "--slots", "16")

        seen = [json.loads(producer.communicate()[0]) for producer in producers]

        print(f"rss_growth={(rss - before) // MIB} MiB")
        self.assertEqual([TASKS] * PRODUCERS, [one["completed"] for one in seen])
        self.assertLess(rss - before, RSS_GROWTH_MAX)

    def test_requests_of_one_tenant_are_refused_and_those_of_another_wait(self):
        self.start_gateway(access=self.create_tokens("mallory", "acme"))
        large = {"command": "q", "payload": "x" * PAYLOAD_BYTES}
        self.stall()
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            flood = [pool.submit(self.ask, "mallory", "POST", "/tasks", large) for _ in range(50)]
            wait_until(self.met_limit, 20, "mallory meets the limit")
            mine = [pool.submit(self.ask, "acme", "POST", "/tasks", large) for _ in range(5)]
            time.sleep(1)
            self.assertFalse(any(one.done() for one in mine))
            self.go_on()
            answers = [one.result() for one in flood]

        self.assertEqual([202] * 5, [one.result().status for one in mine])
        refused = [answer for answer in answers if answer.status == 503]
        print(f"{len(refused)} of {len(answers)} requests of a flood were refused")
        self.assertTrue(refused)
        self.assertIn("tenant mallory", refused[0].json["error"])
        self.assertIn("enqueue_bytes_max", refused[0].json["error"])
        self.assertEqual({202, 503}, {answer.status for answer in answers})


if __name__ == "__main__":
    unittest.main()
