# SPDX-License-Identifier: Apache-2.0
"""The metrics of coordinator and worker, compared with the page that lists them."""

import pathlib
import re
import ssl
import unittest

import certificates
import cluster
import gateway

PAGE = pathlib.Path(__file__).resolve().parents[2] / "coordinator" / "METRICS.md"
_ROW = re.compile(r"^\| `(codeq_\w+)` \| (\w+) \| ([^|]*) \|")
_SAMPLE = re.compile(r'^(codeq_\w+?)(?:\{(.*)\})? (\S+)$')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def listed(section):
    """Name -> (type, labels) of the rows of a section of the page."""
    text = PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    rows = {}
    for line in text.splitlines():
        if row := _ROW.match(line):
            rows[row[1]] = (row[2], frozenset(re.findall(r"`(\w+)`", row[3])))
    return rows


class Scrape:
    def __init__(self, text):
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        self.helps = dict(re.findall(r"^# HELP (\S+) (.+)$", text, re.M))
        self.samples = []
        for line in text.splitlines():
            if sample := _SAMPLE.match(line):
                self.samples.append((sample[1], dict(_LABEL.findall(sample[2] or "")),
                                     float(sample[3])))

    def family(self, name):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        return base if self.types.get(base) == "histogram" else name

    def described(self):
        """Name -> (type, labels), as `listed`."""
        found = {name: (kind, set()) for name, kind in self.types.items()}
        for name, labels, _ in self.samples:
            found[self.family(name)][1].update(set(labels) - {"le"})
        return {name: (kind, frozenset(labels)) for name, (kind, labels) in found.items()}

    def value(self, name, **labels):
        values = [value for found, has, value in self.samples
                  if found == name and labels.items() <= has.items()]
        return sum(values) if values else None


