# SPDX-License-Identifier: Apache-2.0
"""A disk that is really full: a small file system in a mount namespace of its own."""

import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import cluster  # noqa: E402
import harness  # noqa: E402
from cluster import wait_until  # noqa: E402

PAYLOAD = b"x" * 300_000
MEBIBYTE = 1 << 20


class SmallDisk:
    """A file system in memory that only programs started with `prefix` see under `path`."""

    def __init__(self, path, mebibytes):
        self.path = path
        path.mkdir()
        ready = path.parent / "disk.ready"
        script = (f"mount -t tmpfs -o size={mebibytes}m tmpfs {path} && touch {ready} "
                  "&& exec sleep 3600")
        self._holder = subprocess.Popen(["unshare", "-rm", "sh", "-c", script],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: ready.exists() or self._holder.poll() is not None, 10, "the mount")
        if self._holder.poll() is not None:
            why = self._holder.stderr.read().decode().strip()
            raise unittest.SkipTest(f"no file system of one's own may be mounted here: {why}")

    @property
    def prefix(self):
        return ["nsenter", "-t", str(self._holder.pid), "-U", "-m", "--preserve-credentials"]

    @property
    def _inside(self):
        """The mounted directory as seen from outside of the namespace."""
        return pathlib.Path("/proc", str(self._holder.pid), "root", *self.path.parts[1:])

    def grow(self, mebibytes):
        subprocess.run(
            [*self.prefix, "mount", "-o", f"remount,size={mebibytes}m", str(self.path)], check=True)

    def fill(self, leave_bytes):
        """Uses all space but `leave_bytes`; `free` releases it again."""
        free = os.statvfs(self._inside)
        take = free.f_bavail * free.f_frsize - leave_bytes
        (self._inside / "ballast").write_bytes(b"\0" * take)

    def fill_rest(self, leave_bytes):
        """Uses more space, if there is more than `leave_bytes` left."""
        free = os.statvfs(self._inside)
        with open(self._inside / "ballast", "ab") as ballast:
            ballast.write(b"\0" * max(0, free.f_bavail * free.f_frsize - leave_bytes))

    def remove(self, name):
        (self._inside / name).unlink()

    def free(self):
        (self._inside / "ballast").unlink()

    def close(self):
        self._holder.kill()
        self._holder.wait()
        self._holder.stderr.close()


