# SPDX-License-Identifier: Apache-2.0
"""Help texts of the programs, and one clear line when they cannot start."""

import os
import pathlib
import re
import subprocess
import unittest

import cluster
from cluster import BIN, HANDLERS, OTHER_ABI, wait_until

_OPTIONS = {
    "codeq-coordinator": ["data", "listen", "shards", "durability", "dev", "config", "port-file",
                          "log-level"],
    "codeq-worker": ["coordinator", "name", "handlers", "exec", "slots", "prefetch", "drain",
                     "config", "log-level"],
    "codeqctl": ["coordinator", "json", "timeout"],
}


NAMES = pathlib.Path(__file__).parents[2] / "libcodeq/src/config/environment_names.cpp"


def run(*command, environment=None):
    """Runs a program to its end, without the variable of the tests themselves."""
    own = {name: value for name, value in os.environ.items() if name != "CODEQ_BUILD"}
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=False,
                          env={**own, **(environment or {})})


class HelpText(unittest.TestCase):
    def blocks(self, *command):
        """The help text of each option, by its name."""
        done = run(*command)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        parts = re.split(r"^ +(?:-\w,)?--([a-z-]+)", done.stdout, flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2]))

    def check(self, blocks):
        for name, text in blocks.items():
            if name in ("help", "version", "config"):
                continue
            text = " ".join(text.split())
            self.assertTrue("[default: " in text or "REQUIRED" in text.upper(), f"{name}: {text}")

    def test_every_option_has_its_default(self):
        for program, options in _OPTIONS.items():
            blocks = self.blocks(BIN / program, "--help")
            self.assertEqual([name for name in options if name not in blocks], [], program)
            self.check(blocks)

    def test_every_option_of_a_command_has_its_default(self):
        for command in ("enqueue", "get", "result", "stats", "list", "explain", "events", "cancel",
                        "purge", "dead list", "dead redrive", "queue set", "queue show",
                        "queue stats", "queue purge", "dead purge", "tenant purge", "force revoke",
                        "force fail", "workers", "backup", "backups", "restore"):
            self.check(self.blocks(BIN / "codeqctl", *command.split(), "--help"))

    def test_durability_is_said_plainly(self):
        text = " ".join(run(BIN / "codeq-coordinator", "--help").stdout.split())
        self.assertIn("power cut", text)