class Metrics(cluster.ClusterTest):
    def start(self, *options):
        ports = self.cluster.path("http_port")
        self.cluster.start_coordinator("--http", "127.0.0.1:0", "--http-port-file", ports, *options)
        self.http = gateway.Gateway(int(cluster.wait_until(
            lambda: ports.exists() and ports.read_text().strip(), 10, "the port")))

    def scrape(self):
        answer = self.http.raw("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        return Scrape(answer.text)

    def worker_port(self, worker):
        line = re.compile(r"serves metrics listen=\S+ port=(\d+)")
        found = cluster.wait_until(lambda: line.search(worker.text()), 20, "metrics")
        return int(found[1])

    def compare(self, scrape, section):
        self.maxDiff = None
        self.assertEqual(scrape.described(), listed(section))
        for name, (kind, _) in scrape.described().items():
            self.assertIn(name, scrape.helps)
            self.assertEqual(name.endswith("_total"), kind == "counter", name)

    def test_the_page_lists_all_metrics_of_a_coordinator(self):
        self.start("--backup-dir", self.cluster.path("backups"))
        self.cluster.start_worker("w1", "--exec", "upper=tr a-z A-Z", "--exec", "broken=false",
                                  handlers=())
        self.cluster.ctl("backup")
        self.cluster.result(self.cluster.enqueue("upper", "x"))
        self.cluster.result(self.cluster.enqueue("broken", "x", "--max-attempts", "1"), status=4)
        self.cluster.ctl("queue", "set", "full", "--max-depth", "1")
        self.cluster.ctl("queue", "pause", "full")
        # The second task is refused.
        for _ in range(2):
            self.cluster.try_ctl("enqueue", "full", "x")

        scrape = self.scrape()

        self.compare(scrape, "Coordinator")
        of_upper = {"tenant": "default", "queue": "upper"}
        for transition in "enqueued", "leased", "completed":
            self.assertEqual(
                scrape.value("codeq_task_transitions_total", transition=transition, **of_upper), 1)
        self.assertEqual(scrape.value("codeq_queue_run_seconds_count", **of_upper), 1)
        self.assertEqual(scrape.value("codeq_queue_dispatch_seconds_count", **of_upper), 1)
        self.assertEqual(scrape.value("codeq_queue_paused", queue="full"), 1)
        self.assertEqual(scrape.value("codeq_queue_paused", queue="upper"), 0)
        self.assertGreater(scrape.value("codeq_oldest_ready_seconds", queue="full"), 0)
        self.assertEqual(scrape.value("codeq_oldest_ready_seconds", queue="upper"), 0)
        self.assertGreater(scrape.value("codeq_enqueues_refused_total", reason="queue_full"), 0)
        self.assertGreater(scrape.value("codeq_disk_free_bytes"), 0)
        self.assertLess(scrape.value("codeq_backup_age_seconds"), 60)

    def test_gauges_of_the_stats_have_the_names_of_metrics(self):
        self.start()

        gauges = self.cluster.stats()["gauges"]

        self.assertIn("codeq_records_evicted_total", gauges)
        self.assertLessEqual(set(gauges), set(listed("Coordinator")))

    def test_names_of_purged_queues_leave(self):
        self.start()
        self.cluster.enqueue("gone", "x")
        self.assertEqual(self.scrape().value("codeq_tasks", queue="gone", state="ready"), 1)

        self.cluster.ctl("queue", "purge", "gone", "--yes")

        cluster.wait_until(lambda: self.scrape().value("codeq_tasks", queue="gone") is None, 30,
                           "the queue leaves")

    def test_queues_beyond_the_limit_are_summed(self):
        self.start()
        for n in range(130):
            self.http.post("/tasks", {"queue": f"q-{n}", "payload": "x"})

        scrape = self.scrape()

        names = {labels["queue"] for name, labels, _ in scrape.samples if name == "codeq_tasks"}
        self.assertEqual(len(names), 101)
        self.assertEqual(scrape.value("codeq_tasks", queue="*", state="ready"), 30)
        self.assertEqual(scrape.value("codeq_tasks", state="ready"), 130)
        self.assertEqual(scrape.value("codeq_queues"), 130)

    def test_the_page_lists_all_metrics_of_a_worker(self):
        self.start()
        worker = self.cluster.start_worker(
            "w1", "--metrics", "127.0.0.1:0", "--exec", "upper=tr a-z A-Z", "--exec",
            "broken=false", handlers=())
        self.cluster.result(self.cluster.enqueue("upper", "x"))
        self.cluster.result(self.cluster.enqueue("broken", "x", "--max-attempts", "1"), status=4)
        own = gateway.Gateway(self.worker_port(worker))

        scrape = Scrape(own.raw("GET", "/metrics").text)

        self.compare(scrape, "Worker")
        self.assertEqual(
            scrape.value("codeq_worker_attempts_total", queue="upper", outcome="completed"), 1)
        self.assertEqual(
            scrape.value("codeq_worker_attempts_total", queue="broken", outcome="failed"), 1)
        self.assertEqual(scrape.value("codeq_worker_run_seconds_count", queue="upper"), 1)
        health = own.raw("GET", "/healthz")
        self.assertEqual((health.status, health.json),
                         (200, {"status": "ok", "coordinators": 1, "connected": 1}))
        self.assertEqual(own.raw("GET", "/tasks").status, 404)
        self.assertEqual(own.raw("POST", "/metrics").status, 404)

        self.cluster.coordinator.kill()
        cluster.wait_until(lambda: own.raw("GET", "/healthz").json["connected"] == 0, 20,
                           "the worker notices")

    def test_metrics_of_a_worker_outside_of_its_machine_are_secured(self):
        authority = certificates.Authority(self.cluster.directory)
        certificate, key = authority.issue("worker")
        token = self.cluster.path("metrics.token")
        token.write_text("x" * 40)
        self.start()
        worker = self.cluster.start_worker(
            "w1", "--metrics", "0.0.0.0:0", "--metrics-token-file", token,
            "--metrics-cert", certificate, "--metrics-key", key, "--exec", "upper=tr a-z A-Z",
            handlers=())
        context = ssl.create_default_context(cafile=str(authority.file))
        own = gateway.Gateway(self.worker_port(worker), tls=context)

        self.assertEqual(own.raw("GET", "/metrics").status, 401)
        fields = {"Authorization": "Bearer " + "y" * 40}
        self.assertEqual(own.raw("GET", "/metrics", fields=fields).status, 401)
        fields = {"Authorization": "Bearer " + "x" * 40}
        self.assertEqual(own.raw("GET", "/metrics", fields=fields).status, 200)


if __name__ == "__main__":
    unittest.main()
