"""Figures that may only fall: what already breaks a limit is written down in ratchet/NAME.txt and may not grow.

A line is `KEY FIGURE... # reason`; the reason is free text and is kept when the file is written again. A figure that grew
is a breach, and so is one that fell, until `tidy.py --ratchet` has written the lower one down: a ratchet has no slack.
"""

from dataclasses import dataclass
from typing import Iterator

from tree import Finding, Tree

FOLDER = "tests/tidy/ratchet"


@dataclass(frozen=True)
class Measure:
    """Something beyond a limit, and by how much."""

    key: str        # Words without '#'; the last ones are not numbers.
    figures: tuple
    path: str       # Where it is reported.
    line: int
    what: str


@dataclass(frozen=True)
class Entry:
    figures: tuple
    reason: str
    line: int


@dataclass(frozen=True)
class Ratchet:
    """One file of recorded figures. A figure within its limit is free to move."""

    name: str              # NAME.txt
    head: str              # The comment that begins the file.
    limits: tuple
    reason_needed: bool = False

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.name}"

    def entries(self, tree: Tree) -> dict:
        found = {}
        for number, line in enumerate(tree.texts.get(self.path, "").splitlines(), 1):
            stated, _, reason = line.partition("#")
            words = stated.split()
            count = len(self.limits)
            if len(words) > count:
                figures = tuple(int(word) for word in words[-count:])
                found[" ".join(words[:-count])] = Entry(figures, reason.strip(), number)
        return found

    def compare(self, tree: Tree, measures: list) -> Iterator[Finding]:
        entries = self.entries(tree)
        for measure in measures:
            entry = entries.pop(measure.key, None)
            now = self.clamped(measure.figures)
            if entry is None:
                yield Finding(measure.path, measure.line, measure.what)
            elif any(figure > old for figure, old in zip(now, self.clamped(entry.figures))):
                yield Finding(measure.path, measure.line,
                              f"{measure.what}; {self.name} allows {shown(entry.figures)}, it is {shown(measure.figures)}")
            elif now != self.clamped(entry.figures):
                yield Finding(self.path, entry.line, f"{measure.key} fell from {shown(entry.figures)} to "
                              f"{shown(measure.figures)}: run tests/tidy/tidy.py --ratchet")
            elif self.reason_needed and not entry.reason:
                yield Finding(self.path, entry.line, f"no reason stands beside {measure.key}")
        for key, entry in entries.items():
            yield Finding(self.path, entry.line, f"{key} is within its limit now: run tests/tidy/tidy.py --ratchet")

    def clamped(self, figures: tuple) -> tuple:
        return tuple(max(figure, limit) for figure, limit in zip(figures, self.limits))

    def rewrite(self, tree: Tree, measures: list, force: bool) -> list:
        """Writes the present figures; without force only lower ones. Returns what was refused."""
        entries = self.entries(tree)
        refused, lines = [], []
        for measure in sorted(measures, key=lambda measure: measure.key):
            entry = entries.get(measure.key)
            grew = entry is None or any(
                figure > old for figure, old in zip(self.clamped(measure.figures), self.clamped(entry.figures)))
            figures = measure.figures
            if grew and not force:
                refused.append(measure.key)
                if entry is None:
                    continue
                figures = entry.figures
            reason = entry.reason if entry else "as it was when the limit came" if self.reason_needed else ""
            lines.append(f"{measure.key} {shown(figures)}" + (f"  # {reason}" if reason else ""))
        target = tree.root / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        head = "".join(f"# {line}\n" for line in self.head.splitlines())
        target.write_text(head + "".join(line + "\n" for line in lines))
        return refused


def shown(figures: tuple) -> str:
    return " ".join(str(figure) for figure in figures)
