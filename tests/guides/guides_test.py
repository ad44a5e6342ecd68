# SPDX-License-Identifier: Apache-2.0
"""Does what the guides say: runs the blocks of each from top to bottom in one shell, as a reader
who copies them would, and checks that the options they name exist."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "tidy"), str(SOURCE / "tests" / "e2e")]
import cluster  # found by the line above
import guides
from cluster import BIN, BUILD, free_port

SECONDS_MAX = 600 if cluster.SANITIZERS else 200
PROGRAMS = ("codeq-coordinator", "codeq-worker", "codeqctl", "codeq-bench")
# Pages for users whose commands need more than this machine, or that have none.
TABLES = ("coordinator/CLUSTERS.md", "coordinator/LIMITS.md", "coordinator/METRICS.md",
          "worker/UPGRADE.md")
# Options of measurements in the guides, so that a run takes seconds.
SMALL = {"cycle": "--tasks 2000", "latency": "--rate 100 --seconds 1", "retries": "--tasks 2000",
         "open-loop": "--rate 200 --seconds 1", "idle": "--seconds 1 --settle 1",
         "backlog": "--tasks 9000 --claims 500 --rounds 1 --settle 1",
         "leases": "--live 1000 --lease 2 --seconds 2", "expiry": "--leases 1000 --lease 2",
         "recover": "--tasks 4 --slots 2 --prefetch 2", "scale-out": "--nodes 2 --seconds 1",
         "http": "--connections 4 --seconds 1",
         "dashboard": "--tasks 3000 --dead 2000 --queues 3 --rounds 2 --rate 1000",
         "fairness": "--flood-tasks 20000 --flood-customers 500 --limited-tasks 5000 --others 50 "
                     "--claimed-tasks 5000 --claim-keys 50 --waiting-tasks 5000 "
                     "--waiting-keys 500",
         "limits": "--tasks 2000 --keys 2000 --rounds 1 --rate 200 --seconds 1",
         "schedules": "--schedules 500 --burst 0 --seconds 1 --settle 1",
         "failover": "--kills 1", "handover": "--tasks 2000"}


def end_session(session):
    """Kills the programs that a script left running."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(folder.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue


def made_small(line):
    """The line with few tasks and short times, when it measures."""
    if "peers/compare.sh" in line:
        # It would install Redis, which is not for a test to do.
        line = re.sub("--rounds .*", "--rounds 1 --tasks 2000 --seconds 1 --only redis", line)
        return line if shutil.which("redis-server") else f"echo 'left out: {line}' >&2"
    found = re.search(r"codeq-bench ([a-z-]+)", line)
    if not found or found[1] not in SMALL:
        return re.sub(r"(scale/table\.py) --tasks \d+", r"\1 --tasks 100", line)
    for option in re.findall(r"--[a-z-]+", SMALL[found[1]]):
        line = re.sub(rf" {option} \S+", "", line)
    return f"{line} {SMALL[found[1]]}"


