# SPDX-License-Identifier: Apache-2.0
"""Each rule finds its violations, and ignores text that only looks like one."""

import unittest

import contract
import folders
import guides
import hidden_names
import layer_table
import layering
import public_headers
import sizes
import tidy
import words
from finding import Source, bare_cpp

_SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def rules(check, path, text):
    return [finding.rule for finding in check(Source(path, text)) or []]


class PublicHeaders(unittest.TestCase):
    def test_they_are_few(self):
        headers = [Source(f"{public_headers.FOLDER}h{number}.hpp", "") for number in range(23)]

        self.assertEqual(list(public_headers.check_count(headers[:22])), [])
        self.assertEqual([f.rule for f in public_headers.check_count(headers)], ["public-headers"])

    def test_each_limit_has_a_reason(self):
        def problems(comment):
            text = f"{comment}inline constexpr std::size_t tasks_max = 10;\n"
            return len(rules(public_headers.check_limits, public_headers.LIMITS, text))

        self.assertEqual(problems("/// Maximum number of tasks. Each\n/// costs memory.\n"), 0)
        self.assertEqual(problems("/// Number of tasks, since each costs memory.\n"), 0)
        self.assertEqual(problems("/// Maximum number of tasks.\n"), 1)
        self.assertEqual(problems(""), 1)
        self.assertEqual(problems("/// Another one. It is above.\n\n"), 1)


    def test_guide_shows_the_abi(self):
        def problems(guide):
            sources = [Source(public_headers.HANDLER, "constexpr int handler_abi_version = 8;\n"),
                       Source(public_headers.GUIDE, guide)]
            return [finding.hint for finding in public_headers.check_abi(sources)]

        good = "## Handlers of ABI 7\n\nthis one has 8.\n\n| ABI 7 | ABI 8 |\n"
        self.assertEqual(problems(good), [])
        self.assertEqual(problems(good.replace("has 8", "has 7")), ["write: this one has 8."])
        self.assertEqual(len(problems("")), 3)


class Openings(unittest.TestCase):
    def found(self, *texts):
        sources = [Source(f"a{number}.hpp", text) for number, text in enumerate(texts)]
        return [finding.rule for finding in words.check_openings(sources)]

    def test_few_are_allowed(self):
        some = "  /// What it is.\n// Of them.\n" * 30
        self.assertEqual(self.found(some, "int a; // What it is.\n"), [])
        self.assertEqual(self.found(some, "/// Nobody has it.\n"), ["opening"])


