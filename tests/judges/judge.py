#!/usr/bin/env python3
"""Lets foreign programs judge gcoord: runs them against fresh nodes and says what passed and what failed.

Usage: judge.py --bin DIR [--write] [NAME ...]     without a NAME: all of them
       judge.py --bin DIR --short NAME             a slice of a few seconds, of a judge that has one
       judge.py --list

Each judge is a module beside this one with `SUMMARY`, a sentence, and `judge(bin, verdict)`, which calls the verdict. With
--write the rows of docs/reference/judges.md are written anew. Exit code 1: something failed.
"""

import argparse
import importlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "reference" / "judges.md"
BEGIN, END = "<!-- judges:begin -->", "<!-- judges:end -->"
NAMES = ("fronts", "prometheus", "rights", "secrets", "spiffe", "stacks", "tls", "turns")


@dataclass
class Verdict:
    """What one judge found. `figures` are lines such as "p99 3 ms, etcd 9 ms", the peer's beside ours, of one run."""
    name: str
    programs: dict = field(default_factory=dict)  # Foreign programs and their versions.
    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    figures: list = field(default_factory=list)

    def expect(self, what: str, holds: bool, evidence: str = "") -> bool:
        (self.passed if holds else self.failed).append(what)
        if not holds:
            print(f"FAILED: {what}: {evidence.strip()[:2000]}", file=sys.stderr)
        return holds

    def row(self) -> str:
        programs = ", ".join(f"{program} {version}" for program, version in self.programs.items())
        return f"| {self.name} | {programs} | {len(self.passed)} | {len(self.failed)} | {'; '.join(self.figures) or '-'} |"


def write_page(verdicts: list) -> None:
    """Rows of judges that did not run stay as they are."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    lines = table.strip().splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    rows.update({verdict.name: verdict.row() for verdict in verdicts})
    whole = "\n".join([*lines[:2], *(rows[name] for name in sorted(rows))])
    PAGE.write_text(f"{before}{BEGIN}\n{whole}\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=Path, help="directory of gcoordd and gcoordctl")
    parser.add_argument("--write", action="store_true", help="write the rows of docs/reference/judges.md")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each judge")
    parser.add_argument("--short", action="store_true", help="only the slice that the tests run")
    parser.add_argument("--list", action="store_true", help="list the judges")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    sys.path[:0] = [str(FOLDER), str(ROOT / "bench")]
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no judge is called {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    if options.list:
        for name in NAMES:
            print(f"{name:12} {importlib.import_module(name + '_judge').SUMMARY}")
        return 0
    if options.bin is None:
        parser.error("--bin is missing")
    verdicts = []
    for name in options.names or NAMES:
        verdict = Verdict(name)
        module = importlib.import_module(name + "_judge")
        (module.judge_short if options.short else module.judge)(options.bin.resolve(), verdict)
        verdicts.append(verdict)
        if options.json:
            print(json.dumps(vars(verdict)))
        else:
            programs = ", ".join(f"{program} {version}" for program, version in verdict.programs.items())
            print(f"{name}: {programs}: {len(verdict.passed)} passed, {len(verdict.failed)} failed"
                  + "".join(f"\n  {figure}" for figure in verdict.figures))
    if options.write:
        write_page(verdicts)
    return 1 if any(verdict.failed for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