class Script:
    """The blocks of one guide as a shell script in a directory of its own."""

    def __init__(self, guide, directory):
        self.directory = directory
        self.ports = {port: str(free_port()) for port in ("7400", "8080")}
        self.blocks = guides.blocks((SOURCE / guide).read_text())
        # A reader is in the source tree, and builds into build/.
        for path in SOURCE.iterdir():
            if path.name not in ("build", ".git"):
                (directory / path.name).symlink_to(path)
        (directory / "build").symlink_to(BUILD)

    def localized(self, text):
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        return text.replace("/opt/codeq", str(self.directory / "installed"))

    def output(self, number):
        return self.directory / f"output-{number}"

    def _wait_for_ports(self, block):
        """Gives a coordinator that the block starts the time that a reader needs anyway."""
        if not re.search(r"codeq-coordinator\b.*&$", block.text.replace("\\\n", ""), re.MULTILINE):
            return
        ports = ["7400"] + (["8080"] if "--http" in block.text else [])
        for port in ports:
            yield (f"for _ in $(seq 400); do (: </dev/tcp/127.0.0.1/{self.ports[port]}) 2>&- && "
                   "break; sleep 0.05; done")

    def lines(self):
        yield "set -euo pipefail"
        for number, block in enumerate(self.blocks):
            yield f"exec >{self.output(number)}"
            if block.file:
                yield f"cat >{block.file} <<'GUIDE_END'\n{block.text}GUIDE_END"
            if block.language != "sh":
                continue
            yield f": line {block.line} of the guide"
            lines = self.localized(block.text).replace("\\\n", " ").splitlines()
            yield from (made_small(line) for line in lines if line not in guides.RUN_ELSEWHERE)
            yield from self._wait_for_ports(block)

    def environment(self):
        flags = f"-fsanitize={cluster.SANITIZERS} -fno-sanitize=null" if cluster.SANITIZERS else ""
        address = f"127.0.0.1:{self.ports['7400']}"
        return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "CODEQ_BUILD": str(BUILD),
                "CODEQ_LISTEN": address, "CODEQ_COORDINATOR": address, "CXXFLAGS": flags}

    def run(self):
        """Runs it; returns its exit status and what it and its programs logged."""
        script = self.directory / "guide.sh"
        script.write_text("\n".join(self.lines()) + "\n")
        with (self.directory / "guide.log").open("w", encoding="utf-8") as log:
            started = subprocess.Popen(
                ["timeout", str(SECONDS_MAX), "bash", "-x", script], cwd=self.directory,
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
            try:
                status = started.wait()
            finally:
                end_session(started.pid)
        return status, (self.directory / "guide.log").read_text(errors="replace")

    def expected_outputs(self):
        """Yields (line, pattern, output) of each block of text that follows commands."""
        for number, (before, block) in enumerate(zip(self.blocks, self.blocks[1:])):
            if before.language == "sh" and block.language == "text":
                parts = map(re.escape, self.localized(block.text).rstrip().split("..."))
                yield block.line, ".*?".join(parts), self.output(number).read_text().rstrip()


class Followed(unittest.TestCase):
    maxDiff = None

    def follow(self, guide):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="codeq-guide-"))
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        script = Script(guide, directory)
        status, log = script.run()
        if status != 0:
            outputs = "".join(script.output(n).read_text()[-500:] for n in
                              range(len(script.blocks)) if script.output(n).exists())
            self.fail(f"{guide}: a command ended with {status}:\n{log[-4000:]}\n{outputs}")
        cluster.refuse_report(guide, log)
        for line, pattern, output in script.expected_outputs():
            self.assertRegex(output, re.compile(rf"\A{pattern}\Z", re.DOTALL), f"{guide}:{line}")

    def test_readme(self):
        self.follow("README.md")

    def test_guide_for_operators(self):
        self.follow("coordinator/README.md")

    def test_guide_for_tokens(self):
        self.follow("coordinator/TOKENS.md")

    def test_guide_for_schedules(self):
        self.follow("coordinator/SCHEDULES.md")

    def test_guide_for_fairness(self):
        self.follow("coordinator/FAIRNESS.md")

    def test_guide_for_failing_queues(self):
        self.follow("coordinator/FAILING_QUEUES.md")

    def test_guide_for_limits_of_tasks(self):
        self.follow("coordinator/TASK_LIMITS.md")

    def test_guide_for_the_dashboard(self):
        self.follow("coordinator/DASHBOARD.md")

    def test_guide_for_services(self):
        self.follow("coordinator/SERVICE.md")

    def test_guide_for_operations(self):
        self.follow("coordinator/OPERATIONS.md")

    def test_guide_for_handlers(self):
        self.follow("worker/README.md")

    def test_guide_for_protocols(self):
        self.follow("schema/README.md")

    def test_guide_for_measurements(self):
        if not (BIN / "codeq-bench").exists():
            self.skipTest("the benches are not built (CODEQ_BENCH=OFF)")
        self.follow("bench/README.md")

    def test_every_guide_is_followed(self):
        followed = re.findall(r'self\.follow\("([^"]+)"\)', pathlib.Path(__file__).read_text())
        self.assertEqual(sorted(followed), sorted(guides.GUIDES))


