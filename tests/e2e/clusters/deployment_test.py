# SPDX-License-Identifier: Apache-2.0
"""The files for three machines in examples/cluster/deploy: what they start works, and the units and
the compose file are valid."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import certificates
import cluster
from cluster import BIN, free_port, wait_until

DEPLOY = pathlib.Path(__file__).parents[3] / "examples" / "cluster" / "deploy"
UNITS = ("codeq-coordinator.service", "codeq-worker@.service")
MACHINES = (1, 2, 3)
# Ten times the figure of `systemd-analyze security`: 100 is a unit without any rule.
EXPOSURE_MAX = 20


def variables(text):
    """The variables of an environment file, as systemd and compose read it."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def command_of(unit):
    return re.search(r"^ExecStart=(.*)$", (DEPLOY / unit).read_text(), re.MULTILINE)[1].split()


class Machines(cluster.ClusterTest):
    """Three machines as three addresses of loopback."""

    def setUp(self):
        super().setUp()
        self.ports = {
            port: str(free_port()) for port in ("7400", "8080", "2379", "2380")}
        authority = certificates.Authority(self.cluster.path("."))
        authority.issue("machine", ",".join(f"IP:127.0.0.{machine}" for machine in MACHINES))
        self.make_token("admin", "cluster.token", "--tenant", "*")
        self.make_token("admin", "ops.token", "--tenant", "*")
        self.make_token("worker", "worker.token", "--tenant", "shop", "--queues", "upper")

    def make_token(self, role, out, *options):
        subprocess.run(
            [BIN / "codeqctl", "token", "create", "--file", self.cluster.path("tokens"),
             "--subject", out, "--role", role, "--out", self.cluster.path(out), *options],
            check=True, capture_output=True, timeout=60)

    def environment(self, file, machine):
        """The variables of the file on that machine, each with its value, as they are here."""
        text = (DEPLOY / file).read_text()
        # The lines before the first empty one are those that differ between the machines.
        own, _, common = text.partition("\n\n")
        own = re.sub(r"10\.0\.0\.1\b", f"10.0.0.{machine}", own)
        own = re.sub(r"\bc1\b", f"c{machine}", own).replace("ZONE=a", f"ZONE={machine}")
        text = f"{own}\n\n{common}".replace("10.0.0.", "127.0.0.")
        text = text.replace("=0.0.0.0:", f"=127.0.0.{machine}:")
        for port, free in self.ports.items():
            text = re.sub(rf":{port}\b", f":{free}", text)
        for path, here in (("/etc/codeq", "."), ("/var/lib/codeq", f"codeq-{machine}"),
                           ("/var/lib/etcd", f"etcd-{machine}")):
            text = text.replace(path, str(self.cluster.path(here)))
        return [f"{name}={value}" for name, value in variables(text).items()]

    def start(self, name, command, file, machine):
        # As systemd does for the unit's StateDirectory.
        pathlib.Path(self.cluster.path(f"codeq-{machine}")).mkdir(exist_ok=True)
        return self.cluster.start(
            f"{name}-{machine}", ["env", *self.environment(file, machine), *command])

    def ctl(self, *words):
        addresses = ",".join(f"127.0.0.{machine}:{self.ports['7400']}" for machine in MACHINES)
        return subprocess.run(
            [BIN / "codeqctl", *words, "--coordinator", addresses, "--tls-ca",
             self.cluster.path("ca.pem"), "--token-file", self.cluster.path("ops.token")],
            capture_output=True, text=True, timeout=60, check=False)

    def is_whole(self):
        told = self.ctl("--json", "cluster", "status").stdout
        return told.count('"served":true') == 12 and not re.search('"waits_for":"[^"]', told)

    def test_environment_files_start_a_cluster(self):
        coordinators = []
        for machine in MACHINES:
            self.start("etcd", ["etcd"], "etcd.env", machine)
        for machine in MACHINES:
            coordinators.append(self.start(
                "coordinator", [BIN / "codeq-coordinator"], "coordinator.env", machine))
        wait_until(self.is_whole, 60, "all copies are in sync")
        worker = self.start("worker", [BIN / "codeq-worker", "--name", "w1"], "worker.env", 1)

        done = self.ctl("enqueue", "upper", "text", "--tenant", "shop", "--wait", "30s")

        self.assertIn("completed", done.stdout, done.stderr)
        for process in (worker, *coordinators):
            self.assertEqual(0, process.terminate(40)[0])


class Files(unittest.TestCase):
    def test_units_are_valid_and_hardened(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            for unit in UNITS:
                text = (DEPLOY / unit).read_text().replace("/opt/codeq/bin", str(BIN))
                (folder / unit).write_text(text)
            for unit in UNITS:
                done = subprocess.run(["systemd-analyze", "verify", folder / unit], check=False,
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual([], [line for line in done.stderr.splitlines() if "codeq" in line])
                done = subprocess.run(
                    ["systemd-analyze", "security", "--offline=true",
                     f"--threshold={EXPOSURE_MAX}", folder / unit],
                    check=False, capture_output=True, text=True, timeout=60)
                self.assertEqual(0, done.returncode, done.stdout[-2000:])

    def test_units_and_files_name_options_that_exist(self):
        for unit, file in zip(UNITS, ("coordinator.env", "worker.env")):
            program, *words = command_of(unit)
            told = subprocess.run([BIN / pathlib.Path(program).name, "--help"], check=True,
                                  capture_output=True, text=True, timeout=30).stdout
            known = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", told, re.MULTILINE))
            given = variables((DEPLOY / file).read_text())
            options = {f"--{name.removeprefix('CODEQ_').lower().replace('_', '-')}"
                       for name in given}
            options |= {word for word in words if word.startswith("--")}
            self.assertEqual(set(), options - known, unit)

    def test_compose_file_sets_what_differs_between_machines(self):
        text = (DEPLOY / "compose.yaml").read_text()
        self.assertNotIn("\t", text)
        self.assertEqual({"CODEQ_NODE", "ADDRESS", "ZONE"}, set(re.findall(r"\$\{(\w+)", text)))
        listed = text.partition("\nservices:\n")[2].partition("\nvolumes:\n")[0]
        services = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", listed + "\n", re.MULTILINE))
        self.assertEqual({"etcd", "coordinator", "worker"}, set(services))
        for name, body in services.items():
            own = set(re.findall(r"^      ([A-Z_]+): ", body, re.MULTILINE))
            file = (DEPLOY / re.search(r"env_file: \[(.*)\]", body)[1]).read_text()
            differing = set() if name == "worker" else set(variables(file.partition("\n\n")[0]))
            self.assertEqual(differing, own, name)
        for path in re.findall(r"dockerfile: (.*)", text):
            self.assertTrue((DEPLOY.parents[2] / path).is_file(), path)


if __name__ == "__main__":
    unittest.main()