class FullDisk(cluster.ClusterTest):
    def mount(self, mebibytes):
        try:
            self.disk = SmallDisk(self.cluster.path("disk"), mebibytes)
        except FileNotFoundError as missing:
            raise unittest.SkipTest(f"{missing.filename} is not installed") from missing
        self.addCleanup(self.disk.close)

    def launch(self, *options):
        """Starts a coordinator on the small disk; the start may fail."""
        port_file = self.cluster.path("port")
        port_file.unlink(missing_ok=True)
        self.cluster.coordinator = self.cluster.start("coordinator", [
            *self.disk.prefix, cluster.BIN / "codeq-coordinator", "--dev", "--data",
            self.disk.path / "store", "--listen", self.cluster.address, "--port-file", port_file,
            *options])
        wait_until(lambda: port_file.exists() and port_file.read_text().strip()
                   or not self.cluster.coordinator.is_running(), 20, "it listens or ends")
        if self.cluster.coordinator.is_running():
            self.cluster.port = int(port_file.read_text())

    def enqueue_until_refused(self):
        """Adds large tasks until one is refused; returns the acknowledged ones."""
        tasks = []
        while len(tasks) < 1000:
            done = self.cluster.try_ctl("enqueue", "echo", "-", "--timeout", "2s", payload=PAYLOAD)
            if done.returncode != 0:
                return tasks
            tasks.append(done.stdout.decode().strip())
        raise AssertionError("the disk is never full")

    def check_stop(self, *options):
        self.mount(24)
        self.launch("--free-bytes", "0", *options)
        tasks = self.enqueue_until_refused()
        self.assertGreater(len(tasks), 15)

        # It stops with an error that says what to do.
        self.assertNotEqual(self.cluster.coordinator.popen.wait(10), 0)
        said = self.cluster.coordinator.text()
        self.assertIn("No space left on device", said)
        self.assertIn("stops at once", said)
        self.assertIn("advice=", said)

        # Nothing is lost, neither by a start without space nor by one with space.
        self.launch("--free-bytes", "0", *options)
        if self.cluster.coordinator.is_running():
            self.cluster.coordinator.kill()
        self.disk.grow(200)
        self.launch("--free-bytes", "0", *options)
        self.assertTrue(self.cluster.coordinator.is_running(), said)
        self.cluster.start_worker("w")
        for task in tasks:
            self.assertEqual(len(self.cluster.result(task)), len(PAYLOAD))
        print(harness.report({"acknowledged tasks that outlived it": len(tasks)}, "full disk:"))

    def test_in_sync_it_stops_loudly_and_loses_nothing(self):
        self.check_stop("--durability", "sync")

    def test_in_os_it_stops_loudly_and_loses_nothing(self):
        self.check_stop("--durability", "os")

    def test_low_space_refuses_tasks_while_claims_and_results_go_on(self):
        self.mount(128)
        self.launch("--free-bytes", str(48 * MEBIBYTE))
        tasks = [self.cluster.enqueue("echo", "x" * 10_000) for _ in range(20)]
        self.disk.fill(leave_bytes=40 * MEBIBYTE)

        # The coordinator checks the space once a second.
        refusal = wait_until(self.refusal, 10, "a refusal")
        self.assertIn("disk_full", refusal)
        self.assertIn(str(48 * MEBIBYTE), refusal)
        self.cluster.start_worker("w")
        for task in tasks:
            self.assertEqual(self.cluster.result(task), "x" * 10_000)
        self.assertIn("disk_full", self.refusal())

        self.disk.free()
        # Each shard checks the space itself.
        task = wait_until(self.accepted, 10, "tasks are taken again")
        self.assertEqual(self.cluster.result(task), "again")

    def test_full_disk_is_served_and_purged_while_large_results_wait(self):
        self.mount(288)
        options = ["--free-bytes", str(128 * MEBIBYTE)]
        self.launch(*options)
        large = [self.cluster.enqueue("large", "x") for _ in range(80)]
        small = [self.cluster.enqueue("small", "x", "--max-attempts", "50") for _ in range(10)]
        kept = self.cluster.enqueue("waits", "y" * 1000)
        self.disk.fill(leave_bytes=48 * MEBIBYTE)
        wait_until(self.refusal, 10, "a refusal")
        self.cluster.start_worker(
            "w", "--slots", "8", "--exec", "large=head -c 1000000 /dev/urandom", handlers=())

        # The results of eight slots fit into the space that the coordinator leaves them.
        coordinator = self.cluster.coordinator
        wait_until(lambda: "hands no tasks out" in coordinator.text()
                   or not coordinator.is_running(), 20, "claims pause or the coordinator ends")
        self.assertTrue(coordinator.is_running(), coordinator.text()[-2000:])
        time.sleep(4)
        self.assertTrue(coordinator.is_running(), coordinator.text()[-2000:])
        self.assertEqual(self.cluster.status(kept)["state"], "ready")
        ended = [task for task in large if self.cluster.status(task)["state"] == "completed"]
        self.assertLess(len(ended), len(large))

        # A coordinator started without space serves requests, too, and reads the stored tasks. If a
        # flush has used up the reserve before, the start uses the reserve's space.
        has_reserve = "disk reserve is given up" not in coordinator.text()
        coordinator.terminate(10)
        self.disk.fill_rest(leave_bytes=0 if has_reserve else 48 * MEBIBYTE)
        self.launch(*options)
        self.assertTrue(self.cluster.coordinator.is_running(), self.cluster.coordinator.text())
        self.assertIn("disk reserve is given up", self.cluster.coordinator.text())
        self.assertEqual(len(self.cluster.try_ctl("result", ended[0]).stdout), 1_000_000)
        self.cluster.ctl("cancel", small[0])
        self.cluster.ctl("queue", "purge", "waits", "--yes")
        self.assertTrue(self.cluster.coordinator.is_running(), self.cluster.coordinator.text())

        # With free space everything works again.
        self.disk.free()
        wait_until(self.accepted, 20, "tasks are taken again")
        for task in large:
            wait_until(lambda: self.cluster.status(task)["state"] == "completed", 60, "the end")
        print(harness.report({"large results before the disk was full": len(ended)}, "full disk:"))

    def purge_makes_space(self):
        self.cluster.ctl("queue", "purge", "echo", "--yes")

        def has_freed():
            return re.search(r"store has freed space free=\d{8,} left_out=0",
                             self.cluster.coordinator.text())

        wait_until(has_freed, 40, "the space of all purged tasks is freed")
        wait_until(self.accepted, 40, "tasks are taken again")
        self.assertIn("store frees the space of purged tasks", self.cluster.coordinator.text())

    def test_purge_has_the_space_of_the_reserve(self):
        self.mount(192)
        self.launch("--free-bytes", str(20 * MEBIBYTE))
        # Some of them are in memory only, and in the log.
        for _ in range(150):
            self.cluster.ctl("enqueue", "echo", "-", payload=PAYLOAD)
        # Too much for the reserve to be given up, and less than is needed to write a file.
        self.disk.fill(leave_bytes=18 * MEBIBYTE)
        self.assertIn("disk_full", wait_until(self.refusal, 10, "a refusal"))
        self.assertNotIn("disk reserve is given up", self.cluster.coordinator.text())

        self.purge_makes_space()

        self.assertIn("disk reserve is lent to the purge", self.cluster.coordinator.text())

    def test_purge_has_space_where_there_is_none_for_a_reserve(self):
        self.mount(90)
        self.launch("--free-bytes", str(8 * MEBIBYTE))
        tasks = self.enqueue_until_refused()
        self.assertGreater(len(tasks), 15)
        self.assertIn("a purge needs some without a reserve", self.refusal())

        self.purge_makes_space()

    def test_start_without_space_and_reserve_ends_with_an_error_that_says_what_to_do(self):
        self.mount(200)
        self.launch("--free-bytes", "0")
        tasks = [self.cluster.enqueue("echo", "x" * 100_000) for _ in range(40)]
        self.cluster.coordinator.kill()
        self.disk.remove("store/reserve")
        self.disk.fill(leave_bytes=0)

        self.launch("--free-bytes", "0")

        self.assertFalse(self.cluster.coordinator.is_running())
        self.assertEqual(self.cluster.coordinator.popen.wait(10), 1)
        said = self.cluster.coordinator.text()
        self.assertIn("disk_full", said)
        self.assertIn("free space on the disk", said)

        # Nothing is lost.
        self.disk.free()
        self.launch("--free-bytes", "0")
        self.cluster.start_worker("w")
        for task in tasks:
            self.assertEqual(len(self.cluster.result(task)), 100_000)

    def refusal(self):
        """The error of an enqueue that is refused; empty when it is accepted."""
        return self.cluster.try_ctl("enqueue", "echo", "-", payload=b"x").stderr.decode()

    def accepted(self):
        """The id of an accepted task; empty when it is refused."""
        answer = self.cluster.try_ctl("enqueue", "echo", "-", payload=b"again")
        return answer.stdout.decode().strip()


if __name__ == "__main__":
    unittest.main()
