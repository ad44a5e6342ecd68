# SPDX-License-Identifier: Apache-2.0
"""The files installed by `cmake --install` are sufficient: the examples build against them outside
of the source tree, and each runs."""

import os
import pathlib
import shutil
import subprocess
import unittest

import cluster

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    """Runs a program and returns its output; prints the output when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}\n"
                             f"{done.stderr[-4000:]}")
    return done.stdout


class Package(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.cluster.path("installed")
        run("cmake", "--install", cluster.BUILD, "--prefix", self.prefix)
        self.examples = self.cluster.path("examples")
        # Outside of the source tree, so that no file of it can be found by accident.
        shutil.copytree(SOURCE / "examples", self.examples)
        self.build = self.cluster.path("build")

    def use_installed_programs(self):
        for name in ("codeq-coordinator", "codeq-worker", "codeqctl"):
            self.assertTrue((self.prefix / "bin" / name).exists(), name)
        self.addCleanup(setattr, cluster, "BIN", cluster.BIN)
        cluster.BIN = self.prefix / "bin"

    def test_examples_build_against_it_and_each_runs(self):
        flags = f"-fsanitize={cluster.SANITIZERS} -fno-sanitize=null" if cluster.SANITIZERS else ""
        run("cmake", "-G", "Ninja", "-S", self.examples, "-B", self.build,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug",
            f"-DCMAKE_CXX_FLAGS={flags}")
        run("ninja", "-C", self.build, "-j2")
        run("ctest", "--test-dir", self.build, "--output-on-failure", "--no-tests=error")
        self.use_installed_programs()
        self.cluster.start_coordinator()
        libraries = [self.build / f"lib{name}.so"
                     for name in ("hello", "wordcount", "audit", "mailer", "account", "ledger")]
        os.environ.update({
            "CODEQ_AUDIT_FILE": str(self.cluster.path("audit.log")),
            "CODEQ_ACCOUNT_DIR": str(self.cluster.directory),
            "CODEQ_LEDGER": str(self.cluster.path("ledger.db"))})
        self.cluster.start_worker("w", handlers=libraries)

        done = {
            "hello": self.cluster.enqueue("hello", "Ada"),
            "mail": self.cluster.enqueue("mail", "Ada"),
            "account": self.cluster.enqueue("account", "5", "--group", "ada"),
            "ledger": self.cluster.enqueue("ledger", "bob", "--group", "a"),
            "audit": self.cluster.enqueue("audit", "Ada came")}

        self.assertEqual(self.cluster.result(done["hello"]), "hello Ada")
        self.assertEqual(self.cluster.result(done["mail"]), "delivered to Ada")
        self.assertEqual(self.cluster.result(done["account"]), "5")
        self.assertEqual(self.cluster.result(done["ledger"]), "")
        self.assertEqual(self.cluster.result(done["audit"]), "")
        self.assertIn("Ada came", self.cluster.path("audit.log").read_text())
        counted = run(self.build / "bin" / "examples" / "count_files", self.cluster.address,
                      input=str(self.examples / "README.md") + "\n")
        self.assertIn("1 completed", counted)


if __name__ == "__main__":
    unittest.main()