class Layering(unittest.TestCase):
    def problems(self, path, include):
        return len(rules(layering.check, path, f"#include {include}\n"))

    def test_dependencies_point_down(self):
        self.assertEqual(self.problems("libcodeq/src/storage/a.cpp", '"core/event.hpp"'), 0)
        self.assertEqual(self.problems("libcodeq/src/core/a.cpp", '"storage/write_set.hpp"'), 1)
        self.assertEqual(self.problems("libcodeq/src/worker/a.cpp", '"coordinator/a.hpp"'), 1)
        self.assertEqual(self.problems("libcodeq/src/protocol/a.cpp", '"storage/a.hpp"'), 1)

    def test_libraries_keep_to_their_places(self):
        store = "libcodeq/src/storage/rocksdb/rocksdb_store.cpp"
        self.assertEqual(self.problems(store, "<rocksdb/db.h>"), 0)
        self.assertEqual(self.problems("libcodeq/src/node/a.cpp", "<rocksdb/db.h>"), 1)
        self.assertEqual(self.problems("libcodeq/src/core/a.cpp", "<caf/all.hpp>"), 1)
        public = "libcodeq/include/codeq/"
        self.assertEqual(self.problems(public + "actor_handler.hpp", "<caf/all.hpp>"), 0)
        self.assertEqual(self.problems(public + "handler.hpp", "<caf/all.hpp>"), 1)
        self.assertEqual(self.problems(public + "json_codec.hpp", "<boost/json.hpp>"), 0)
        self.assertEqual(self.problems(public + "codec.hpp", "<boost/json.hpp>"), 1)
        self.assertEqual(self.problems("libcodeq/src/core/a.hpp", "<protocol.capnp.h>"), 1)

    def test_core_is_pure_and_examples_see_public_headers(self):
        self.assertEqual(self.problems("libcodeq/src/core/a.cpp", "<random>"), 1)
        self.assertEqual(self.problems("libcodeq/src/core/a.cpp", "<vector>"), 0)
        self.assertEqual(self.problems("examples/a/a.cpp", '"codeq/handler.hpp"'), 0)
        self.assertEqual(self.problems("examples/a/a.cpp", '"core/turn.hpp"'), 1)

    def test_what_decides_is_told_the_time(self):
        late = "auto now = std::chrono::steady_clock::now();\n"
        for path, found in (("core/state/a.cpp", 1), ("coordinator/shard/a.cpp", 1),
                            ("transport/a.cpp", 0)):
            self.assertEqual(
                len(rules(layering.check, "libcodeq/src/" + path, late)), found, path)

    def test_what_is_driven_sees_no_actors(self):
        for path in ("coordinator/shard/a.cpp", "coordinator/store/a.hpp", "worker/node/a.cpp",
                     "http/claims/a.cpp"):
            for include in ("<caf/actor.hpp>", '"observe/log.hpp"', "<thread>"):
                self.assertEqual(self.problems("libcodeq/src/" + path, include), 1, path)
        self.assertEqual(
            self.problems("libcodeq/src/worker/node/a.cpp", '"codeq/actor_handler.hpp"'), 1)
        self.assertEqual(
            self.problems("libcodeq/src/worker/node/a.cpp", '"codeq/handler.hpp"'), 0)
        self.assertEqual(self.problems("libcodeq/src/worker/host/a.cpp", "<caf/send.hpp>"), 0)

    def test_rooms_of_a_layer_have_an_order(self):
        self.assertEqual(self.problems("libcodeq/src/core/turn/a.cpp", '"core/state/b.hpp"'), 0)
        self.assertEqual(self.problems("libcodeq/src/core/state/a.cpp", '"core/turn/b.hpp"'), 1)
        self.assertEqual(self.problems("libcodeq/src/core/new/a.cpp", '"core/turn/b.hpp"'), 1)
        self.assertEqual(
            self.problems("libcodeq/src/storage/task_store.hpp", '"storage/keys/b.hpp"'), 1)


class LayerTable(unittest.TestCase):
    def test_readme_shows_the_rules(self):
        head, end = layer_table._BEGIN, layer_table._END
        shown = head + layer_table.make_table([layer_table.README]) + end
        for text, found in ((shown, 0), (head + "| old |\n" + end, 1), ("nothing\n", 1)):
            readme = Source(layer_table.README, text)
            self.assertEqual(len(list(layer_table.check([readme]))), found)

    def test_levels_follow_from_what_a_layer_includes(self):
        self.assertEqual(layer_table.level_of("base"), 0)
        self.assertGreater(layer_table.level_of("node"), layer_table.level_of("http"))

    def test_folders_with_too_many_sources_are_found(self):
        many = [Source(f"a/{number}.cpp", "") for number in range(folders.SOURCES_MAX + 1)]
        self.assertEqual(len(list(folders.check_folder_sizes(many))), 1)
        self.assertEqual(len(list(folders.check_folder_sizes(many[1:]))), 0)


class HiddenNames(unittest.TestCase):
    def found(self, source):
        header = Source("libcodeq/src/core/a.hpp", "void append(std::string& to, long n);\n"
                        "struct part {\n  int size() const;\n};\n")
        return list(hidden_names.check([header, Source("libcodeq/src/core/b.cpp", source)]))

    def test_names_that_hide_others_of_the_layer_are_found(self):
        for hidden in ("void append(key& to, int n) {", "append(key& to, int n) {", "struct part {",
                       "constexpr int append = 3;"):
            found = self.found(f"namespace {{\n{hidden}\n}} // namespace\n")
            self.assertEqual(1, len(found), hidden)

    def test_definitions_and_members_hide_nothing(self):
        self.assertEqual([], self.found("void append(std::string& to, long n) {\n}\n"))
        self.assertEqual([], self.found(
            "namespace {\n\nstruct other {\n  int size() const;\n};\n\n} // namespace\n"))


