#!/usr/bin/env python3
"""Runs the code blocks of README.md and docs against a real node, and compiles those in C and C++.

Usage: run_blocks.py --bin DIR --library FILE [--compiler CXX] [PAGE ...]. Prints what fails, "page:line: ...", and exits
with 1 when anything does. blocks.py says which comments in a page's source steer it.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from blocks import blocks_of, judge_counts, judge_languages
from runners import Node, Place, run_all

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("not_run.txt")


def pages() -> list:
    found = [ROOT / "README.md", ROOT / "client/python/README.md"]
    for folder in ("tutorials", "how-to", "reference", "internals"):
        found += sorted((ROOT / "docs" / folder).glob("*.md"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("pages", nargs="*", type=Path)
    asked = parser.parse_args()
    begin = time.monotonic()
    chosen = [page.resolve() for page in asked.pages] or pages()
    blocks = [block for page in chosen
              for block in blocks_of(page.relative_to(ROOT).as_posix(), page.read_text("utf-8"))]
    wrong = judge_languages(blocks) + ([] if asked.pages else judge_counts(blocks, RECORD))
    with tempfile.TemporaryDirectory(prefix="gcoord-blocks-") as scratch:
        place = Place(ROOT, asked.bin.resolve(), asked.library.resolve(), asked.compiler, Path(scratch))
        node = Node(place)
        try:
            wrong += run_all(blocks, place)
        finally:
            node.stop()
    for each in wrong:
        print(each)
    print(f"{len(blocks)} blocks of {len(chosen)} pages, {len(wrong)} failures, {time.monotonic() - begin:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
