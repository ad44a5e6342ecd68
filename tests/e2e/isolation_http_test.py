# SPDX-License-Identifier: Apache-2.0
"""Two clients of one gateway, of which one is hostile or slow: the other one is not affected."""

import os
import pathlib
import re
import resource
import socket
import time
import unittest

import cluster
from cluster import wait_until
from gateway import Gateway

MIB = 1 << 20
TABLE = pathlib.Path(__file__).resolve().parents[2] / "coordinator" / "LIMITS.md"
SOURCES = TABLE.parents[1] / "libcodeq" / "src"
QUEUES_MAX = 10_000
BATCH = 100


class Metrics:
    """The values of a scrape, by metric and labels."""

    def __init__(self, text):
        self.values = dict(line.rsplit(" ", 1) for line in text.splitlines()
                           if line and not line.startswith("#"))

    def value(self, name):
        return float(self.values.get(name, 0))

    def limit(self, name):
        return self.value(f'codeq_limits_met_total{{limit="{name}"}}')

    def limits(self):
        return set(re.findall(r'codeq_limits_met_total\{limit="(\w+)"\}', "\n".join(self.values)))

    def names(self):
        return {name.split("{")[0] for name in self.values}


class GatewayTest(cluster.ClusterTest):
    """Starts a coordinator with a gateway."""

    # By tenant.
    tokens = {}

    def start_gateway(self, *options, durability="os", **more):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file, "--durability", durability,
            *options, **more)
        self.port = int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port"))
        self.http = Gateway(self.port)
        return coordinator

    def assert_met(self, limit, owner="tenant=mallory"):
        """The limit is counted soon, and logged with its owner. With tokens, takes one for all
        tenants."""
        fields = {"Authorization": "Bearer " + self.tokens["*"]} if self.tokens else {}

        def is_counted():
            return Metrics(self.http.raw("GET", "/metrics", fields=fields).text).limit(limit) > 0

        wait_until(is_counted, 20, f"{limit} is counted")
        line = f"limit is reached limit={limit} (max=\\d+ )?{owner} times="
        self.assertRegex(self.cluster.coordinator.text(), line)

    def dial(self, source="127.0.0.1"):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=20,
                                        source_address=(source, 0))
        self.addCleanup(peer.close)
        return peer