class Units(unittest.TestCase):
    """The unit files of the guide for systemd: their commands start, reload and stop."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="codeq-units-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.ports = {port: str(free_port()) for port in ("7400", "8080")}
        text = (SOURCE / "coordinator" / "SERVICE.md").read_text()
        for path, here in (("/opt/codeq/bin", BIN), ("/etc/codeq", self.directory),
                           ("/var/lib/codeq", self.directory), ("%l-%i", "host-1"),
                           *((rf"\b{port}\b", free) for port, free in self.ports.items())):
            text = re.sub(path, str(here), text)
        self.units = {block.file: block.text for block in guides.blocks(text) if block.file}
        for name, unit in self.units.items():
            (self.directory / name).write_text(unit)
        for role, *options in (("admin", "--tenant", "*", "--out", "ops.token"),
                               ("worker", "--tenant", "shop", "--queues", "upper", "--out",
                                "worker.token")):
            self.run_ctl("token", "create", "--file", "tokens", "--subject", role, "--role", role,
                         *options)

    def run_ctl(self, *words):
        done = subprocess.run(
            [BIN / "codeqctl", *words], cwd=self.directory, capture_output=True, text=True,
            timeout=60, check=False,
            env={**os.environ, "CODEQ_COORDINATOR": f"127.0.0.1:{self.ports['7400']}"})
        self.assertEqual(0, done.returncode, f"{words}: {done.stderr}")
        return done.stdout.strip()

    def command_of(self, unit):
        return re.search(r"^ExecStart=(.*)$", self.units[unit], re.MULTILINE)[1].split()

    def start(self, unit):
        # Without --listen the coordinator has the default port, which may be taken here.
        listen = f"127.0.0.1:{self.ports['7400']}"
        with (self.directory / "units.log").open("a", encoding="utf-8") as log:
            started = subprocess.Popen(self.command_of(unit), stderr=log, env={
                **os.environ, "CODEQ_LISTEN": listen})
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def wait_for(self, text):
        log = self.directory / "units.log"
        cluster.wait_until(lambda: text in log.read_text(), 20, text)

    def test_programs_start_reload_and_stop(self):
        coordinator = self.start("codeq-coordinator.service")
        self.wait_for("gateway serves HTTP")
        coordinator.send_signal(signal.SIGHUP)
        self.wait_for("has read tokens and certificates again")
        worker = self.start("codeq-worker@.service")
        task = self.run_ctl("enqueue", "upper", "text", "--tenant", "shop", "--token-file",
                            "ops.token")
        self.assertEqual("TEXT", self.run_ctl("result", task, "--wait", "20s", "--token-file",
                                              "ops.token"))
        backup = self.command_of("codeq-backup.service")
        self.assertIn("backup 1", self.run_ctl(*backup[1:]))
        for program in (worker, coordinator):
            program.terminate()
            self.assertEqual(0, program.wait(20))

    def test_units_are_valid(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        for unit in ("codeq-coordinator.service", "codeq-worker@.service", "codeq-backup.timer"):
            done = subprocess.run(["systemd-analyze", "verify", self.directory / unit], check=False,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual([], [line for line in done.stderr.splitlines() if "codeq" in line])


class Named(unittest.TestCase):
    def help_of(self, *command):
        """Help texts of a program and of all its commands."""
        done = subprocess.run([str(word) for word in (*command, "--help")], capture_output=True,
                              text=True, timeout=30, check=True)
        yield done.stdout
        below = done.stdout.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        for name in re.findall(r"^  ([a-z-]+)", below, re.MULTILINE):
            yield from self.help_of(*command, name)

    def test_options_exist(self):
        programs = [name for name in PROGRAMS if (BIN / name).exists()]
        commands = [BIN / name for name in programs] + [SOURCE / "tests" / "run.sh"]
        known = {option for command in commands for text in self.help_of(command)
                 for option in re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.MULTILINE)}
        for guide in (*guides.GUIDES, *TABLES):
            if guide == "bench/README.md" and "codeq-bench" not in programs:
                continue
            text = (SOURCE / guide).read_text()
            spans = re.findall(r"`([^`\n]+)`", guides.prose(text))
            lines = guides.commands(text)
            for block in guides.blocks(text):
                if block.language in ("text", "ini"):
                    lines += block.text.replace("\\\n", " ").splitlines()
            spans += [line for line in lines if re.search(r"codeq-?[a-z]+ ", line)]
            for span in spans:
                if re.match(r"(cmake|curl|etcdctl|ninja|openssl|python3|systemctl|bench/)", span):
                    continue
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span):
                    self.assertIn(option, known, f"{guide}: {span}")


if __name__ == "__main__":
    unittest.main()
