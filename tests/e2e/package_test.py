# SPDX-License-Identifier: Apache-2.0
"""The files installed by `cmake --install` are sufficient: the examples build against them outside
of the source tree, and each runs. A handler that is a function needs no other library."""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import unittest

import cluster

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SANITIZER_LIBRARIES = {"libasan", "libtsan", "libubsan", "libpthread"}
GREETINGS = re.search(r"^```cmake CMakeLists.txt\n(.*?)^```$",
                      (SOURCE / "worker" / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]


WRONG_HANDLERS = """
#include "codeq/actor_handler.hpp"

struct plain {};

void register_all(codeq::handler_registry& to) {
  using text = std::string;
  to.handle("q", [](int) { return 1; });
  to.handle_batch("q", 5, [](const codeq::task&) { return codeq::outcome::completed(); });
  to.handle<text, text>("q", [](int*) { return text(); });
  to.handle<text, text>("q", [](const text&) { return 1.5; });
  to.handle<plain>("q", [](const plain&) {});
  to.handle_actor("q", [](int) { return 1; });
  to.handle_keyed("q", [](codeq::handler_actor::pointer) { return 1; });
}
"""
SPECS = """
#include "codeq/coordinator_node.hpp"
#include "codeq/operator.hpp"
#include "codeq/producer.hpp"
#include "codeq/schedule.hpp"
#include "codeq/worker_node.hpp"

void take(const codeq::task_spec&, const codeq::producer_options&, const codeq::operator_options&,
          const codeq::worker_node_options&, const codeq::coordinator_node_options&,
          const codeq::schedule_spec&, const codeq::restore_options&);

void give() {
  take({.queue = "q"}, {.name = "p"}, {.timeout = codeq::duration{1}}, {.name = "w"},
       {.http = "127.0.0.1:0"}, {.rule = "1h"}, {.directory = "store"});
}
"""
# Each of these would be a task without a payload, in a queue of that name, of a tenant `mail`.
UNNAMED = ('(void)to.enqueue(codeq::task_spec{"mail", "hello"});',
           '(void)to.enqueue({"mail", "hello"});',
           '(void)to.enqueue({{"mail", "hello"}, {"mail", "ahoy"}});')
NAMED = """
#include "codeq/producer.hpp"

// Naming costs no space.
static_assert(__builtin_offsetof(codeq::task_spec, tenant) == 0);

void add(codeq::producer& to) {
  (void)to.enqueue({.queue = "mail", .payload = "hello"});
  (void)to.enqueue({{.queue = "mail"}, {.tenant = "shop", .queue = "mail"}});
  %s
}
"""


def run(*command, **options):
    """Runs a program and returns its output; prints the output when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}\n"
                             f"{done.stderr[-4000:]}")
    return done.stdout


class PartBuild(cluster.ClusterTest):
    def test_build_without_all_files_is_refused_before_anything_is_installed(self):
        build, prefix = self.cluster.path("part"), self.cluster.path("installed")
        run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, "-DCODEQ_TESTS=OFF",
            "-DCODEQ_BENCH=OFF")

        for component, file in (((), "libcodeq_testkit.so"),
                                (("--component", "programs"), "codeq-worker")):
            with self.assertRaisesRegex(AssertionError, "not built:(?s:.*)/" + file):
                run("cmake", "--install", build, "--prefix", prefix, *component)
            self.assertFalse(prefix.exists())

    def test_programs_are_installed_alone(self):
        prefix = self.cluster.path("installed")
        run("cmake", "--install", cluster.BUILD, "--prefix", prefix, "--component", "programs")

        found = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*")
                       if path.is_file())
        self.assertEqual(["bin/codeq-coordinator", "bin/codeq-worker", "bin/codeqctl",
                          "lib/libcodeq_handler.so", "share/doc/codeq/LICENSE"], found)
        for program in found[:3]:
            self.assertIn("--help", run(prefix / program, "--help"))


class Package(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.cluster.path("installed")
        run("cmake", "--install", cluster.BUILD, "--prefix", self.prefix)
        self.examples = self.cluster.path("examples")
        # Outside of the source tree, so that no file of it can be found by accident.
        shutil.copytree(SOURCE / "examples", self.examples)
        self.build = self.cluster.path("build")

    def configure(self, source, *options):
        flags = f"-fsanitize={cluster.SANITIZERS} -fno-sanitize=null" if cluster.SANITIZERS else ""
        return run("cmake", "-G", "Ninja", "-S", source, "-B", self.build,
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug",
                   f"-DCMAKE_CXX_FLAGS={flags}", *options)

    def test_license_and_guides_come_with_it(self):
        documents = self.prefix / "share" / "doc" / "codeq"
        for name in ("LICENSE", "README.md", "worker/README.md", "worker/OUTCOMES.md",
                     "coordinator/TASK_LIMITS.md", "schema/README.md"):
            self.assertEqual((SOURCE / name).read_bytes(), (documents / name).read_bytes(), name)

    def use_installed_programs(self):
        for name in ("codeq-coordinator", "codeq-worker", "codeqctl"):
            self.assertTrue((self.prefix / "bin" / name).exists(), name)
        self.addCleanup(setattr, cluster, "BIN", cluster.BIN)
        cluster.BIN = self.prefix / "bin"

    def test_examples_build_against_it_and_each_runs(self):
        self.configure(self.examples)
        run("ninja", "-C", self.build, "-j2")
        run("ctest", "--test-dir", self.build, "--output-on-failure", "--no-tests=error")
        self.use_installed_programs()
        self.cluster.start_coordinator()
        libraries = [self.build / f"lib{name}.so"
                     for name in ("hello", "wordcount", "audit", "mailer", "account", "ledger",
                                  "orders")]
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
        self.assertEqual(self.place_order("3 4"), (0, "7\n", ""))
        self.assertEqual(self.place_order(""),
                         (1, "", "place_order: not_completed: the task is dead: "
                          "field `prices` is empty\n"))

    def place_order(self, prices):
        """Exit status, output and errors of the typed producer."""
        program = self.build / "bin" / "examples" / "place_order"
        done = subprocess.run([program, self.cluster.address, "Ada"], input=prices, text=True,
                              capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def libraries_of(self, file):
        """The shared libraries that a file names."""
        found = run("readelf", "--dynamic", "--wide", file)
        return set(re.findall(r"\(NEEDED\).*\[(lib[\w+-]+)\.so", found))

    def write_project(self, lists):
        """A project with the sources of two examples and that CMakeLists.txt: its folder."""
        project = self.cluster.path("greetings")
        for example in ("hello", "orders"):
            shutil.copytree(SOURCE / "examples" / example, project, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("CMakeLists.txt"))
        (project / "CMakeLists.txt").write_text(lists)
        return project

    def test_project_of_the_guide_builds(self):
        self.configure(self.write_project(GREETINGS))

        run("ninja", "-C", self.build, "-j2")

        run(self.build / "greetings_test")
        self.assertTrue((self.build / "liborders.so").exists())
        self.assertTrue((self.build / "place_order").exists())

    def test_handler_that_is_a_function_links_without_caf(self):
        project = self.write_project(GREETINGS[:GREETINGS.index("add_library(orders")].replace(
            "COMPONENTS handler json_codec codeq testing", "COMPONENTS handler testing"))

        # As on a machine that has neither CAF nor Boost.
        self.configure(project, "-DCMAKE_DISABLE_FIND_PACKAGE_CAF=ON",
                       "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON")
        run("ninja", "-C", self.build, "-v", "-j2")

        run(self.build / "greetings_test")
        own = {"libcodeq_handler", "libstdc++", "libgcc_s", "libm", "libc"}
        self.assertIn("libcodeq_handler", self.libraries_of(self.build / "libgreetings.so"))
        for file in (self.build / "libgreetings.so", self.prefix / "lib" / "libcodeq_handler.so"):
            found = self.libraries_of(file) - SANITIZER_LIBRARIES
            self.assertLessEqual(found, own, file)
        headers = run("g++", "-std=c++20", "-M", f"-I{self.prefix}/include",
                      project / "hello.cpp").split()
        self.assertTrue(any(name.endswith("codeq/handler.hpp") for name in headers))
        self.assertEqual([name for name in headers if re.search("/(caf|boost)/", name)], [])

    def test_handler_that_is_a_function_compiles_in_under_three_seconds(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("g++", "-std=c++20", "-O2", "-g", "-fPIC", "-c", f"-I{self.prefix}/include",
            SOURCE / "examples" / "hello" / "hello.cpp", "-o", self.cluster.path("hello.o"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)

        # Processor time, which other load on the machine changes least.
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)

    def test_wrong_handlers_are_explained_to_their_author(self):
        source = self.cluster.path("wrong.cpp")
        source.write_text(WRONG_HANDLERS)
        done = subprocess.run(
            ["g++", "-std=c++20", "-fsyntax-only", f"-I{self.prefix}/include", source],
            capture_output=True, text=True, check=False)

        said = re.findall(r"error: static assertion failed: (.*)", done.stderr)
        for words in ("const codeq::task& that returns a codeq::outcome",
                      "span<const codeq::task> that returns a std::vector<codeq::outcome>",
                      "has to take the Input of handle<Input, Result>",
                      "has to return the Result of handle<Input, Result>",
                      "this type has no codeq::codec",
                      "the behavior of handle_actor has to be callable with",
                      "the behavior of handle_keyed has to be callable with"):
            self.assertTrue(any(words in text for text in said), f"{words}\n{done.stderr}")
        self.assertEqual(len(re.findall("error: ", done.stderr)), len(said), done.stderr)

    def test_specs_with_members_left_out_compile_without_warnings(self):
        source = self.cluster.path("specs.cpp")
        source.write_text(SPECS)
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
            f"-I{self.prefix}/include", source)

    def test_specs_without_names_do_not_compile(self):
        for wrong in ("", *UNNAMED):
            source = self.cluster.path("named.cpp")
            source.write_text(NAMED % wrong)
            done = subprocess.run(
                ["g++", "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof",
                 f"-I{self.prefix}/include", source],
                capture_output=True, text=True, check=False)
            self.assertEqual(bool(wrong), done.returncode != 0, f"{wrong}\n{done.stderr}")

    def test_component_whose_library_is_missing_is_named(self):
        project = self.cluster.path("actors")
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(actors CXX)\n"
            "find_package(codeq REQUIRED COMPONENTS actor_handler)\n")

        with self.assertRaisesRegex(AssertionError, "actor_handler"):
            self.configure(project, "-DCMAKE_DISABLE_FIND_PACKAGE_CAF=ON")


if __name__ == "__main__":
    unittest.main()