class Refusal(cluster.ClusterTest):
    def refused(self, *command, names, environment=None):
        """Checks that the program ends with an error and one line that names what is wrong."""
        done = run(*command, environment=environment)
        self.assertNotEqual(done.returncode, 0, command)
        # There may be log lines before; the last line is the error for people.
        lines = done.stderr.strip().splitlines()
        self.assertTrue(lines, command)
        self.assertIn(names, lines[-1])
        return lines

    def coordinator(self, *options, **rest):
        return self.refused(BIN / "codeq-coordinator", *options, **rest)

    def worker(self, *options, **rest):
        return self.refused(BIN / "codeq-worker", *options, **rest)

    def test_wrong_options_are_named_in_one_line(self):
        data = self.cluster.path("store")
        for lines in (
                self.coordinator("--dev", "--data", data, "--shard", "3", names="--shard"),
                self.coordinator("--dev", "--data", data, "--shards", "0", names="shards"),
                self.coordinator("--dev", names="data"),
                self.coordinator("--dev", "--data", data, "--listen", "192.0.2.1:7400",
                                 names="192.0.2.1"),
                self.coordinator("--dev", "--data", data, names="SHARDS",
                                 environment={"CODEQ_SHARDS": "many"}),
                self.worker("--handlers", HANDLERS, "--slots", "x", names="slots"),
                self.worker("--exec", "no-command", names="no-command"),
                self.refused(BIN / "codeqctl", "dance", names="`dance`")):
            self.assertEqual(len(lines), 1, lines)

    def test_variables_of_all_options_are_known(self):
        """Each option's variable is known to all programs, which may share an environment."""
        for program in ("codeq-coordinator", "codeq-worker", "codeqctl"):
            options = re.findall(r"^  (?:-\w,)?--([a-z-]+)", run(BIN / program, "--help").stdout,
                                 re.MULTILINE)
            names = {"CODEQ_" + option.upper().replace("-", "_") for option in options}
            names -= {"CODEQ_HELP", "CODEQ_VERSION"}
            source = NAMES.read_text()
            self.assertEqual([name for name in sorted(names) if f'"{name}"' not in source], [])

    def test_misspelt_variable_is_named_with_the_one_that_is_meant(self):
        environment = {"CODEQ_LOGLEVEL": "debug", "CODEQ_LEDGER": "of a handler"}
        ctl = run(BIN / "codeqctl", "--coordinator", "127.0.0.1:1", "--timeout", "1s", "stats",
                  environment=environment).stderr
        self.assertIn("CODEQ_LOGLEVEL is ignored; did you mean CODEQ_LOG_LEVEL?", ctl)
        self.assertNotIn("CODEQ_LEDGER", ctl)
        lines = self.worker("--coordinator", "127.0.0.1:1", "--exec", "q=/no/program",
                            names="/no/program", environment=environment)
        self.assertIn("ignores an unknown variable name=CODEQ_LOGLEVEL meant=CODEQ_LOG_LEVEL",
                      "\n".join(lines))

    def test_shell_in_a_program_is_refused_with_a_hint(self):
        for command in ("q=ls; wc", "q=ls | wc"):
            self.worker("--coordinator", "127.0.0.1:1", "--exec", command, names="sh -c")

    def test_data_directory_that_cannot_be_written(self):
        lines = self.coordinator("--dev", "--data", "/proc/store", "--listen", "127.0.0.1:0",
                                 names="/proc/store")
        self.assertEqual(len(lines), 1, lines)

    def test_data_directory_that_a_restart_does_not_create(self):
        file = self.cluster.path("file")
        file.write_text("no store")
        start = ("--dev", "--listen", "127.0.0.1:0", "--data")
        parent = self.cluster.path("mistyped")
        for wrong, why in ((file, "it is no directory"), (file / "store", "there is no directory"),
                           (parent / "store", f"there is no directory {parent}, and only")):
            with self.subTest(str(wrong)):
                done = run(BIN / "codeq-coordinator", *start, wrong)
                self.assertEqual(2, done.returncode)
                self.assertIn(f"--data is {wrong}: {why}", done.stderr)
        self.assertFalse(parent.exists())

    def test_incomplete_store_is_named_with_the_next_step(self):
        store = self.cluster.path("store")
        self.cluster.start_coordinator()
        self.cluster.coordinator.terminate(5)
        (store / "CURRENT").unlink()

        done = run(BIN / "codeq-coordinator", "--dev", "--data", store, "--listen", "127.0.0.1:0")
        verified = self.cluster.try_ctl("verify", store)

        self.assertEqual(2, done.returncode)
        self.assertIn("its file CURRENT is missing; the store is damaged", done.stderr)
        self.assertIn("restore the newest backup", done.stderr)
        self.assertEqual(2, verified.returncode)
        self.assertIn("parts of a store, but its file CURRENT is missing",
                      verified.stderr.decode())

    def test_port_file_that_cannot_be_created_ends_the_start_for_good(self):
        done = run(BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("store"),
                   "--listen", "127.0.0.1:0", "--port-file", self.cluster.path("none") / "port")

        self.assertEqual(2, done.returncode)
        self.assertIn("cannot be created", done.stderr)

    def test_file_that_is_missing_is_named_with_its_option(self):
        start = ("--data", self.cluster.path("store"), "--listen", "127.0.0.1:0")
        self.coordinator(*start, "--tokens", "/no/tokens", names="--tokens /no/tokens: cannot")
        self.coordinator(*start, "--dev", "--http", "127.0.0.1:0", "--webhook-secret-file",
                         "/no/secret", names="--webhook-secret-file /no/secret: cannot")

    def test_port_in_use(self):
        self.cluster.start_coordinator()
        self.coordinator("--dev", "--data", self.cluster.path("other"),
                         "--listen", self.cluster.address, names=str(self.cluster.port))

    def test_port_of_the_gateway_in_use(self):
        self.cluster.start_coordinator()
        lines = self.coordinator(
            "--dev", "--data", self.cluster.path("other"), "--listen", "127.0.0.1:0", "--http",
            self.cluster.address, "--log-level", "warn", names=str(self.cluster.port))
        self.assertEqual(len(lines), 1, lines)

    def test_new_store_is_logged_once(self):
        said = f"store is new and has no tasks directory={self.cluster.path('store')} shards="
        for times in (1, 1):
            self.cluster.start_coordinator("--log-level", "info")
            self.cluster.coordinator.terminate(5)
            self.assertEqual(self.cluster.coordinator.text().count(said), times)

    def test_recovery_of_the_shards_is_one_line_of_the_log(self):
        self.cluster.start_coordinator("--log-level", "info")
        lines = [line for line in self.cluster.coordinator.text().splitlines()
                 if "recover" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("store has recovered its shards shards=", lines[0])

    def test_store_in_use(self):
        self.cluster.start_coordinator()
        self.coordinator("--dev", "--data", self.cluster.path("store"),
                         "--listen", "127.0.0.1:0", names=str(self.cluster.path("store")))

    def test_other_number_of_shards(self):
        self.cluster.start_coordinator("--shards", "2")
        self.cluster.coordinator.terminate(5)
        self.coordinator("--dev", "--data", self.cluster.path("store"), "--shards", "3",
                         "--listen", "127.0.0.1:0", names="2")

    def test_handler_library_that_is_missing(self):
        missing = self.cluster.path("missing.so")
        self.worker("--coordinator", "127.0.0.1:1", "--handlers", missing, names=str(missing))

    def test_handler_library_of_another_codeq(self):
        self.worker("--coordinator", "127.0.0.1:1", "--handlers", OTHER_ABI, names="4000000")

    def test_program_that_is_missing(self):
        self.worker("--coordinator", "127.0.0.1:1", "--exec", "q=/no/such/program",
                    names="/no/such/program")

    def test_status_of_what_a_restart_does_not_mend(self):
        """systemd starts a worker that ends with another status again, for ever."""
        no_authority = self.cluster.path("ca.pem")
        no_authority.write_text("no certificate")
        for options in (("--exec", "q=true", "--token-file", "/no/token"),
                        ("--exec", "q=true", "--tls-ca", no_authority),
                        ("--exec", "q=true", "--queues", "p"),
                        ("--exec", "q=true", "--exec", "q=false"),
                        ("--exec", "q=no-such-program"), ("--handlers", OTHER_ABI)):
            done = run(BIN / "codeq-worker", "--coordinator", "127.0.0.1:1", *options)
            self.assertEqual(2, done.returncode, done.stderr)

    def test_no_coordinator_to_ask(self):
        task = "00000080-0000-0001-cd80-000000000000"
        for command in (["stats"], ["enqueue", "q", "x"], ["result", task, "--wait", "1s"]):
            lines = self.refused(BIN / "codeqctl", "--coordinator", "127.0.0.1:1", "--timeout",
                                 "1s", *command, names="no connection to 127.0.0.1:1")
            self.assertEqual(1, len(lines), lines)


class Streams(cluster.ClusterTest):
    """The programs with standard streams that are closed, full or pipes."""

    def first_descriptors(self, process):
        folder = f"/proc/{process.pid}/fd"
        return [os.readlink(f"{folder}/{number}") for number in range(3)]

    def test_closed_streams_never_become_files_of_the_store(self):
        shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        port_file = self.cluster.path("port")
        coordinator = self.cluster.start("coordinator", [
            *shell, BIN / "codeq-coordinator", "--dev", "--data", self.cluster.path("store"),
            "--listen", "127.0.0.1:0", "--port-file", port_file])
        self.cluster.port = int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 20, "it listens"))
        worker = self.cluster.start("w1", [
            *shell, BIN / "codeq-worker", "--coordinator", self.cluster.address,
            "--exec", "copy=cat"])

        task = self.cluster.enqueue("copy", "text")

        self.assertEqual(self.cluster.result(task), "text")
        for process in (coordinator, worker):
            self.assertEqual(self.first_descriptors(process), ["/dev/null"] * 3)

    def test_result_that_cannot_be_written_is_a_failure(self):
        self.cluster.start_coordinator()
        self.cluster.start_worker("w1", handlers=(HANDLERS,))
        task = self.cluster.enqueue("echo", "text")

        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [BIN / "codeqctl", "--coordinator", self.cluster.address, "result", task,
                 "--wait", "20s"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)

        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

    def test_ids_are_printed_before_the_wait(self):
        self.cluster.start_coordinator()
        with subprocess.Popen(
                [BIN / "codeqctl", "--coordinator", self.cluster.address, "enqueue", "nobody", "x",
                 "--wait", "1h"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
            task = waiting.stdout.readline().decode().strip()
            self.assertEqual(self.cluster.status(task)["state"], "ready")
            self.cluster.coordinator.terminate(5)
            waiting.terminate()
            # A coordinator that stops does not violate the protocol.
            self.assertNotIn(b"protocol_error", waiting.stderr.read())

    def test_exec_works_where_the_parent_ignores_its_children(self):
        self.cluster.start_coordinator()
        # A shell that ignores the signal passes that on to the program.
        self.cluster.start("w1", [
            "sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", BIN / "codeq-worker",
            "--coordinator", self.cluster.address, "--exec", "copy=cat"])

        self.assertEqual(self.cluster.result(self.cluster.enqueue("copy", "text")), "text")


if __name__ == "__main__":
    unittest.main()
