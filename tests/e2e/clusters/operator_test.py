# SPDX-License-Identifier: Apache-2.0
"""Operators see the state of a cluster, and move its shards."""

import json
import os
import re
import time
import unittest

import cluster
import proxy
from clusters import coordinators
from cluster import free_port, wait_until


class OperatorsOfACluster(coordinators.CoordinatorsTest):
    def status(self):
        return json.loads(self.cluster.ctl("--json", "cluster", "status"))

    def text(self):
        return self.cluster.ctl("cluster", "status").decode()

    def node(self, name):
        return next(node for node in self.status()["nodes"] if node["name"] == name)

    def test_status_tells_nodes_shards_and_positions(self):
        self.cluster.start_all()
        for i in range(20):
            self.cluster.enqueue("q", "x", "--key", f"k{i}")

        status = wait_until(
            lambda: (lambda s: s if all(not one["waits_for"] for one in s["shards"]) else None)(
                self.status()), 30, "no shard waits for anything")

        self.assertEqual(("test", 2, 1), (
            status["cluster"], status["copies"], status["min_in_sync"]))
        self.assertEqual(
            [(name, self.cluster.address_of(name), f"zone-{name}", True, True, False)
             for name in ("c0", "c1", "c2")],
            [(node["name"], node["address"], node["zone"], node["present"], node["answers"],
              node["draining"]) for node in status["nodes"]])
        self.assertEqual(self.cluster.primaries(),
                         {one["shard"]: one["primary"] for one in status["shards"]})
        for one in status["shards"]:
            self.assertTrue(one["served"], one)
            self.assertEqual(2, len(one["copies"]), one)
            for copy in one["copies"]:
                self.assertTrue(copy["in_sync"], one)
                self.assertEqual(one["epoch"], copy["epoch"], one)
                self.assertGreater(copy["position"], 0, one)
        text = self.cluster.ctl("cluster", "status").decode()
        self.assertIn("cluster test: 2 copies of each shard", text)
        self.assertRegex(text, r"0 +c\d +yes +\d+ +- +c\d@\d+/\d+ c\d@\d+/\d+ +-")

    def test_status_names_a_node_that_is_gone_and_who_waits_for_it(self):
        self.cluster.start_all()
        self.cluster.nodes["c1"].kill()

        self.assertFalse(self.node("c1")["answers"])
        wait_until(lambda: not self.node("c1")["present"], 20, "its lease has ended")
        wait_until(
            lambda: {one["waits_for"] for one in self.status()["shards"]
                     if "c1" in [copy["node"] for copy in one["copies"]]}
            == {"c1, which is missing"}, 20, "its shards wait for it")
        gateway = f"http://{self.cluster.hosts['c0']}:{self.cluster.http_ports['c0']}"
        for way in ((), ("--http", gateway)):
            self.assertRegex(
                self.cluster.ctl(*way, "cluster", "status").decode(),
                r"c1 +missing +0 +\d+ +" + re.escape(self.cluster.address_of("c1")))

    def test_status_tells_which_coordinators_do_not_reach_which_others(self):
        target = self.cluster.ports["c0"]
        way = proxy.Proxy(lambda: target)
        self.addCleanup(way.close)
        self.cluster.start_node("c0", "--advertise", way.address)
        for name in ("c1", "c2"):
            self.cluster.start_node(name)
        self.cluster.await_in_sync()
        wait_until(lambda: self.unreached() == {"c0": [], "c1": [], "c2": []}, 20,
                   "each coordinator reaches all others")

        # The others cannot connect to c0; c0 still reaches them, and etcd.
        target = free_port()
        way.cut()
        wait_until(lambda: self.unreached() == {"c0": [], "c1": ["c0"], "c2": ["c0"]}, 20,
                   "nobody reaches c0")
        self.assertTrue(self.node("c0")["present"])
        self.assertIn("present, unreached: c0", self.cluster.ctl("cluster", "status").decode())

        target = self.cluster.ports["c0"]
        wait_until(lambda: self.unreached() == {"c0": [], "c1": [], "c2": []}, 20,
                   "each coordinator reaches all others again")
        self.assertNotIn("unreached", self.cluster.ctl("cluster", "status").decode())

    def unreached(self):
        """The coordinators to which each one has no connection, as the gateway of c0 tells it."""
        code, shown, _ = self.cluster.http("c0", "GET", "/v1/codeq/admin/cluster")
        self.assertEqual(200, code, shown)
        return {node["name"]: node["unreached"] for node in shown["nodes"]}

    def test_gateway_and_readiness_tell_the_cluster(self):
        self.cluster.start_all()

        def served():
            """What the gateway shows, once each coordinator serves what etcd gave it."""
            code, shown, _ = self.cluster.http("c0", "GET", "/v1/codeq/admin/cluster")
            self.assertEqual((200, "test", "c0"), (code, shown["cluster"], shown["node"]))
            primaries = {one["shard"]: one["primary"] for one in shown["shards"] if one["served"]}
            return shown if primaries == self.cluster.primaries() else None
        shown = wait_until(served, 20, "the gateway shows the primaries")
        self.assertEqual({"c0": True, "c1": True, "c2": True},
                         {node["name"]: node["answers"] for node in shown["nodes"]})
        for name in self.cluster.hosts:
            self.assertNotIn("shards is 0", self.cluster.nodes[name].text())
            code, ready, _ = wait_until(
                lambda n=name: (lambda a: a if a[0] == 200 else None)(
                    self.cluster.http(n, "GET", "/readyz")), 20, "ready")
            self.assertEqual({"status": "ready", "shards": 6}, ready)
        gone = [n for n, record in self.cluster.records().items()
                if "c0" not in record["replicas"].values()]
        self.assertTrue(gone)
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()
        code, refused, took = self.cluster.http("c0", "GET", "/readyz")
        self.assertEqual(503, code)
        for shard in gone:
            self.assertRegex(
                refused["error"], rf"\b{shard} \(shard {shard} is served by coordinator c[12] at ")
        self.assertLess(took, 3)

    def test_explained_queue_names_the_shards_that_do_not_answer(self):
        self.cluster.start_all()
        tasks = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(20)]
        whole = json.loads(self.cluster.ctl("--json", "explain", "--queue", "q"))
        self.assertEqual(({"no_worker": 20}, []), (whole["waiting"], whole["missing_shards"]))
        served = {shard for shard, name in self.cluster.primaries().items() if name == "c0"}
        gone = {shard for shard, record in self.cluster.records().items()
                if "c0" not in record["replicas"].values()}
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()

        code, part, _ = self.cluster.http(
            "c0", "GET", "/v1/codeq/admin/queues/q/explain", timeout=30)

        self.assertEqual(200, code)
        # One of them may have no shard any more, since c0 has taken those over.
        self.assertIn(self.cluster.missing("c0", "admin/queues/q")[0], ("1", "2"))
        missing = set(part["missingShards"])
        # It may have become the primary of others meanwhile.
        self.assertLessEqual(gone, missing)
        self.assertFalse(served & missing)
        self.assertEqual(sum(coordinators.shard_of(task) not in missing for task in tasks),
                         part["backlog"])

    def test_ready_tasks_of_all_coordinators_are_counted_by_priority(self):
        self.cluster.start_all()
        for i in range(24):
            self.cluster.http("c0", "POST", "/v1/codeq/tasks",
                              {"queue": "q", "payload": i, "key": f"k{i}", "priority": i % 3 * 4})

        for name in self.cluster.hosts:
            code, counts, _ = self.cluster.http(name, "GET", "/v1/codeq/admin/queues")
            self.assertEqual(200, code)
            self.assertEqual(
                {str(p): 8 if p in (0, 4, 8) else 0 for p in range(10)},
                {key.rpartition(":")[2]: n for key, n in counts.items() if ":pending:" in key})
            shown = self.cluster.http(name, "GET", "/v1/codeq/admin/queues/q")[1]
            self.assertEqual({"0": 8, "4": 8, "8": 8}, shown["readyByPriority"])
            demand = self.cluster.http(name, "GET", "/v1/codeq/autoscale?queue=q")[1]
            self.assertEqual((24, 1), (demand["backlog"], demand["wantedSlots"]))
        stats = json.loads(self.cluster.ctl("--json", "queue", "stats", "q"))
        self.assertEqual({"0": 8, "4": 8, "8": 8}, stats["queues"][0]["ready_by_priority"])

    def test_sums_say_which_part_of_the_cluster_they_are_without(self):
        self.cluster.start_all()
        sums = ("admin/queues", "admin/queues/q", "admin/workers", "admin/audit",
                "autoscale?queue=q")
        self.cluster.enqueue("q", "x")
        for path in sums:
            self.assertEqual((None, None), self.cluster.missing("c0", path), path)
        lost = [shard for shard, record in self.cluster.records().items()
                if "c0" not in record["replicas"].values()]
        for name in ("c1", "c2"):
            self.cluster.nodes[name].kill()

        # The shards that have a copy at c0 may need some time until they are served there.
        said = {path: self.cluster.missing("c0", path) for path in sums}
        for path, (coordinators_missing, shards) in said.items():
            self.assertIn(coordinators_missing, ("1", "2"), path)
            self.assertGreaterEqual(int(shards), len(lost), path)
        stats = json.loads(self.cluster.ctl("--json", "stats", status=5))
        self.assertGreaterEqual(stats["gauges"]["codeq_shards_missing"], len(lost))
        for command in (("stats",), ("queue", "stats", "q"), ("workers",)):
            shown = json.loads(self.cluster.ctl("--json", *command, status=5))
            self.assertLessEqual(set(lost), set(shown["missing"]), command)
            self.assertIn("No answer from shard", self.cluster.ctl(*command, status=5).decode())
            url = f"http://{self.cluster.hosts['c0']}:{self.cluster.http_ports['c0']}"
            shown = json.loads(self.cluster.ctl("--json", "--http", url, *command, status=5))
            self.assertGreaterEqual(shown["missing_shards"], len(lost), command)

    def test_audit_log_has_the_commands_of_all_shards(self):
        self.cluster.start_all()
        tasks = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(24)]
        for task in tasks:
            self.cluster.ctl("cancel", task)

        for name in self.cluster.hosts:
            code, page, _ = self.cluster.http(name, "GET", "/v1/codeq/admin/audit?limit=100")
            self.assertEqual(200, code)
            self.assertEqual(sorted(tasks), sorted(one["taskId"] for one in page["commands"]))
            first = self.cluster.http(name, "GET", "/v1/codeq/admin/audit?limit=10")[1]
            self.assertEqual(page["commands"][:10], first["commands"])
            rest = self.cluster.http(
                name, "GET", f"/v1/codeq/admin/audit?limit=100&after={first['after']}")[1]
            self.assertEqual(page["commands"][10:], rest["commands"])
        log = json.loads(self.cluster.ctl("--json", "audit"))
        self.assertEqual([one["taskId"] for one in page["commands"]],
                         [one["id"] for one in log["commands"]])

    def test_coordinator_that_is_alone_has_no_cluster(self):
        alone = cluster.Cluster()
        self.addCleanup(alone.close)
        alone.start_coordinator()

        self.assertIn("this coordinator is alone", alone.ctl_error("cluster", "status"))

    def test_moved_shard_stays_until_the_cluster_is_balanced(self):
        self.cluster.start_all()
        shard, target = self.copy_elsewhere()
        other = next(name for name in self.cluster.hosts
                     if name not in self.cluster.records()[shard]["replicas"].values())

        refused = self.cluster.ctl_error("cluster", "move", str(shard), "--to", other)
        self.assertIn(f"node `{other}` has no copy of shard {shard} that is in sync", refused)
        self.assertIn("it must be 0..5",
                      self.cluster.ctl_error("cluster", "move", "6", "--to", "c0"))
        self.cluster.ctl("cluster", "move", str(shard), "--to", target)

        self.assertEqual(target, self.cluster.primaries()[shard])
        time.sleep(3)
        self.assertEqual(target, self.cluster.primaries()[shard], "the balance leaves it there")
        self.assertEqual(target, self.cluster.records()[shard]["pinned"])
        self.assertEqual([(shard, target)], self.pinned())
        self.cluster.ctl("cluster", "balance")
        self.assertNotIn("pinned", self.cluster.records()[shard])
        self.cluster.await_in_sync()
        wait_until(lambda: self.pinned() == [], 10, "all coordinators know that it is not moved")

    def test_gateway_moves_shards(self):
        self.cluster.start_all()
        shard, target = self.copy_elsewhere()
        other = next(name for name in self.cluster.hosts
                     if name not in self.cluster.records()[shard]["replicas"].values())

        code, refused, _ = self.change(f"shards/{shard}/move", {"to": other})
        self.assertEqual(400, code)
        self.assertIn(f"node `{other}` has no copy of shard {shard} that is in sync",
                      refused["error"])
        for wrong in ("6", "x", "-1", "99999"):
            code, refused, _ = self.change(f"shards/{wrong}/move", {"to": target})
            self.assertEqual(400, code, wrong)
            self.assertIn("0", refused["error"])
        code, shown, _ = self.change(f"shards/{shard}/move", {"to": target})
        self.assertEqual((200, 6), (code, len(shown["shards"])))
        self.assertEqual(target, self.cluster.records()[shard]["pinned"], "etcd has stored it")
        wait_until(lambda: self.pinned() == [(shard, target)], 10, "the shard's mark")
        wait_until(lambda: self.cluster.primaries()[shard] == target, 20, "the move")
        self.assertEqual(200, self.change("balance")[0])
        self.assertNotIn("pinned", self.cluster.records()[shard])
        code, refused, _ = self.change("nodes/c9/drain")
        self.assertEqual(400, code)
        self.assertIn("`c9` is not one of the cluster", refused["error"])
        self.assertEqual(200, self.change("nodes/c2/drain")[0])
        wait_until(lambda: self.node("c2")["draining"], 10, "the drain")
        self.assertEqual(200, self.change("nodes/c2/undrain")[0])
        wait_until(lambda: not self.node("c2")["draining"], 10, "its end")
        self.assertEqual(
            ["undrain c2", "drain c2", "balance", f"move {shard} --to {target}"],
            [one["detail"] for one in wait_until(self.audited, 10, "the audit log")])

    def test_change_is_answered_when_etcd_has_stored_it_or_why_it_has_not(self):
        self.cluster.start_all()
        etcd = self.cluster.etcd
        etcd.suspend()
        began = time.monotonic()
        code, refused, _ = self.change("nodes/c2/drain")
        self.assertEqual(503, code)
        self.assertIn("etcd does not answer, so the change may be stored", refused["error"])
        self.assertLess(time.monotonic() - began, 6)

        etcd.go_on()
        wait_until(lambda: self.change("nodes/c2/drain")[0] == 200, 10, "the same, given again")
        self.assertEqual(["c2"], self.cluster.cluster_record()["drained"])
        self.cluster.ctl("cluster", "undrain", "c2")
        self.assertNotIn("c2", self.cluster.cluster_record().get("drained", []))

    def audited(self):
        """The changes in the audit log, the latest first, once all four are there."""
        commands = self.cluster.http("c0", "GET", "/v1/codeq/admin/audit?limit=100")[1]["commands"]
        found = [one for one in commands if one["action"] == "cluster"]
        return found if len(found) == 4 else None

    def change(self, what, body=None):
        return self.cluster.http("c1", "POST", f"/v1/codeq/admin/cluster/{what}", body or {})

    def pinned(self):
        """The shards that an operator has moved, and where to, as the status marks them."""
        return [(one["shard"], one["pinned"]) for one in self.status()["shards"] if one["pinned"]]

    def copy_elsewhere(self):
        """A shard and the node of its copy that does not serve it."""
        shard, record = next(iter(sorted(self.cluster.records().items())))
        target = next(record["replicas"][replica] for replica in record["in_sync"]
                      if replica != record["primary"])
        return shard, target

    def test_store_of_each_coordinator_is_sound(self):
        self.cluster.start_all()
        for i in range(20):
            self.cluster.enqueue("q", "x", "--key", f"k{i}")
        self.cluster.nodes["c0"].kill()
        for name in ("c1", "c2"):
            self.cluster.nodes[name].terminate(20)
            self.assertIn("coordinator stopped",
                          self.cluster.nodes[name].text().splitlines()[-1])

        self.cluster.port = None
        for name in self.cluster.hosts:
            report = json.loads(
                self.cluster.ctl("--json", "verify", self.cluster.path(f"store-{name}")))
            self.assertEqual([], report["findings"], name)
            self.assertTrue(any("replica" in one["records"] for one in report["shards"]), name)

    def test_every_coordinator_holds_tasks_back_from_a_drained_worker(self):
        self.cluster.start_all()
        self.cluster.start_worker("w")
        for i in range(12):
            self.cluster.result(self.cluster.enqueue("echo", "x", "--key", f"first{i}"))
        drains = (("ctl", lambda verb: self.cluster.ctl("worker", verb, "w")),
                  ("http", lambda verb: self.cluster.http(
                      "c1", "POST", f"/v1/codeq/admin/workers/w/{verb}", {})))
        for name, change in drains:
            with self.subTest(name):
                change("drain")
                worker, = wait_until(self.idle_workers, 10, "no shard has a credit of it")
                self.assertTrue(worker["draining"])
                tasks = [self.cluster.enqueue("echo", "x", "--key", f"{name}{i}")
                         for i in range(12)]
                self.assertEqual(
                    {"ready"}, {self.cluster.status(task)["state"] for task in tasks})
                change("resume")
                for task in tasks:
                    self.cluster.result(task)

    def idle_workers(self):
        found = json.loads(self.cluster.ctl("--json", "workers"))["workers"]
        return found if found[0]["free_slots"] == 0 else None

    def test_second_drained_node_keeps_its_copies_until_another_one_takes_them(self):
        self.cluster.start_all()
        self.cluster.ctl("cluster", "drain", "c2", "--wait", "50s")

        said = self.cluster.ctl_error("cluster", "drain", "c1", "--wait", "8s")

        self.assertRegex(
            said, "not done yet: shard [0-5] waits for a node that can take the copy of c1; "
                  "add or undrain one")
        wait_until(lambda: set(self.cluster.primaries().values()) == {"c0"}, 20,
                   "c1 serves nothing any more")
        self.assertEqual({("c0", "c1")}, {
            tuple(sorted(record["replicas"][one] for one in record["in_sync"]))
            for record in self.cluster.records().values()})
        wait_until(lambda: re.search(r"c1 +draining +0 +6 ", self.text()), 10, "it is draining")
        self.assertRegex(self.text(), r"c2 +drained: may be stopped +0 +0 ")

        self.cluster.ctl("cluster", "undrain", "c2")
        self.cluster.ctl("cluster", "drain", "c1", "--wait", "50s")

    def assert_empty(self, store):
        """A store whose coordinator has stopped has no data of any shard."""
        found = json.loads(self.cluster.ctl("--json", "verify", store))
        self.assertEqual([], found["findings"])
        for one in found["shards"]:
            self.assertEqual({"replica"}, set(one["records"]), one)

    def test_drained_node_loses_all_copies_and_no_task(self):
        self.cluster.start_all()
        tasks = [self.cluster.enqueue("q", "x", "--key", f"k{i}") for i in range(20)]
        copied = [shard for shard, record in self.cluster.records().items()
                  if "c2" in record["replicas"].values()]

        self.cluster.ctl("cluster", "drain", "c2", "--wait", "50s")

        nodes = {node for record in self.cluster.records().values()
                 for node in record["replicas"].values()}
        self.assertEqual({"c0", "c1"}, nodes)
        for shard in copied:
            said = f"data of a dropped replica are removed shard={shard}"
            wait_until(lambda s=said: s in self.cluster.nodes["c2"].text(), 10, said)
        self.assertEqual([], os.listdir(self.cluster.path("store-c2/replicas")))
        self.assertEqual(0, self.cluster.nodes["c2"].terminate(20)[0])
        self.assert_empty(self.cluster.path("store-c2"))
        for task in tasks:
            self.assertEqual("ready", self.cluster.status(task)["state"])
        self.assertIn("is not one of the cluster",
                      self.cluster.ctl_error("cluster", "drain", "c9"))
        wait_until(lambda: not self.node("c2")["present"], 20, "its lease has ended")
        self.cluster.ctl("cluster", "undrain", "c2")
        wait_until(lambda: ["c0", "c1"] == [node["name"] for node in self.status()["nodes"]],
                   20, "it leaves the status")
        self.cluster.start_node("c2")
        self.cluster.await_in_sync()


if __name__ == "__main__":
    unittest.main()
