"""Pairs: the same lines in two files of the product."""

import re
from collections import defaultdict
from typing import Iterator

from ratchet import Measure, Ratchet
from tree import Finding, Tree, is_product

LINES_MIN = 6
PAIRS = Ratchet("pairs.txt", "Files that share six lines or more, and why that is right: FILE FILE LINES # reason.",
                (0,), reason_needed=True)
# Lines that any two files may share: braces and brackets, includes, comments, labels, ends of namespaces.
TRIVIAL = re.compile(r"[\s{}()\[\];,]*|#.*|//.*|/\*.*|\*.*|(public|private|protected):|(inline )?namespace\b.*|using .*;"
                     r"|else \{|\} else \{|do \{|default:|break;|return;|continue;|};?\s*//.*")


def telling_lines(text: str) -> list:
    """(line number, text) of the lines that say something of their own."""
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)
            if not TRIVIAL.fullmatch(line.strip())]


def measure_pairs(tree: Tree) -> Iterator[Measure]:
    windows = defaultdict(dict)  # Six lines -> path -> index of the first.
    lines = {}
    for file in tree.code():
        if is_product(file.path):
            lines[file.path] = telling_lines(file.text)
            texts = [line for _, line in lines[file.path]]
            for at in range(len(texts) - LINES_MIN + 1):
                windows[hash(tuple(texts[at:at + LINES_MIN]))].setdefault(file.path, at)
    shared = defaultdict(set)  # Pair of paths -> indexes of shared lines in the first.
    for places in windows.values():
        paths = sorted(places)
        for at, first in enumerate(paths):
            for second in paths[at + 1:]:
                shared[first, second].update(range(places[first], places[first] + LINES_MIN))
    for (first, second), indexes in sorted(shared.items()):
        line = lines[first][min(indexes)][0]
        yield Measure(f"{first} {second}", (len(indexes),), first, line, f"{len(indexes)} lines stand in {second} too")


def check_pairs(tree: Tree) -> Iterator[Finding]:
    """No six lines that say something stand in two files of the product, apart from ratchet/pairs.txt."""
    yield from PAIRS.compare(tree, list(measure_pairs(tree)))
