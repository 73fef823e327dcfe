"""Do the manual pages say what the programs' --help says, in a form that man takes without a warning?

usage: man_page_test.py --source DIR --pages DIR --ctl FILE --node FILE
"""

import argparse
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

OPTIONS = argparse.Namespace()

HELP = """gcoordctl: a program
Usage: gcoordctl [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this help message and exit
  --short N                   what fits, with a back\\slash
  --exactly-as-wide-as-it-get what begins one column further
  --long-name VALUE that is longer (Env:GCOORD_LONG_NAME)
                              what stands in the next line

Data:
  --data-dir DIR              where data is

Subcommands:
  get, g                      get it

Exit codes: 0 success.
.a line that roff would take for a request
"""


def load_generator():
    path = pathlib.Path(OPTIONS.source) / "cli" / "man" / "man_page.py"
    spec = importlib.util.spec_from_file_location("man_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verbs_of(generator, program, path=()):
    """Every verb of a program with its help, groups too."""
    asked = generator.ask(program, list(path))
    yield path, asked
    for verb in asked.verbs():
        yield from verbs_of(generator, program, (*path, verb))


class Parser(unittest.TestCase):
    def test_parts_of_a_help_text_are_told_apart(self):
        parsed = load_generator().Help(HELP)
        self.assertEqual(parsed.about, "gcoordctl: a program")
        self.assertEqual(parsed.usage, "gcoordctl [OPTIONS] SUBCOMMAND")
        self.assertEqual(
            parsed.lists["Options"][1:],
            [
                ("--short N", "what fits, with a back\\slash"),
                ("--exactly-as-wide-as-it-get", "what begins one column further"),
                ("--long-name VALUE that is longer (Env:GCOORD_LONG_NAME)", "what stands in the next line"),
            ],
        )
        self.assertEqual(parsed.lists["Data"], [("--data-dir DIR", "where data is")])
        self.assertEqual(parsed.verbs(), ["get"])
        self.assertEqual(parsed.footer[0], "Exit codes: 0 success.")

    def test_a_verb_does_not_repeat_what_stands_below_its_group(self):
        without = load_generator().without
        common = ["Exit codes: 0 success."]
        self.assertEqual(without(["Example: get x", "", *common], common), ["Example: get x"])
        self.assertEqual(without(common, common), [])
        self.assertEqual(without(["Its own."], common), ["Its own."])
        self.assertEqual(without(["Its own."], []), ["Its own."])

    def test_a_sentence_is_not_broken_where_the_help_was_full(self):
        full = "a line of the help that was broken at its right edge in the middle of a"
        lines = list(load_generator().paragraphs([full, "sentence.", "bash: one", "zsh: two"]))
        self.assertEqual(lines, [full, "sentence.", ".br", "bash: one", ".br", "zsh: two", ".br"])

    def test_text_is_no_command_of_roff(self):
        roff = load_generator().roff
        self.assertEqual(roff(".br"), "\\&.br")
        self.assertEqual(roff("'x"), "\\&'x")
        self.assertEqual(roff("a\\b -c"), "a\\eb \\-c")


class Pages(unittest.TestCase):
    def pages(self):
        return [(OPTIONS.ctl, OPTIONS.pages / "gcoordctl.1"), (OPTIONS.node, OPTIONS.pages / "gcoordd.8")]

    def test_every_verb_and_every_option_is_there(self):
        generator = load_generator()
        for program, page in self.pages():
            text = page.read_text(encoding="utf-8")
            for path, asked in verbs_of(generator, program):
                if path:
                    self.assertIn(".SS " + generator.roff(" ".join(path)) + "\n", text)
                for listed in asked.lists.values():
                    for name, _ in listed:
                        for option in re.findall(r"(?<!\S)--[a-z-]+|(?<=,)--[a-z-]+", name.split(" (Env")[0])[:1]:
                            if option != "--help":
                                self.assertIn(generator.roff(option), text, path)

    def test_man_takes_them_without_a_warning(self):
        checked = False
        for _, page in self.pages():
            for command in (["man", "--warnings", "-l"], ["mandoc", "-Tlint", "-Wwarning"]):
                if shutil.which(command[0]):
                    checked = True
                    read = subprocess.run([*command, str(page)], capture_output=True, text=True, timeout=60)
                    complaints = read.stderr if command[0] == "man" else read.stdout
                    self.assertEqual((read.returncode, complaints), (0, ""))
        if not checked:
            self.skipTest("neither man nor mandoc is here")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("--pages", required=True, type=pathlib.Path)
    parser.add_argument("--ctl", required=True)
    parser.add_argument("--node", required=True)
    parser.parse_args(namespace=OPTIONS)
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=1).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
