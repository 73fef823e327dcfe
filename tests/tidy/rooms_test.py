"""Cases of the rules about rooms and folders; tidy_test.py runs them."""

from planted import HEADER, PlantedTest, includes, library


class RoomsTest(PlantedTest):
    def test_an_include_without_a_declared_dependency_is_found(self):
        self.expect("rooms", "netcore/a.h", 4, {
            "netcore/CMakeLists.txt": library(), "netcore/a.h": HEADER + includes("common/hash.h")})

    def test_what_a_dependency_brings_is_reached(self):
        self.expect_none("rooms", {
            "server/CMakeLists.txt": library("ledger"), "server/a.h": HEADER + includes("common/hash.h", "ledger/tape.h")})

    def test_rooms_of_one_folder_do_not_know_each_other(self):
        planted = {
            "server/waits/CMakeLists.txt": library(), "server/waits/a.h": HEADER,
            "server/node/CMakeLists.txt": library(), "server/node/a.h": HEADER + includes("server/waits/a.h")}
        self.expect("rooms", "server/node/a.h", 4, planted)
        self.expect_none("rooms", planted | {"server/node/CMakeLists.txt": library("server/waits")})

    def test_an_unknown_dependency_is_found(self):
        self.expect("rooms", "ledger/CMakeLists.txt", 3, {
            "ledger/CMakeLists.txt": "# Owns records.\ngcoord_library(HEADERS tape.h\n  DEPS common engine)\n"})

    def test_a_dependency_that_goes_around_the_table_is_found(self):
        for text in ("# Owns records.\ngcoord_library(HEADERS tape.h DEPS common LINK gcoord_common)\n",
                     "# Owns records.\n" "target_link_libraries(gcoord_ledger PUBLIC gcoord_common)\n"
                     "gcoord_library(HEADERS tape.h DEPS common)\n"):
            self.expect("rooms", "ledger/CMakeLists.txt", 2, {"ledger/CMakeLists.txt": text})

    def test_a_circle_is_found(self):
        self.expect("rooms", "server/a/CMakeLists.txt", 2, {
            "server/a/CMakeLists.txt": library("server/b"), "server/a/a.h": HEADER,
            "server/b/CMakeLists.txt": library("server/a"), "server/b/a.h": HEADER})

    def test_a_circle_of_one_is_found_and_one_of_three_is_named_once(self):
        self.expect("rooms", "ledger/CMakeLists.txt", 2, {"ledger/CMakeLists.txt": library("common ledger", "HEADERS tape.h")})
        ring = {"a": "server/b", "b": "server/c server/a", "c": "server/a"}
        self.expect("rooms", "server/a/CMakeLists.txt", 2, {
            path: text for room, deps in ring.items() for path, text in
            {f"server/{room}/CMakeLists.txt": library(deps), f"server/{room}/a.h": HEADER}.items()})

    def test_a_library_may_gather_the_rooms_below_it(self):
        planted = {
            "client/CMakeLists.txt": "# Owns the client.\ngcoord_library(DEPS client/core)\n",
            "client/core/CMakeLists.txt": library(), "client/core/a.h": HEADER,
            "cli/CMakeLists.txt": library("client"), "cli/a.h": HEADER + includes("client/core/a.h")}
        self.expect_none("rooms", planted)

    def test_a_folder_without_a_library_is_found(self):
        self.expect("rooms", "server/a.h", 1, {"server/a.h": HEADER})
        self.expect("rooms", "server/CMakeLists.txt", 1, {
            "server/CMakeLists.txt": "add_subdirectory(node)\ntarget_sources(gcoord_server_node PUBLIC a.h)\n",
            "server/a.h": HEADER,
            "server/node/CMakeLists.txt": library(), "server/node/a.h": HEADER})

    def test_a_second_library_in_a_folder_is_found(self):
        self.expect("rooms", "ledger/CMakeLists.txt", 3, {
            "ledger/CMakeLists.txt": library("common", "HEADERS tape.h") + "gcoord_library(HEADERS reel.h DEPS common)\n",
            "ledger/reel.h": HEADER})

    def test_a_file_that_its_folder_does_not_list_is_found(self):
        self.expect("rooms", "ledger/reel.h", 1, {"ledger/reel.h": HEADER})

    def test_a_listed_file_that_does_not_exist_is_found(self):
        self.expect("rooms", "ledger/CMakeLists.txt", 2, {
            "ledger/CMakeLists.txt": library("common", "SOURCES reel.cc HEADERS tape.h")})

    def test_a_library_that_lists_another_folders_file_is_found(self):
        self.expect("rooms", "server/CMakeLists.txt", 2, {
            "server/CMakeLists.txt": library(files="HEADERS a.h node/a.h"), "server/a.h": HEADER,
            "server/node/CMakeLists.txt": library(), "server/node/a.h": HEADER})

    def test_a_name_of_its_own_and_a_missing_first_line_are_found(self):
        self.expect("rooms", "ledger/CMakeLists.txt", 2, {
            "ledger/CMakeLists.txt": "# Owns records.\ngcoord_library(NAME ledger HEADERS tape.h DEPS common)\n"})
        for first in ("", "# The records.\n", "# Owns records\n"):
            self.expect("rooms", "ledger/CMakeLists.txt", 1, {
                "ledger/CMakeLists.txt": first + "gcoord_library(HEADERS tape.h DEPS common)\n"})

    def test_both_branches_of_a_build_are_read(self):
        text = ("# Owns records.\nset(more)\nif(GCOORD_CUDA)\n  set(more reel.h)\nendif()\n"
                "gcoord_library(HEADERS tape.h ${more}\n  DEPS common)\n")
        self.expect_none("rooms", {"ledger/CMakeLists.txt": text, "ledger/reel.h": HEADER})

    def test_lists_that_the_rules_do_not_know_end_the_one_before(self):
        self.expect_none("rooms", {"ledger/CMakeLists.txt":
                                   "# Owns records.\ngcoord_library(HEADERS tape.h NO_UNITY other.cc DEPS common ALONE never)\n"})

    def test_a_program_beside_a_library_has_dependencies_of_its_own(self):
        planted = {"server/main.cc": includes("common/hash.h"), "server/a.h": HEADER}
        build = library() + "gcoord_program(NAME gcoordd SOURCES main.cc DEPS server)\n"
        self.expect("rooms", "server/main.cc", 1, planted | {"server/CMakeLists.txt": build})
        self.expect_none("rooms", planted | {"server/CMakeLists.txt": build.replace("DEPS server", "DEPS server common")})

    def test_a_test_needs_what_it_includes_by_its_own_headers_too(self):
        planted = {
            "tests/ledger/CMakeLists.txt": "gcoord_test(NAME tape_test SOURCES tape_test.cc DEPS common)\n",
            "tests/ledger/tape_test.cc": includes("opened_tape.h"),
            "tests/ledger/opened_tape.h": HEADER + includes("common/hash.h", "ledger/tape.h")}
        self.expect("rooms", "tests/ledger/opened_tape.h", 5, planted)
        self.expect_none("rooms", planted | {
            "tests/ledger/CMakeLists.txt": "gcoord_test(NAME tape_test SOURCES tape_test.cc DEPS ledger LABELS slow)\n"})

    def test_a_test_that_compiles_a_source_itself_knows_its_room(self):
        self.expect_none("rooms", {
            "tests/common/CMakeLists.txt": "gcoord_test(NAME hash_test SOURCES hash_test.cc ${PROJECT_SOURCE_DIR}/common/hash.cc)\n",
            "tests/common/hash_test.cc": includes("common/hash.h")})

    def test_an_include_of_nothing_is_found(self):
        self.expect("rooms", "ledger/tape.h", 4, {"ledger/tape.h": HEADER + includes("common/gone.h")})

    def test_public_headers_may_lie_below_their_library(self):
        self.expect_none("rooms", {
            "client/CMakeLists.txt": library(files="SOURCES a.cc HEADERS include/gcoord/a.h"), "client/a.cc": "",
            "client/include/gcoord/a.h": HEADER})

    def test_rooms_that_must_never_meet_are_found(self):
        self.expect("never", "server/host_turn/a.h", 4, {
            "server/host_turn/a.h": HEADER + includes("server/resident/links/a.h")})
        self.expect("never", "server/device_turn/a.h", 5, {
            "server/device_turn/a.h": HEADER + includes("server/device_turn/b.h", "server/interfaces/a.h")})
        self.expect("never", "membership/a.h", 5, {
            "membership/a.h": HEADER + includes("consensus/pace/configuration.h", "consensus/pace/pace.h")})

    def test_a_table_that_names_a_room_that_left_is_found(self):
        found = self.findings("never", {"CMakeLists.txt": "project(gcoord)\n"})
        self.assertIn("NEVER names server/waits, a folder that does not exist", [f.what for f in found])