class Sizes(unittest.TestCase):
    def functions(self, text):
        return rules(sizes.check_functions, "a.cpp", text)

    def test_long_functions_are_found(self):
        body = "  x();\n"
        self.assertEqual(self.functions("void f() {\n" + body * 68 + "}\n"), [])
        self.assertEqual(self.functions("void f() {\n" + body * 69 + "}\n"), ["function-lines"])

    def test_long_scopes_are_no_functions(self):
        for head in ("namespace a {", "class a : public b<c> {", 'extern "C" {',
                     "MARK(a::b)\nMARK(c)\nnamespace d {", "constexpr std::array<int, 3> a = {"):
            self.assertEqual(self.functions(head + "\n" * 100 + "}\n"), [], head)

    def test_parameters_are_counted_outside_templates(self):
        self.assertEqual(self.functions("void f(int a, map<int, int> b, int c, int d, int e) {}"),
                         [])
        self.assertEqual(self.functions("void f(int a, int b, int c, int d, int e, int g) {}"),
                         ["parameters"])
        many = "int f(int a, int b, int c, int d, int e, int g) override {}"
        self.assertEqual(self.functions(many), [])

    def test_nesting_is_counted_through_lambdas(self):
        three = "void f() { if (a) { for (;;) { g([&] { x(); while (b) { %s } }); } } }"
        self.assertEqual(self.functions(three % "c();"), [])
        self.assertEqual(self.functions(three % "if (c) { d(); }"), ["nesting"])

    def test_braces_in_texts_and_comments_do_not_count(self):
        self.assertEqual(bare_cpp("a('{'); // {\nb(\"}\"); 1'000'000;").count("{"), 0)

    def test_files_and_columns_have_limits(self):
        self.assertEqual(rules(sizes.check_file, "a.hpp", "x\n" * 601), ["file-lines"])
        self.assertEqual(rules(sizes.check_file, "a.cpp", "x\n" * 600), [])
        self.assertEqual(rules(sizes.check_file, "a.cpp", "x" * 101), ["columns"])
        self.assertEqual(rules(sizes.check_file, "a/README.md", "x\n" * 41), ["readme-lines"])


class Words(unittest.TestCase):
    def test_text_rules(self):
        cases = {
            "// FIXME later": "fixme", "// TODO: this": "todo", "// -------": "banner",
            "// return 1;": "commented-code", "// see issue 12": "issue-number",
            "// in /" + "root/x": "machine-path", "// at deb.example" + ".org": "host",
            "TEST(A, b_c) {": "test-name",
        }
        for text, rule in cases.items():
            self.assertEqual(rules(words.check_text, "tests/a.cpp", text), [rule], text)
        for text in ("// TODO(perf): batch this", "// why, not what", "/// `f(a);`", "#if 1"):
            self.assertEqual(rules(words.check_text, "tests/a.cpp", text), [], text)

    def test_code_rules(self):
        cases = {
            "out << std::endl;": "endl", "using namespace std;": "using-namespace",
            "f([=] {});": "capture", "int job_count;": "synonym", "int f(nextJob x);": "synonym",
        }
        for text, rule in cases.items():
            self.assertEqual(rules(words.check_cpp, "libcodeq/a.cpp", text), [rule], text)
        for text in ("using namespace std::chrono_literals;", "options.background_jobs = 2;",
                     "// a job elsewhere", 'f("job");', "f([self] {});"):
            self.assertEqual(rules(words.check_cpp, "libcodeq/a.cpp", text), [], text)

    def test_heads(self):
        self.assertEqual(rules(words.check_head, "a.hpp", _SPDX + "#pragma once\n"), [])
        self.assertEqual(rules(words.check_head, "a.hpp", "#pragma once\n"), ["spdx"])
        self.assertEqual(rules(words.check_head, "a.hpp", _SPDX + "\n\n"), ["pragma-once"])
        self.assertEqual(rules(words.check_head, "a.sh", "#!/bin/sh\n# " + _SPDX[3:]), [])