class LargeBodies(GatewayTest):
    def post(self, size, chunk, pause=0.0):
        """Sends a body of `size` bytes in parts of `chunk`, and returns the response."""
        peer = self.dial()
        peer.sendall(b"POST /v1/codeq/tasks HTTP/1.1\r\nHost: localhost\r\n"
                     b"Content-Length: %d\r\n\r\n" % size)
        for _ in range(size // chunk):
            peer.sendall(b"x" * chunk)
            time.sleep(pause)
        heard = b""
        while more := peer.recv(65536):
            heard += more
        return heard

    def test_client_that_still_sends_reads_the_refusal(self):
        self.start_gateway()
        for size, chunk, pause in ((3 * MIB, MIB, 0), (60 * MIB, MIB, 0), (3 * MIB, MIB // 4, 0.2)):
            self.assertTrue(self.post(size, chunk, pause).startswith(b"HTTP/1.1 413"),
                            (size, chunk, pause))

    def test_client_that_never_stops_sending_is_cut_off(self):
        self.start_gateway()
        start = time.monotonic()
        with self.assertRaises(OSError):
            self.post(1000 * MIB, MIB)
        self.assertLess(time.monotonic() - start, 15)
        with self.assertRaises(OSError):
            self.post(3 * MIB, 1024, 0.05)
        self.assertLess(time.monotonic() - start, 25)
        self.assert_met("http_drain_bytes_max", "remote=127.0.0.1")
        self.assertEqual(200, self.http.raw("GET", "/healthz").status)


class TenantsTest(GatewayTest):
    """Two tenants, each with a token for all routes."""

    def create_tokens(self, *tenants):
        file = self.cluster.path("tokens")
        self.tokens = {tenant: self.cluster.ctl(
            "token", "create", "--file", file, "--subject", "boss", "--tenant", tenant, "--role",
            "admin").decode().strip() for tenant in tenants}
        return "--tokens", file

    def ask(self, tenant, method, path, body=None, **options):
        fields = {"Authorization": "Bearer " + self.tokens[tenant]}
        return self.http.call(method, path, body, fields=fields, **options)


class SharedWebhooks(TenantsTest):
    def start_gateway_of_two(self, preload=None):
        access = self.create_tokens("mallory", "acme", "*")
        if preload:
            os.environ["LD_PRELOAD"] = str(preload)
        try:
            self.start_gateway("--webhook-allow-private", access=access)
        finally:
            os.environ.pop("LD_PRELOAD", None)
        self.receiver = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.receiver.close)
        self.receiver.settimeout(20)

    def end_task(self, tenant, url):
        """Adds a task with that webhook and cancels it."""
        added = self.ask(tenant, "POST", "/tasks", {"command": "q", "payload": 1, "webhook": url})
        self.assertEqual(202, added.status, added.text)
        ended = self.ask(tenant, "POST", f"/tasks/{added.json['id']}/cancel")
        self.assertEqual(200, ended.status, ended.text)

    def seconds_to_deliver(self, host="127.0.0.1"):
        """Time that a webhook of the other tenant takes."""
        start = time.monotonic()
        self.end_task("acme", f"http://{host}:{self.receiver.getsockname()[1]}/")
        self.receiver.accept()[0].close()
        return time.monotonic() - start

    def test_silent_receiver_of_one_tenant_delays_no_other(self):
        silent = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.addCleanup(silent.close)
        self.start_gateway_of_two()
        for _ in range(300):
            self.end_task("mallory", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        seconds = self.seconds_to_deliver()
        print(f"behind 300 webhooks to a silent receiver: {seconds:.2f} s")
        self.assertLess(seconds, 2)
        self.assert_met("webhook_flights_max")

    @unittest.skipIf(cluster.SANITIZERS, "a preloaded library comes before the sanitizer")
    def test_host_that_resolves_slowly_delays_no_other(self):
        self.start_gateway_of_two(cluster.BUILD / "lib" / "libe2e_slow_names.so")
        for number in range(50):
            self.end_task("mallory", f"http://{number}.slow.test/")
        seconds = self.seconds_to_deliver("fast.test")
        print(f"behind 50 hosts that resolve slowly: {seconds:.2f} s")
        self.assertLess(seconds, 2)


class Connections(TenantsTest):
    def setUp(self):
        super().setUp()
        # For this process and the programs that it starts.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 10_000)), hard))

    def dial_native(self, source):
        peer = socket.create_connection(("127.0.0.1", self.cluster.port), timeout=20,
                                        source_address=(source, 0))
        self.addCleanup(peer.close)

    def test_silent_connections_to_the_node_port_keep_nobody_out(self):
        self.start_gateway()
        for source in ("127.0.0.2", "127.0.0.1"):
            for _ in range(300):
                self.dial_native(source)
            start = time.monotonic()
            self.cluster.ctl("stats")
            self.assertLess(time.monotonic() - start, 2)
        self.assert_met("unauthenticated_connections_max", "remote=127.0.0.2")

    def hold_http(self, tenant, source):
        """Opens a connection of that tenant; returns the response, which is empty when it was
        refused."""
        peer = self.dial(source)
        try:
            peer.sendall(b"GET /v1/codeq/tasks?limit=1 HTTP/1.1\r\nHost: localhost\r\n"
                         b"Authorization: Bearer " + self.tokens[tenant].encode() + b"\r\n\r\n")
            return peer.recv(4096)
        except OSError:
            return b""

    def test_connections_of_one_token_to_the_gateway_leave_places_to_others(self):
        self.start_gateway(access=self.create_tokens("mallory", "acme", "*"))
        for number in range(4200):
            said = self.hold_http("mallory", f"127.0.0.{2 + number % 4}")
            if number == 0:
                self.assertTrue(said.startswith(b"HTTP/1.1 200"), said)
        self.assertIn(b"HTTP/1.1 429", said)
        self.assertIn(b"mallory", said)
        self.assertTrue(self.hold_http("acme", "127.0.0.9").startswith(b"HTTP/1.1 200"))
        self.assert_met("http_connections_max")

    def test_silent_connections_to_the_gateway_keep_nobody_out(self):
        self.start_gateway()
        for source in ("127.0.0.2", "127.0.0.1"):
            for _ in range(2500):
                self.dial(source)
        self.assertEqual(200, self.http.raw("GET", "/healthz").status)
        self.assert_met("http_unauthenticated_connections_max", "remote=127.0.0.2")


class LimitsTable(GatewayTest):
    def test_has_a_row_for_each_limit_that_is_counted_and_no_other(self):
        self.start_gateway()
        self.cluster.enqueue("q", "x")
        page = TABLE.read_text()
        documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
        scraped = Metrics(self.http.raw("GET", "/metrics").text)

        self.assertEqual(scraped.limits(), documented)
        self.assertEqual(self.noted(), documented)
        # The gauges and counters that the page names exist.
        named = set(re.findall(r"`(codeq_\w+)`", page)) - {"codeq_limits_met_total"}
        self.assertTrue(named)
        self.assertEqual(named - scraped.names(), set())


    def noted(self):
        """The limits that the sources name where one is met."""
        named = set()
        for source in SOURCES.rglob("*.cpp"):
            named |= set(re.findall(
                r'\b(?:(?:note|note_limit|over_share)\(\s*\{?\s*|string_view limit = )"(\w+)"',
                source.read_text()))
        return named


class ShortProducers(GatewayTest):
    def sessions(self):
        return Metrics(self.http.raw("GET", "/metrics").text).value("codeq_producer_sessions")

    def test_leave_no_session_behind(self):
        self.start_gateway()
        before = self.sessions()
        for number in range(20):
            self.cluster.enqueue("q", str(number))

        wait_until(lambda: self.sessions() <= before, 20, "the sessions are forgotten")
        self.assertEqual(self.cluster.queue_stats("q")["ready"], 20)


class LimitsMet(TenantsTest):
    """One tenant meets a limit: it is refused, counted and logged, and the other tenant goes on."""

    def start(self, *options):
        access = self.create_tokens("mallory", "acme", "*")
        self.tokens["slow"] = self.cluster.ctl(
            "token", "create", "--file", access[1], "--subject", "slow", "--tenant", "mallory",
            "--role", "producer", "--rate-producer", "1:1").decode().strip()
        self.start_gateway(*options, access=access)

    def as_tenant(self, name, *command, payload=None):
        self.cluster.token = self.tokens[name]
        tenant = "acme" if name == "acme" else "mallory"
        return self.cluster.try_ctl(*command, "--tenant", tenant, payload=payload)

    def enqueue(self, name, queue="q"):
        """The error of an enqueue over the native protocol; empty when it is accepted."""
        done = self.as_tenant(name, "enqueue", queue, "-", "--timeout", "1s", payload=b"x")
        return done.stderr.decode()

    def test_max_depth(self):
        self.start("--shards", "1")
        self.as_tenant("mallory", "queue", "set", "q", "--max-depth", "1")
        self.assertEqual(self.enqueue("mallory"), "")
        self.assertIn("queue_full", self.enqueue("mallory"))
        self.assert_met("max_depth")
        self.assertRegex(self.cluster.coordinator.text(),
                         "limit is reached limit=max_depth tenant=mallory times=1 queue=q\n")
        self.assertEqual(self.enqueue("acme"), "")

    def test_token_rate(self):
        self.start()
        for _ in range(5):
            self.enqueue("slow")
        self.assert_met("token_rate")
        self.assertRegex(self.cluster.coordinator.text(), "limit=token_rate max=\\d+ tenant")
        self.assertEqual(self.enqueue("mallory"), "", "another token")
        self.assertEqual(self.enqueue("acme"), "")

    def test_free_bytes(self):
        self.start("--free-bytes", str(1 << 60))
        self.assertIn("coordinator will never take new tasks", self.cluster.coordinator.text())
        self.assertIn("disk_full", self.enqueue("mallory"))
        self.assert_met("free_bytes")


class ManyQueues(TenantsTest):
    def enqueue_to(self, tenant, queues):
        tasks = [{"command": queue, "payload": 1} for queue in queues]
        return self.ask(tenant, "POST", "/tasks/batch", {"tasks": tasks})

    def refusal(self, tenant, queue):
        return self.ask(tenant, "POST", "/tasks", {"command": queue, "payload": 1})

    def test_one_tenant_with_too_many_meets_its_own_limit_until_it_purges_them(self):
        access = self.create_tokens("mallory", "acme")
        self.start_gateway("--shards", "1", access=access)
        for first in range(0, QUEUES_MAX, BATCH):
            added = self.enqueue_to("mallory", [f"q{n}" for n in range(first, first + BATCH)])
            self.assertIn(added.status, (200, 202, 207), added.text)

        refused = self.refusal("mallory", "one-more")
        self.assertEqual(refused.status, 400, refused.text)
        self.assertIn("10000 queues", refused.text)
        self.assertEqual(self.refusal("mallory", "q7").status, 202, "an existing queue")
        self.assertEqual(self.refusal("acme", "new").status, 202, "another tenant")
        self.assertIn("limit=queues_per_tenant_max", self.cluster.coordinator.text())

        self.cluster.token = self.tokens["mallory"]
        self.cluster.ctl("tenant", "purge", "mallory", "--yes")
        wait_until(lambda: self.refusal("mallory", "one-more").status == 202, 20,
                   "the purged queues are gone")


if __name__ == "__main__":
    unittest.main()