class FoldersTest(PlantedTest):
    def many(self, folder: str, count: int, name: str) -> dict:
        return {f"{folder}/{name.format(at)}": HEADER for at in range(count)}

    def test_a_folder_of_41_files_is_found_and_31_are_a_note(self):
        self.expect("folder", "server/a0.h", 1, self.many("server", 41, "a{}.h"))
        self.expect_none("folder", self.many("server", 30, "a{}.h"))
        (note,) = self.findings("folder", self.many("server", 31, "a{}.h"))
        self.assertFalse(note.fatal)

    def test_eight_files_of_one_prefix_are_found(self):
        self.expect("folder", "server/lock_0.h", 1, self.many("server", 8, "lock_{}.h"))
        self.expect_none("folder", self.many("server", 7, "lock_{}.h"))

    def test_a_name_that_repeats_its_folder_is_found(self):
        self.expect("folder", "ledger/tape/tape_segment.h", 1, {
            "ledger/tape/tape_segment.h": HEADER, "ledger/tape/tape.h": HEADER, "ledger/tape/taper.h": HEADER})

    def test_a_test_that_mirrors_no_folder_is_found(self):
        self.expect("mirror", "tests/ledger/tape/tape_test.cc", 1, {"tests/ledger/tape/tape_test.cc": ""})
        self.expect_none("mirror", {
            "tests/ledger/tape_test.cc": "", "tests/fuzz/tape_test.cc": "", "tests/ledger/world/a.h": HEADER})

    def test_a_test_includes_the_header_it_mirrors_first_at_any_depth(self):
        self.expect("headers", "tests/server/peers/a_test.cc", 1, {
            "server/peers/a.h": HEADER, "tests/server/peers/a_test.cc": includes("common/hd.h", "server/peers/a.h")})

    def test_a_public_header_is_the_cpp_librarys_own(self):
        planted = {"client/include/gcoord/a.h": HEADER + "// Why.\n" * 3, "client/core/a.cc": includes("common/hd.h"),
                   "client/c/a.cc": includes("common/hd.h")}
        self.expect("headers", "client/core/a.cc", 1, planted)
