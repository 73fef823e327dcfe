"""Cases of the figures that may only fall; tidy_test.py runs them."""

import tidy
from classes_test import class_with
from planted import PlantedTest
from ratchet import FOLDER
from words_test import SIX

CLASSES = f"{FOLDER}/classes.txt"
PAIRS = f"{FOLDER}/pairs.txt"


class RatchetTest(PlantedTest):
    def rewritten(self, rule: str, file: str, planted: dict, force: bool) -> tuple:
        tree = self.tree(planted)
        ratchet, measure = tidy.RATCHETS[rule]
        refused = ratchet.rewrite(tree, list(measure(tree)), force)
        lines = (tree.root / FOLDER / file).read_text().splitlines()
        return refused, [line for line in lines if not line.startswith("#")]

    def test_what_is_written_down_is_allowed(self):
        self.expect_none("class", {"ledger/tape.h": class_with(50, 22), CLASSES: "gcoord::ledger::Tape 50 22 0\n"})

    def test_a_figure_that_grew_is_found(self):
        self.expect("class", "ledger/tape.h", 5, {
            "ledger/tape.h": class_with(51, 22), CLASSES: "# Why.\ngcoord::ledger::Tape 50 22 0\n"})

    def test_a_figure_within_its_limit_is_free_to_move(self):
        self.expect_none("class", {"ledger/tape.h": class_with(50, 19), CLASSES: "gcoord::ledger::Tape 50 12 0\n"})

    def test_a_figure_that_fell_is_to_be_written_down(self):
        planted = {"ledger/tape.h": class_with(49, 2), CLASSES: "gcoord::ledger::Tape 50 2 0\n"}
        self.expect("class", CLASSES, 1, planted)
        self.assertEqual(self.rewritten("class", "classes.txt", planted, False), ([], ["gcoord::ledger::Tape 49 2 0"]))

    def test_what_is_within_its_limits_leaves_the_file(self):
        planted = {CLASSES: "gcoord::ledger::Tape 50 2 0\n"}
        self.expect("class", CLASSES, 1, planted)
        self.assertEqual(self.rewritten("class", "classes.txt", planted, False), ([], []))

    def test_nothing_rises_without_force(self):
        planted = {"ledger/tape.h": class_with(51, 2), CLASSES: "gcoord::ledger::Tape 50 2 0\n"}
        key = "gcoord::ledger::Tape"
        self.assertEqual(self.rewritten("class", "classes.txt", planted, False), ([key], [f"{key} 50 2 0"]))
        self.assertEqual(self.rewritten("class", "classes.txt", planted, True), ([], [f"{key} 51 2 0"]))
        del planted[CLASSES]
        self.assertEqual(self.rewritten("class", "classes.txt", planted, False), ([key], []))

    def test_reasons_are_kept_and_needed(self):
        planted = {"ledger/a.cc": SIX, "ledger/b.cc": SIX, PAIRS: "ledger/a.cc ledger/b.cc 9  # Two contracts.\n"}
        self.assertEqual(self.rewritten("pairs", "pairs.txt", planted, False),
                         ([], ["ledger/a.cc ledger/b.cc 6  # Two contracts."]))
        self.expect("pairs", PAIRS, 1, planted | {PAIRS: "ledger/a.cc ledger/b.cc 6\n"})

    def test_every_ratchet_can_be_filled_and_holds_then(self):
        planted = {"ledger/a.cc": SIX, "ledger/b.cc": SIX, "ledger/tape.h": class_with(46, 2),
                   "common/hash.cc": "int f(int a, int b, int c, int d) {\n  return 1;\n}\n",
                   **{f"server/lock_{at}.h": "" for at in range(8)}}
        tree = self.tree(planted)
        self.assertEqual(tidy.rewrite_ratchets(tree, list(tidy.RULES), force=True), 0)
        again = tidy.Tree.read(tree.root)
        for rule in tidy.RATCHETS:
            self.assertEqual([f.what for f in tidy.RULES[rule](again)], [], rule)
