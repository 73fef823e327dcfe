"""Cases of the rules about the glossary and about what stands twice; tidy_test.py runs them."""

from planted import HEADER, PlantedTest

GLOSSARY = """# Glossary

| word | meaning |
|---|---|
| turn | one pass of the loop |
| persist / durable | write / written |

## Struck words

| struck | say instead | where it misled |
|---|---|---|
| murk, fume | scratch | shared memory \\| a broker |
| `DriftOver` | scrub | |
"""
SIX = "".join(f"  tape.append({at}, kNone);\n" for at in range(6))


class GlossaryTest(PlantedTest):
    def test_a_struck_word_in_a_type_is_found(self):
        for name in ("class WatchMurk {};", "enum class FumeKind : char { A };", "using MurkPtr = int;",
                     "struct alignas(8) DriftOverPlan final : Base {};"):
            self.expect("words", "ledger/tape.h", 4, {"docs/glossary.md": GLOSSARY, "ledger/tape.h": HEADER + name + "\n"})

    def test_a_struck_word_in_a_file_name_is_found(self):
        self.expect("words", "ledger/drift_over.h", 1, {"docs/glossary.md": GLOSSARY, "ledger/drift_over.h": HEADER})

    def test_parts_of_words_mentions_and_tests_are_free(self):
        text = HEADER + "class Murktop;\nclass Murk;\nstruct Drift {};\nvoid f(class Murk& it);\n"
        self.expect_none("words", {"docs/glossary.md": GLOSSARY, "ledger/tape.h": text,
                                   "tests/ledger/murk_test.cc": "struct Murk {};\n"})

    def test_a_term_with_two_meanings_is_found(self):
        self.expect("words", "docs/glossary.md", 7, {
            "docs/glossary.md": GLOSSARY.replace("\n## Struck", "| Turn | a kernel |\n\n## Struck").replace("written |\n\n", "written |\n")})

    def test_terms_may_say_which_and_other_tables_are_no_terms(self):
        more = "| turn (of a screw) | half a circle |\n\n## Words to avoid\n\n| word | say |\n|---|---|\n| turn | pass |\n\n## Struck"
        self.expect_none("words", {"docs/glossary.md": GLOSSARY.replace("\n## Struck", more)})

    def test_a_tree_without_a_glossary_is_found(self):
        self.expect("words", "docs/glossary.md", 1, {"CONTRIBUTING.md": "# How\n"})

    def test_a_header_that_begins_with_a_question_is_found(self):
        self.expect("headers", "ledger/tape.h", 1, {"ledger/tape.h": HEADER.replace("A header", "What a header")})
        self.expect("headers", "ledger/tape.h", 1, {"ledger/tape.h": HEADER.replace("A header", "Who")})

    def test_public_headers_with_little_comment_are_found(self):
        path = "client/include/gcoord/client.h"
        found = self.findings("headers", {path: HEADER + "int x;\nint y;  // Why.\n"})
        self.assertEqual([(f.path, f.fatal) for f in found], [(path, False), ("client/include", True)])
        self.expect_none("headers", {path: HEADER + "// Why.\nint x;\nint y;\n"})


class PairsTest(PlantedTest):
    def test_six_lines_in_two_files_are_found(self):
        self.expect("pairs", "ledger/a.cc", 2, {"ledger/a.cc": "void f() {\n" + SIX + "}\n", "ledger/b.cc": "int y;\n" + SIX})

    def test_lines_are_the_same_whatever_stands_around_and_between(self):
        self.expect("pairs", "ledger/a.cc", 1, {
            "ledger/a.cc": SIX, "server/b.cc": SIX.replace("  tape", "tape").replace(";\n", ";\n  // Why.\n\n", 2)})

    def test_five_lines_braces_and_tests_are_free(self):
        five = SIX.split("\n", 1)[1]
        braces = "#include \"common/hash.h\"\n" * 3 + "}\n" * 5 + "public:\n  // Why.\n"
        self.expect_none("pairs", {"ledger/a.cc": five + braces, "ledger/b.cc": five + "int x;\n" + braces,
                                   "tests/ledger/c.cc": SIX, "tests/ledger/d.cc": SIX, "ledger/e.cc": SIX + SIX})
