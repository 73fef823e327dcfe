#!/usr/bin/env python3
"""Holds the source tree against the rules of the house (CONTRIBUTING.md).

Usage: tidy.py [--root DIR] [--rule NAME] [--ratchet [--force]]. Prints one line per breach, "file:line: what [rule]", and
exits with 1 when there is any. A rule is a function that takes the tree and yields findings; RULES at the end lists them.
tidy_test.py plants a breach of each rule and expects it to be found. Needs nothing but python3.

Some rules keep a ratchet (ratchet.py): figures that may only fall. --ratchet writes down those that fell; with --force it
writes down all of them as they are.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Iterator

from rules_classes import (CLASSES, FANOUT, PARAMETERS, check_class, check_environment, check_fanout, check_parameters,
                           measure_classes, measure_fanout, measure_parameters)
from rules_definitions import check_one_definition
from rules_documents import check_commits, check_documents, check_rule_lists
from rules_floors import check_floors, check_hd_headers, check_knowledge, check_never
from rules_folders import FOLDERS, check_dead_files, check_folder, check_mirror, measure_folders
from rules_pairs import PAIRS, check_pairs, measure_pairs
from rules_rooms import check_rooms
from rules_rows import check_rows
from rules_text import check_format, check_headers, check_sizes, check_sleeps
from rules_words import STRUCK, check_names, check_words, measure_struck_words
from tree import Finding, Tree


def check_rules(tree: Tree) -> Iterator[Finding]:
    """CONTRIBUTING.md and tests/tidy/CMakeLists.txt list these rules, and no others."""
    yield from check_rule_lists(tree, RULES)


RULES = {
    "floors": check_floors,
    "rooms": check_rooms,
    "never": check_never,
    "knowledge": check_knowledge,
    "hd-headers": check_hd_headers,
    "rows": check_rows,
    "folder": check_folder,
    "mirror": check_mirror,
    "dead-files": check_dead_files,
    "class": check_class,
    "one-definition": check_one_definition,
    "environment": check_environment,
    "fan-out": check_fanout,
    "parameters": check_parameters,
    "sizes": check_sizes,
    "headers": check_headers,
    "names": check_names,
    "words": check_words,
    "pairs": check_pairs,
    "documents": check_documents,
    "rules": check_rules,
    "commits": check_commits,
    "sleeps": check_sleeps,
    "format": check_format,
}

RATCHETS = {
    "folder": (FOLDERS, measure_folders),
    "class": (CLASSES, measure_classes),
    "fan-out": (FANOUT, measure_fanout),
    "parameters": (PARAMETERS, measure_parameters),
    "words": (STRUCK, measure_struck_words),
    "pairs": (PAIRS, measure_pairs),
}


def report(tree: Tree, rules: list, times: bool) -> int:
    breaches = 0
    for rule in rules:
        begin = time.monotonic()
        for finding in RULES[rule](tree):
            breaches += finding.fatal
            print(f"{finding.path}:{finding.line}: {'' if finding.fatal else 'warning: '}{finding.what} [{rule}]")
        if times:
            print(f"{rule}: {time.monotonic() - begin:.2f} s", file=sys.stderr)
    return 1 if breaches else 0


def rewrite_ratchets(tree: Tree, rules: list, force: bool) -> int:
    refused = 0
    for rule in rules:
        if rule in RATCHETS:
            ratchet, measure = RATCHETS[rule]
            for key in ratchet.rewrite(tree, list(measure(tree)), force):
                refused += 1
                print(f"{ratchet.path}: {key} is new or grew; --force writes it down [{rule}]")
    return 1 if refused else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--rule", choices=RULES, action="append", help="only this rule; may be repeated")
    parser.add_argument("--ratchet", action="store_true", help="write down the figures that fell")
    parser.add_argument("--force", action="store_true", help="with --ratchet: write down all figures as they are")
    parser.add_argument("--times", action="store_true", help="say how long each rule took")
    options = parser.parse_args()
    tree = Tree.read(options.root)
    rules = options.rule or list(RULES)
    if options.ratchet:
        return rewrite_ratchets(tree, rules, options.force)
    return report(tree, rules, options.times)


if __name__ == "__main__":
    sys.exit(main())