class Contract(unittest.TestCase):
    """A project with one test of each kind, and a table that names them for every statement."""

    CORE, REAL = "Lease.Ends", "Races.test_expiry"
    SOURCES = [
        Source("tests/unit/core/lease_test.cpp", "TEST_F(Lease, Ends) {}\n"),
        Source("tests/fault/disk_test.cpp", "TEST(Disk, Fails) {}\n"),
        Source("tests/e2e/races_test.py",
               "class Races(Base):\n    def test_expiry(self):\n        pass\n"),
    ]

    def row(self, statement, core, real, promise="it holds"):
        return f"| {statement} | {promise} | {core} | {real} |"

    def hints(self, changes=None):
        """The findings when the rows of some statements are changed or left out."""
        rows = {name: self.row(name, f"`{self.CORE}`", f"`{self.REAL}`")
                for name in contract.statements()}
        rows.update(changes or {})
        text = "| folder | what |\n|---|---|\n" + "\n".join(row for row in rows.values() if row)
        table = Source("tests/README.md", text + "\n")
        return [finding.hint for finding in contract.check([*self.SOURCES, table])]

    def test_complete_table_is_fine(self):
        self.assertEqual(self.hints(), [])
        self.assertEqual(self.hints({"2.1": self.row("2.1", f"`{self.CORE}`", "")}), [])
        self.assertEqual(self.hints({"I1": self.row("I1", "", "`Disk.Fails`")}), [])

    def test_every_statement_has_one_row(self):
        all_parts = 18 + 11 + 13 + 8 + 9 + 12 + 7 + 7 + 5 + 7 + 10 + 13
        self.assertEqual(len(contract.statements()), all_parts)
        self.assertEqual(self.hints({"5 (f)": None}), ["add a row for statement 5 (f)"])
        twice = self.row("I4", f"`{self.CORE}`", "")
        self.assertEqual(self.hints({"I4": f"{twice}\n{twice}"}), ["I4 has a row already"])
        self.assertEqual(self.hints({"2.12": self.row("2.12", f"`{self.CORE}`", "")}),
                         ["the contract has no statement 2.12"])

    def test_row_of_other_columns_is_none(self):
        self.assertEqual(self.hints({"4.1": f"| 4.1 | order | `{self.CORE}` |"}),
                         ["add a row for statement 4.1"])

    def test_names_have_to_exist(self):
        self.assertEqual(self.hints({"2.1": self.row("2.1", "`Lease.End`", "")}),
                         ["there is no test Lease.End"])
        self.assertEqual(self.hints({"2.1": self.row("2.1", "", "`Races.test_expirey`")}),
                         ["there is no test Races.test_expirey"])

    def test_cells_may_not_be_empty(self):
        self.assertEqual(self.hints({"2.1": self.row("2.1", "Lease.Ends", "")}),
                         ["name a test that fails without 2.1"])
        self.assertEqual(self.hints({"2.1": self.row("2.1", f"`{self.CORE}`", "", "")}),
                         ["say what 2.1 promises"])

    def test_races_and_scenarios_need_core_and_programs(self):
        for name in ("3.13", "5 (j)"):
            self.assertEqual(self.hints({name: self.row(name, "", f"`{self.REAL}`")}),
                             [f"name a core test that fails without {name}"])
            self.assertEqual(self.hints({name: self.row(name, f"`{self.CORE}`", "`Disk.Fails`")}),
                             [f"name a real test that fails without {name}"])

    def test_tests_stand_in_their_column(self):
        self.assertEqual(self.hints({"2.1": self.row("2.1", f"`{self.REAL}`", "")}),
                         [f"{self.REAL} is not of the column for core tests"])


