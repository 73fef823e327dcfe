#!/usr/bin/env python3
"""Broken blocks are found, of each language, and so are blocks that nobody runs."""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path

from blocks import blocks_of, judge_counts, judge_languages
from runners import Node, Place, run_all


class Blocks(unittest.TestCase):
    place: Place

    def said(self, language: str, code: str, before: str = "") -> str:
        page = f"# A page\n\n{before}```{language}\n{code}\n```\n"
        return "\n".join(run_all(blocks_of("docs/page.md", page), self.place))

    def assert_found(self, expected: str, language: str, broken: str, right: str, before: str = "") -> None:
        self.assertEqual(self.said(language, right, before), "")
        self.assertIn(expected, self.said(language, broken, before))

    def test_python(self):
        right = 'import gcoord\nwith gcoord.Client("127.0.0.1:7400") as client:\n    client.list()'
        self.assert_found('"docs/page.md", line 6', "python", right.replace("list", "lits"), right)

    def test_python_with_await_and_what_is_given(self):
        right = "await asyncio.sleep(0)\nassert given == 7"
        self.assert_found('"docs/page.md", line 7', "python", right.replace("7", "8"), right,
                          "<!-- given:\nimport asyncio; given = 7 -->\n")

    def test_cpp(self):
        right = '#include "gcoord/client.h"\nauto client = gcoord::client::Client::connect({.endpoints = {"a:1"}});'
        self.assert_found("docs/page.md:5", "cpp", right.replace("connect", "conect"), right)

    def test_c(self):
        right = '#include "gcoord/gcoord.h"\nif (gcoord_lock_valid(lock)) { gcoord_lock_detach(lock); }'
        self.assert_found("docs/page.md:7", "c", right.replace("detach(lock)", "detach()"), right,
                          "<!-- given:\nvoid use(gcoord_lock* lock) { -->\n")

    def test_shell(self):
        right = "gcoordctl status\nname=jobs/1\ngcoordctl lock acquire $name --ttl 30s -o json\n" \
                "gcoordctl lock check $name --token TOKEN\n" \
                "gcoordctl lock release $name --token TOKEN --session SESSION\ngcoordctl watch $name    # until Ctrl-C"
        self.assert_found("line 5 of the page", "sh", right.replace("name=jobs/1", "gcoordctl no-such-verb"), right)
        self.assertIn("line 9 of the page", self.said("sh", right.replace("watch", "watch --wrong")))

    def test_console(self):
        right = '$ gcoordctl -o json lock check jobs/2 --token 7 || true\n{"name":"jobs/2",...'
        self.assert_found("the page says", "console", right.replace("jobs/2\",", "jobs/3\","), right)

    def test_what_is_replaced_must_be_there(self):
        self.assertEqual(self.said("sh", "sleep 60", "<!-- run with: sleep 60 => true -->\n"), "")
        with self.assertRaisesRegex(ValueError, "not in the block"):
            self.said("sh", "sleep 6", "<!-- run with: sleep 60 => true -->\n")

    def test_blocks_without_a_language_and_more_that_are_not_run(self):
        page = "```\nls\n```\n<!-- not run: slow -->\n```sh\nfalse\n```\n"
        blocks = blocks_of("page.md", page)
        self.assertIn("page.md:2", judge_languages(blocks)[0])
        self.assertEqual(run_all(blocks, self.place), [])
        record = self.place.scratch / "not_run.txt"
        for allowed, expected in (("# none\n", "allows 0"), ("page.md 1\n", ""), ("page.md 2\n", "Write 1 down")):
            record.write_text(allowed, "utf-8")
            self.assertIn(expected, "".join(judge_counts(blocks, record)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--compiler", default="g++")
    asked, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="gcoord-blocks-") as scratch:
        Blocks.place = Place(Path(__file__).resolve().parents[2], asked.bin.resolve(), asked.library.resolve(),
                             asked.compiler, Path(scratch))
        node = Node(Blocks.place)
        try:
            done = unittest.main(argv=[sys.argv[0], *rest], exit=False)
        finally:
            node.stop()
    sys.exit(0 if done.result.wasSuccessful() else 1)
