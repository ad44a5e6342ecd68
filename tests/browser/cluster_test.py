# SPDX-License-Identifier: Apache-2.0
"""The page of a cluster of three coordinators, and its changes."""

import dashboard
from cluster import wait_until
from clusters import coordinators

ROWS = """return [...document.querySelectorAll('table[aria-label="%s"] tbody tr')]
  .map((row) => row.innerText)"""


class Alone(dashboard.DashboardTest):
    def test_coordinator_that_is_alone_says_how_to_make_a_cluster(self):
        self.show("cluster", "This coordinator is alone")
        self.assertIn("--etcd", self.browser.text())
        self.shoot("cluster-alone")


class ClusterPage(dashboard.DashboardTest):
    """The dashboard of `c0` of the coordinators `c0`, `c1` and `c2`, which all tests share."""

    @classmethod
    def setUpClass(cls):
        cls.many = coordinators.Coordinators()
        cls.addClassCleanup(cls.many.close)
        cls.many.start_all()

    def start_coordinator(self):
        self.http_port = self.many.http_ports["c0"]

    def rows(self, label):
        return self.browser.run(ROWS % label)

    def open(self, page="cluster"):
        self.show(page, "Changes of primaries")

    def test_nodes_and_shards_are_shown_and_filtered(self):
        for number in range(30):
            self.enqueue("mail", key=f"k{number}")
        self.open()
        self.browser.wait_text("3 of 3")
        self.browser.wait_text("6 of 6")
        self.browser.wait_text("12 of 12", 30)
        self.assertEqual(["c0", "c1", "c2"],
                         [row.split()[0] for row in self.rows("Coordinators")])
        primaries = self.many.primaries()
        shown = {int(row.split()[0]): row.split()[1] for row in self.rows("Shards")}
        self.assertEqual(primaries, shown)
        self.shoot("cluster")
        self.browser.click("Waiting")
        self.browser.wait_text("No shard fits")
        self.browser.click("All")
        self.show("cluster?node=c1", "Changes of primaries")
        mine = [number for number, record in self.many.records().items()
                if "c1" in record["replicas"].values()]
        self.assertEqual(sorted(mine), [int(row.split()[0]) for row in self.rows("Shards")])

    def test_keys_open_the_page_and_its_rows(self):
        self.show("operations", "No operation yet")
        self.browser.press("g", "c")
        self.browser.wait_text("Changes of primaries")
        self.browser.press("j")
        self.assertEqual("c0", self.browser.run("return document.activeElement.innerText"))

    def test_move_and_balance(self):
        self.open()
        shard, record = next(iter(sorted(self.many.records().items())))
        target = next(record["replicas"][replica] for replica in record["in_sync"]
                      if replica != record["primary"])
        self.browser.click(f"Move shard {shard}")
        self.browser.wait_text(f"Move shard {shard}?")
        self.assertEqual(target, self.browser.run(
            "return document.querySelector('dialog select').value"))
        self.browser.click(f"Move shard {shard}", within="dialog")
        self.browser.wait_text(f"Shard {shard} moves to {target}")
        wait_until(lambda: self.many.primaries()[shard] == target, 20, "the move")
        self.browser.wait_text("handed over")
        self.browser.wait_text("pinned")
        self.shoot("cluster-moved")
        self.browser.click("Balance")
        self.browser.wait_text("All moves are forgotten")
        self.browser.click("Balance", within="dialog")
        wait_until(lambda: "pinned" not in self.many.records()[shard], 10, "the balance")

    def test_drain_and_its_end(self):
        self.open()
        self.browser.click("Drain c2")
        self.browser.wait_text("that it serves")
        self.browser.click("Drain c2", within="dialog")
        self.browser.wait_text("draining")
        wait_until(lambda: "c2" not in {
            node for record in self.many.records().values()
            for node in record["replicas"].values()}, 60, "the drain")
        self.browser.wait_text("drained: may be stopped")
        self.browser.click("Take back c2")
        self.browser.click("Take c2 back", within="dialog")
        self.many.await_in_sync()

    def test_lost_coordinator_and_fail_over_show_by_themselves(self):
        self.open()
        served = [shard for shard, node in self.many.primaries().items() if node == "c1"]
        self.may_lose_connection = True
        self.many.nodes["c1"].kill()
        self.browser.wait_text("2 of 3", 20)
        self.browser.wait_text("c1 is missing", 20)
        self.shoot("cluster-lost")
        wait_until(lambda: "c1" not in self.many.primaries().values(), 20, "the fail-over")
        self.browser.wait(
            "return [...document.querySelectorAll('.tile')].some((one) => "
            "one.innerText.includes('fail-overs') && "
            f"one.innerText.includes('{len(served)}'))", "all fail-overs")
        self.assertIn("fail-over", " ".join(self.rows("Changes of primaries")))
        self.many.start_node("c1")
        self.many.await_in_sync()

    def test_page_says_how_many_shards_did_not_answer(self):
        said = "did not answer, so what they know"
        self.show("tasks")
        self.assertNotIn(said, self.browser.text())
        self.may_lose_connection = True
        for name in ("c1", "c2"):
            self.many.nodes[name].kill()
        self.browser.wait_text(said, 30)
        self.shoot("cluster-shards-missing")
        for name in ("c1", "c2"):
            self.many.start_node(name)
        self.many.await_in_sync()
        self.browser.wait_gone(said)

    def test_operation_says_who_runs_it_and_that_it_covers_all(self):
        for number in range(12):
            self.enqueue("bills", key=f"k{number}", delaySeconds=3600, allowPromotion=True)
        self.show("tasks?queue=bills&state=scheduled")
        self.wait_rows(12)
        self.browser.click("Run all now")
        self.browser.wait_text("on the shards of all coordinators")
        self.browser.click("Run now 12 waiting tasks")
        self.wait_operation_end()
        self.browser.wait_text("on the shards of all")
        self.assertEqual({"ready": 12}, self.states("bills"))
        self.shoot("cluster-operation")

    def states(self, queue):
        tasks = self.http.get(f"/tasks?queue={queue}&limit=100").json["tasks"]
        found = [task["state"] for task in tasks]
        return {state: found.count(state) for state in set(found)}

