# SPDX-License-Identifier: Apache-2.0
"""Runs an etcd and several coordinators of one cluster, on 127.0.0.1, 127.0.0.2 and so on."""

import base64
import collections
import json
import time
import urllib.error
import urllib.request

import cluster
from cluster import BIN, free_port, wait_until

NAME = "test"


class Coordinators(cluster.Cluster):
    """The coordinators `c0`, `c1` and so on, each with its address, its gateway and its store."""

    def __init__(self, count=3, replicas=2, shards=6):
        super().__init__()
        self.count, self.replicas, self.shard_count = count, replicas, shards
        self.nodes = {}
        self.hosts = {f"c{i}": f"127.0.0.{i + 1}" for i in range(count)}
        self.ports = {name: free_port(host) for name, host in self.hosts.items()}
        self.http_ports = {name: free_port(host) for name, host in self.hosts.items()}
        self.etcd_port = free_port()
        self.start_etcd()

    @property
    def etcd_url(self):
        return f"http://127.0.0.1:{self.etcd_port}"

    def start_etcd(self, directory="etcd"):
        peer = f"http://127.0.0.1:{free_port()}"
        self.etcd = self.start("etcd", [
            "etcd", "--name", "e", "--data-dir", self.path(directory),
            "--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"e={peer}"])

    @property
    def address(self):
        """One address is enough for a client, as long as that coordinator runs when it connects."""
        return ",".join(f"{self.hosts[name]}:{self.ports[name]}"
                        for name, node in self.nodes.items() if node.is_running())

    def address_of(self, name):
        return f"{self.hosts[name]}:{self.ports[name]}"

    def start_node(self, name, *options):
        """Starts a coordinator, or starts it again with its store."""
        self.port = self.ports[name]
        self.nodes[name] = self.start(name, [
            BIN / "codeq-coordinator", "--dev", "--data", self.path(f"store-{name}"),
            "--listen", self.address_of(name),
            "--http", f"{self.hosts[name]}:{self.http_ports[name]}",
            "--cluster", NAME, "--etcd", self.etcd_url, "--node", name, "--zone", f"zone-{name}",
            "--replicas", str(self.replicas), "--shards", str(self.shard_count), *options])
        return self.nodes[name]

    def start_all(self, *options):
        for name in self.hosts:
            self.start_node(name, *options)
        self.await_in_sync()
        wait_until(self.is_balanced, 60, "the shards are spread evenly")

    def records(self):
        """The shards as etcd has them, by number."""
        prefix = f"/codeq/{NAME}/shards/"
        return {int(key.removeprefix(prefix)): record
                for key, record in self.read_etcd(prefix, prefix[:-1] + "0").items()}

    def cluster_record(self):
        """What etcd has of the cluster itself."""
        key = f"/codeq/{NAME}/cluster"
        return self.read_etcd(key, key + "0")[key]

    def write_cluster_record(self, record):
        pair = {"key": f"/codeq/{NAME}/cluster", "value": json.dumps(record, separators=(",", ":"))}
        request = urllib.request.Request(
            self.etcd_url + "/v3/kv/put", method="POST", data=json.dumps(
                {name: base64.b64encode(text.encode()).decode()
                 for name, text in pair.items()}).encode())
        urllib.request.urlopen(request, timeout=5).close()

    def is_founded(self):
        """True when etcd runs and has the cluster."""
        try:
            return bool(self.cluster_record())
        except (OSError, KeyError):
            return False

    def read_etcd(self, first, end):
        """The records of the keys from `first` to before `end`."""
        return {base64.b64decode(entry["key"]).decode():
                json.loads(base64.b64decode(entry["value"]))
                for entry in self.ask_etcd(first, end).get("kvs", [])}

    def etcd_revision(self):
        """The number of etcd's last change."""
        return int(self.ask_etcd("/", "0")["header"]["revision"])

    def ask_etcd(self, first, end):
        """What etcd answers when it is asked for the keys from `first` to before `end`."""
        query = {"key": base64.b64encode(first.encode()).decode(),
                 "range_end": base64.b64encode(end.encode()).decode()}
        request = urllib.request.Request(
            self.etcd_url.split(",")[0] + "/v3/kv/range", json.dumps(query).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)

    def primaries(self):
        """The node of each shard's primary, by the number of the shard."""
        return {number: record["replicas"][record["primary"]]
                for number, record in self.records().items()}

    def is_balanced(self):
        """No copy is on its way, and all nodes have as many copies and primaries as the others."""
        records = self.records().values()
        copies = collections.Counter(
            node for one in records for node in one["replicas"].values())
        primaries = collections.Counter(self.primaries().values())
        return (all(len(one["replicas"]) == len(one["in_sync"]) == self.replicas
                    for one in records)
                and max(copies.values()) - min(copies.values()) <= 1
                and max(primaries.values()) - min(primaries.values()) <= 1)

    def await_in_sync(self, copies=None, nodes=None):
        """Waits until each shard has its copies in sync, and each node serves a shard."""
        copies = copies or self.replicas
        nodes = nodes or sorted(self.hosts)

        def is_settled():
            try:
                records = self.records()
            except (OSError, urllib.error.URLError):
                return False
            return (len(records) == self.shard_count
                    and all(len(one["in_sync"]) >= copies for one in records.values())
                    and set(self.primaries().values()) == set(nodes))

        wait_until(is_settled, 60, "all copies are in sync")

    def http(self, name, method, path, body=None, timeout=10):
        """Sends a request to a node's gateway; returns (status, JSON, seconds until the answer)."""
        data = json.dumps(body).encode() if body is not None else None
        url = f"http://{self.hosts[name]}:{self.http_ports[name]}{path}"
        request = urllib.request.Request(url, data, method=method)
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        took = time.monotonic() - began
        return status, json.loads(text) if text else None, took

    def missing(self, name, path):
        """What a node's answer says to be missing in it: (coordinators, shards), as texts."""
        url = f"http://{self.hosts[name]}:{self.http_ports[name]}/v1/codeq/{path}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return (answer.headers["Codeq-Missing-Coordinators"],
                    answer.headers["Codeq-Missing-Shards"])

    def metrics(self, name):
        """What a node tells Prometheus."""
        url = f"http://{self.hosts[name]}:{self.http_ports[name]}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()


class CoordinatorsTest(cluster.ClusterTest):
    """Gives each test a cluster of coordinators that are not started yet."""

    def setUp(self):
        self.cluster = Coordinators()
        self.addCleanup(self.cluster.close)


def shard_of(task):
    """The number of a task's shard, which its id names."""
    return int(task.split("-")[4][:4], 16)
