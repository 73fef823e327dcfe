"""Cases of the rules about documents, lists of rules and commits; tidy_test.py runs them."""

import shutil
import subprocess
import unittest
from unittest import mock

import rules_documents
import tidy
from planted import PlantedTest
from room_table import PAGE, table_of, with_table


class DocumentsTest(PlantedTest):
    def test_a_path_that_does_not_exist_is_found(self):
        for text in ("See `ledger/gone.h`.", "See ledger/gone.h.", "See [it](../ledger/gone.h#top).", "`ledger/gone`",
                     "`ledger/{tape,gone}.h`", "`ledger/gone*`", "`ledger/gone.h:12`", "See [it](gone.md)."):
            self.expect("documents", "docs/a.md", 2, {"docs/a.md": f"A page.\n{text}\n"})

    def test_decisions_and_the_readme_are_read_too(self):
        for path in ("docs/adr/0001-a.md", "README.md", "CONTRIBUTING.md"):
            self.expect("documents", path, 1, {path: "`ledger/gone.h`\n"})

    def test_comments_are_read_and_history_is_not(self):
        self.expect("documents", "common/hash.cc", 2, {"common/hash.cc": "int x;  // Why: docs/why.md.\nint y;  // See ledger/gone.h.\n"})
        self.expect("documents", "deploy/a.sh", 1, {"deploy/a.sh": "# ledger/gone.h, and see ledger/tape.h\n"})
        self.expect_none("documents", {"CHANGELOG.md": "`ledger/gone.h`\n", "ledger/a.py": "x = \"ledger/gone.h\"\n"})

    def test_a_test_that_is_named_without_its_folder_exists_too(self):
        planted = {"docs/a.md": "tests/ledger/tape_test.cc, reel_test.cc, and x_test.cc for each x\n",
                   "tests/ledger/tape_test.cc": ""}
        self.expect("documents", "docs/a.md", 1, planted)
        self.expect_none("documents", planted | {"tests/ledger/reel/reel_test.cc": ""})

    def test_paths_that_exist_and_other_text_are_free(self):
        text = ("`ledger/tape.h` `ledger/tape` `ledger/` `ledger` `ledger/*.h` `{common,ledger}/` `ledger/tape.h:4` ledger/tape.h "
                "`common/{hash,hd}.h` `ledger/tape.h --x` `build/cpu/bin` [a](../ledger/tape.h) [b](https://x.org/ledger/gone.h) "
                "[c](#top) `ledger/NAME.h` `ledger/<shard>.h` `tests/ROOM/x_test.cc` x/ledger/gone.h `docs/adr/0001`\n")
        self.expect_none("documents", {"docs/a.md": text, "docs/adr/0001-why.md": "Why.\n"})

    def test_a_table_of_rooms_that_is_old_is_found(self):
        self.expect("documents", PAGE, 3, {PAGE: with_table("# Rooms\n", "| room |")})
        self.expect("documents", PAGE, 1, {PAGE: "# Rooms\n"})
        self.expect("documents", PAGE, 1, {"CMakeLists.txt": "project(gcoord)\n"})

    def test_the_table_of_rooms_is_made_of_the_builds(self):
        table = table_of(self.tree({}))
        self.assertIn("| `ledger` | records on disk | `common` |", table)
        page = with_table("# Rooms\n\nAbove.\n", table) + "\nBelow.\n"
        self.expect_none("documents", {PAGE: page})
        self.assertEqual(with_table(page, table), page)

    def test_a_list_of_rules_that_lacks_or_invents_one_is_found(self):
        rows = "## Rules\n\n" + "".join(f"| `{rule}` | what |\n" for rule in tidy.RULES)
        self.expect_none("rules", {"CONTRIBUTING.md": rows})
        self.expect("rules", "CONTRIBUTING.md", 1, {"CONTRIBUTING.md": rows.replace("| `rooms` | what |\n", "")})
        self.expect("rules", "CONTRIBUTING.md", 1, {"CONTRIBUTING.md": rows + "| `luck` | what |\n"})
        listed = " ".join(tidy.RULES).replace("pairs", "")
        self.expect("rules", "tests/tidy/CMakeLists.txt", 1, {
            "tests/tidy/CMakeLists.txt": f"foreach(rule {listed})\nendforeach()\n"})


@unittest.skipUnless(shutil.which("git"), "no git here")
class CommitsTest(PlantedTest):
    def committed(self, *subjects: str) -> tidy.Tree:
        tree = self.tree({})
        self.git(tree, "init", "--quiet")
        for subject in ("common: the first", *subjects):
            self.git(tree, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", subject)
        return tree

    def git(self, tree: tidy.Tree, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tree.root, check=True, capture_output=True, text=True).stdout.strip()

    def found(self, tree: tidy.Tree, since: str) -> list:
        with mock.patch.object(rules_documents, "COMMITS_SINCE", since):
            return [f.what for f in tidy.RULES["commits"](tree)]

    def expect(self, rule: str, subject: str) -> None:
        tree = self.committed("ledger: sync once", subject)
        first = self.git(tree, "rev-list", "--max-parents=0", "HEAD")
        found = self.found(tree, first)
        self.assertEqual(len(found), 1, f"{rule}: {found}")
        self.assertIn(subject, found[0])

    def test_a_subject_without_an_area_or_too_long_is_found(self):
        self.expect("commits", "Sync once")
        self.expect("commits", "ledger: " + "x" * 65)

    def test_areas_may_be_several_folders(self):
        tree = self.committed("ledger, server/peers: sync once", "ledger: " + "x" * 64)
        self.assertEqual(self.found(tree, self.git(tree, "rev-list", "--max-parents=0", "HEAD")), [])

    def test_nothing_fails_for_want_of_history(self):
        self.assertEqual(self.found(self.committed("Sync once"), "4a56ad8"), [])
        self.assertEqual(self.found(self.tree({}), "4a56ad8"), [])
        with mock.patch.object(subprocess, "run", side_effect=FileNotFoundError):
            self.assertEqual(self.found(self.tree({}), "4a56ad8"), [])
