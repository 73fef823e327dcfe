#!/usr/bin/env python3
"""Plants a breach of each rule in a small tree and expects tidy.py to find it there, and nowhere else."""

import unittest
from pathlib import Path

import tidy
from classes_test import ClassesTest
from cpp_source import CppFile
from documents_test import CommitsTest, DocumentsTest
from planted import HEADER, PlantedTest, body
from ratchet_test import RatchetTest
from rooms_test import FoldersTest, RoomsTest
from words_test import GlossaryTest, PairsTest

GROUPS = (ClassesTest, CommitsTest, DocumentsTest, FoldersTest, GlossaryTest, PairsTest, RatchetTest, RoomsTest)


class TidyTest(PlantedTest):
    def test_every_rule_has_a_planted_breach(self):
        texts = "".join(path.read_text() for path in Path(__file__).parent.glob("*_test.py"))
        for rule in tidy.RULES:
            if rule != "format":  # Needs clang-format.
                self.assertRegex(texts, rf'expect\(\s*"{rule}"', rule)

    def test_every_case_of_every_group_runs_here(self):
        files = {path.stem for path in Path(__file__).parent.glob("*_test.py")} - {"tidy_test"}
        self.assertEqual({group.__module__ for group in GROUPS}, files)

    def test_a_clean_tree_breaks_no_rule(self):
        for rule in tidy.RULES:
            if rule != "format":
                self.assertEqual(self.findings(rule, {}), [], rule)

    def test_an_upward_include_is_found(self):
        self.expect("floors", "common/hash.cc", 2,
                    {"common/hash.cc": "#include \"common/hash.h\"\n#include \"ledger/tape.h\"\n"})

    def test_an_include_between_siblings_is_found(self):
        self.expect("floors", "netcore/loop.h", 4, {"netcore/loop.h": HEADER + "#include \"ledger/tape.h\"\n"})

    def test_a_commented_include_of_another_kind_is_not_one(self):
        self.assertEqual(self.findings("floors", {"ledger/tape.h": HEADER + "// Not \"server/node/node.h\".\n"}), [])

    def test_an_upward_link_is_found(self):
        self.expect("floors", "common/CMakeLists.txt", 2,
                    {"common/CMakeLists.txt": "gcoord_library(HEADERS hash.h\n  DEPS ledger LINK fmt)\n"})

    def test_a_folder_without_a_floor_is_found(self):
        self.expect("floors", "storage/a.h", 1, {"storage/a.h": HEADER})
        found = self.findings("floors", {"CMakeLists.txt": "project(gcoord)\n"})
        self.assertIn("the floor of server, a folder that does not exist", [f.what for f in found])

    def test_the_public_name_of_the_client_counts_as_the_client(self):
        self.expect("floors", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + "#include \"gcoord/client.h\"\n"})

    def test_forbidden_knowledge_is_found(self):
        self.expect("knowledge", "consensus/pace.h", 4, {"consensus/pace.h": HEADER + "#include <chrono>\n"})
        self.expect("knowledge", "client/calling.cc", 1, {"client/calling.cc": "#include <rocksdb/db.h>\n"})

    def test_a_library_that_a_room_stands_for_is_found_outside_of_it(self):
        planted = {"ledger/tape.h": HEADER + "#include <nlohmann/json.hpp>\n"}
        self.expect("knowledge", "ledger/tape.h", 4, planted)
        self.expect_none("knowledge", {path: planted["ledger/tape.h"] for path in ("common/json/text.cc", "tests/a_test.cc")})

    def test_a_public_client_header_needs_only_std_and_itself(self):
        self.expect("knowledge", "client/include/gcoord/client.h", 6, {
            "client/include/gcoord/client.h":
                HEADER + "#include <string>\n#include \"gcoord/status.h\"\n#include \"common/status.h\"\n"})

    def test_a_host_library_in_a_device_header_is_found(self):
        self.expect("hd-headers", "consensus/pace.h", 5,
                    {"consensus/pace.h": HEADER + "#include \"common/hd.h\"\n#include <fmt/core.h>\n"})

    def test_looking_at_the_compiler_outside_common_is_found(self):
        self.expect("hd-headers", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + "#ifdef __CUDA_ARCH__\n#endif\n"})

    def test_a_row_taken_for_a_shard_is_found(self):
        self.expect("rows", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + "void f(int row) { mark(ShardId{row}); }\n"})
        self.expect_none("rows", {"ledger/tape.h": HEADER + "void f(int narrow) { mark(ShardId{narrow}); }\n"})

    def test_a_shard_taken_for_a_row_is_found(self):
        library = {"server/replicas/CMakeLists.txt": "# Owns rows.\ngcoord_library(HEADERS rows.h)\n"}
        for text in ("return rows_[m.shard.value];", "touch(shard.value).woken = 1;", "expect(head.shard.value, 1);"):
            self.expect("rows", "server/replicas/rows.h", 4, {**library, "server/replicas/rows.h": HEADER + f"{text}\n"})
        self.expect_none("rows", {**library, "server/replicas/rows.h": HEADER + "std::to_string(shard.value);\n"})

    def test_a_function_of_71_lines_is_found_where_it_begins(self):
        text = "#include \"common/hash.h\"\n\nint first() {\n  return 1;\n}\n\nint second(int x) " + body(71)
        self.expect("sizes", "common/hash.cc", 7, {"common/hash.cc": text})
        self.assertEqual(self.findings("sizes", {"common/hash.cc": text.replace(body(71), body(70))}), [])

    def test_a_method_and_a_constructor_are_functions(self):
        text = HEADER + "class Tape {\n public:\n  Tape() : bytes_{0}, path_{\"}\"} " + body(80) + "};\n"
        self.expect("sizes", "ledger/tape.h", 6, {"ledger/tape.h": text})

    def test_a_long_table_is_no_function(self):
        text = HEADER + "constexpr int kTable[] = {\n" + "  1,\n" * 90 + "};\n"
        self.assertEqual(self.findings("sizes", {"ledger/tape.h": text}), [])

    def test_a_kernel_of_16_lines_is_found(self):
        text = "__global__ void step_kernel(int x) " + body(16)
        self.expect("sizes", "consensus/pace_cuda.cu", 1, {"consensus/pace_cuda.cu": text})

    def test_a_file_warns_at_501_lines_and_fails_at_801(self):
        for lines, fatal in ((501, False), (801, True)):
            (found,) = self.findings("sizes", {"ledger/tape.h": "//\n" * lines})
            self.assertEqual((found.path, found.fatal), ("ledger/tape.h", fatal))

    def test_names_that_say_nothing_are_found(self):
        for name in ("shard_manager", "ShardManager", "UtilTable", "node_info", "temp", "my_node", "do_step", "new_term",
                     "step2", "process_frame()", "handle_vote()"):
            self.expect("names", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + f"int {name};\n"})

    def test_a_file_name_that_says_nothing_is_found(self):
        self.expect("names", "ledger/tape_utils.h", 1, {"ledger/tape_utils.h": HEADER})

    def test_names_of_other_libraries_and_words_inside_words_are_free(self):
        text = HEADER + ("int a = span.data(); auto b = ucp::info; ucp_ep_params_t c{.user_data = 1}; int datagram, handle;\n"
                         "void on_vote(); enum { DataLoss }; int process_id; // my temp data\nconst char* s = \"info\";\n")
        self.assertEqual(self.findings("names", {"ledger/tape.h": text}), [])

    def test_the_title_of_a_test_is_a_sentence_and_free(self):
        text = "#include \"ledger/tape.h\"\n\nTEST(Tape, ADamagedFileIsALossOfDataAndNamed) {\n  int data = 1;\n}\n"
        self.expect("names", "tests/ledger/tape_test.cc", 4, {"tests/ledger/tape_test.cc": text})

    def test_a_header_without_its_guard_or_comment_is_found(self):
        self.expect("headers", "ledger/tape.h", 1, {"ledger/tape.h": "// A tape.\nint x;\n"})
        self.expect("headers", "ledger/tape.h", 1, {"ledger/tape.h": "#pragma once\n"})

    def test_a_late_own_header_is_found(self):
        self.expect("headers", "common/hash.cc", 1,
                    {"common/hash.cc": "#include <cstdint>\n#include \"common/hash.h\"\n"})
        self.expect("headers", "tests/common/hash_test.cc", 1,
                    {"tests/common/hash_test.cc": "#include \"common/hd.h\"\n"})

    def test_a_file_that_no_build_lists_is_found(self):
        self.expect("dead-files", "ledger/torn.cc", 1, {"ledger/torn.cc": ""})
        self.expect("dead-files", "ledger/ape.h", 1, {"ledger/ape.h": HEADER})  # tape.h is listed, ape.h is not.

    def test_a_folder_that_no_build_adds_is_found(self):
        lists = {"tests/CMakeLists.txt": "foreach(room ledger)\n  add_subdirectory(${room})\nendforeach()\n",
                 "tests/rpc/CMakeLists.txt": "gcoord_test(NAME frame_test SOURCES frame_test.cc)\n",
                 "tests/rpc/frame_test.cc": ""}
        self.expect("dead-files", "tests/rpc/CMakeLists.txt", 1, lists)

    def test_a_shared_header_of_tests_lives_by_being_included(self):
        self.assertEqual(self.findings("dead-files", {
            "tests/fuzz/CMakeLists.txt": "gcoord_test(NAME tape_fuzz SOURCES tape_fuzz.cc)\n",
            "tests/fuzz/tape_fuzz.cc": "#include \"tests/fuzz/driver.h\"\n",
            "tests/fuzz/driver.h": HEADER}), [])

    def test_unfinished_work_without_an_issue_is_found(self):
        self.expect("words", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + "// TODO: the rest.\n"})
        self.assertEqual(self.findings("words", {"ledger/tape.h": HEADER + "// TODO(#12): the rest.\n"}), [])

    def test_paths_of_one_machine_are_found(self):
        self.expect("words", "docs/a.md", 2, {"docs/a.md": "A page.\nSee /root/notes.\n"})
        self.assertEqual(self.findings("words", {"docs/a.md": "https://x.org/work/1 and deploy/work/\n"}), [])

    def test_a_sleep_in_a_test_is_found(self):
        self.expect("sleeps", "tests/ledger/tape_test.cc", 2,
                    {"tests/ledger/tape_test.cc": "int x;\nvoid wait() { std::this_thread::sleep_for(x); }\n"})

    def test_a_raw_string_with_braces_and_quotes_is_blanked(self):
        file = CppFile.parse("cli/a.cc", "void f() {\n  g(R\"(}}\"{)\");\n  h('}');\n}\nvoid k() {}\n")
        self.assertEqual([(f.header, f.line, f.lines) for f in file.functions()], [("void f()", 1, 4), ("void k()", 5, 1)])


if __name__ == "__main__":
    unittest.main()