class Project(unittest.TestCase):
    def found(self, check, *files):
        return [finding.rule for finding in check([Source(path, text) for path, text in files])]

    def test_folders_need_a_readme(self):
        self.assertEqual(self.found(folders.check_readmes, ("bench/a.cpp", "")), ["readme"])
        self.assertEqual(self.found(folders.check_readmes, ("examples/a/a.cpp", ""),
                                    ("examples/README.md", "")), [])

    def test_readmes_name_the_folders_of_tests_and_the_files_of_the_schema(self):
        for readme, part, row in (("tests/README.md", "tests/a/b/c.cpp", "| `a/` | unit | tests |"),
                                  ("schema/README.md", "schema/a.capnp", "- `a.capnp`: tasks.")):
            self.assertEqual(self.found(folders.check_named, (part, ""), (readme, row)), [])
            self.assertEqual(self.found(folders.check_named, (part, ""), (readme, "a\n")),
                             ["named-part"])

    def test_listed_sources_have_to_exist(self):
        text = ("set(source ${PROJECT_SOURCE_DIR}/libcodeq/src)\n"
                "add_library(a ${source}/core/a.cpp b.cpp ${name}/c.cpp *.cpp)\n")
        sources = [Source("tests/fuzz/CMakeLists.txt", text), Source("tests/fuzz/b.cpp", _SPDX)]
        missing = [finding.hint for finding in folders.check_listed_sources(sources)]
        self.assertEqual(missing, ["libcodeq/src/core/a.cpp does not exist"])

    def test_own_header_comes_first(self):
        files = [("libcodeq/src/core/a.hpp", ""),
                 ("libcodeq/src/core/a.cpp", '#include "core/b.hpp"\n#include "core/a.hpp"\n')]
        self.assertEqual(self.found(folders.check_own_header_first, *files), ["own-header"])

    def test_readme_shows_the_example(self):
        example = ("examples/a.cpp", "// [begin readme]\nint a;\n// [end readme]\n")
        self.assertEqual(self.found(folders.check_snippets, example,
                                    ("README.md", "```cpp\nint a;\n```")), [])
        self.assertEqual(self.found(folders.check_snippets, example, ("README.md", "")),
                         ["snippet"])
        self.assertEqual(self.found(folders.check_snippets, example,
                                    ("worker/README.md", "```cpp\nint a;\n```\n")), [])
        self.assertEqual(self.found(folders.check_snippets,
                                    ("README.md", "```cpp\nint other;\n```\n")), ["snippet"])

    def test_exceptions_cover_or_are_stale(self):
        bad = Source("bench/load/README.md", "x\n" * 41)
        listed = Source("tests/tidy/exceptions.txt",
                        "bench/* | readme-lines | long\nbench/* | columns | none\n")
        readme = Source("tests/tidy/README.md", "x\n")
        self.assertEqual([f.rule for f in tidy.find_all([bad, listed, readme])],
                         ["stale-exception"])


class Guides(unittest.TestCase):
    def found(self, *files):
        return [f.rule for f in guides.check([Source(path, text) for path, text in files])]

    def test_commands_stand_in_blocks_that_are_run(self):
        for text in ("    codeqctl stats\n", "```\ncodeqctl stats\n```\n",
                     "```bash\ncodeqctl stats\n```\n"):
            self.assertEqual(self.found(("README.md", text)), ["guide-block"], text)
        self.assertEqual(self.found(("README.md", "```sh\ncodeqctl stats\n```\n")), [])

    def test_command_that_a_sentence_names_is_run_by_a_block(self):
        for named in ("codeqctl stats", "codeqctl --json stats", "./examples/a.sh",
                      "bench/a.py --tasks 3"):
            text = f"Try `{named}`.\n"
            self.assertEqual(self.found(("README.md", text)), ["guide-command"], text)
            self.assertEqual(self.found(("README.md", text),
                                        ("bench/README.md", f"```sh\n{named}\n```\n")), [])

    def test_command_that_the_test_leaves_out_is_run_elsewhere(self):
        self.assertEqual(self.found((".ci/run", "true\n")), ["guide-command"])
        self.assertEqual(self.found((".ci/run", "exec ./tests/run.sh\n")), [])

    def test_links_lead_somewhere(self):
        there = ("schema/README.md", "[A b](#a-b)\n\n## A b\n")
        for link in ("schema/README.md#a-b", "schema", "schema/README.md", "https://a.example/#c"):
            self.assertEqual(self.found(there, ("README.md", f"[x]({link})\n")), [], link)
        for link in ("schema/README.md#c", "schema/a.md", "#a-b"):
            self.assertEqual(self.found(there, ("README.md", f"[x]({link})\n")), ["guide-link"])

    def test_contents_name_each_section(self):
        self.assertEqual(self.found(("worker/README.md", "## A\n")), ["guide-contents"])

    def test_guides_stay_short(self):
        self.assertEqual(self.found(("README.md", "x\n" * 151)), ["guide-lines"])
        self.assertEqual(self.found(("worker/README.md", "x\n" * 300)), [])


if __name__ == "__main__":
    unittest.main()
