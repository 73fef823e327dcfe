#!/usr/bin/env python3
"""The acceptance list: tests/acceptance/rows.toml against docs/reference/services.md and the tests.

Usage: acceptance.py --bin DIR      every done row is in the list, and its cases are there for both turns; prints the counts
       acceptance.py --write        writes the column `turns` and the section about it in services.md
       acceptance.py --targets      prints the binaries that the list names

`./gcoord judge turns` (tests/judges/turns_judge.py) runs the list. Exit code 1: the list, the page and the tests disagree.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).resolve().parent / "rows.toml"
PAGE = ROOT / "docs" / "reference" / "services.md"
BEGIN, END = "<!-- turns:begin -->", "<!-- turns:end -->"
TURNS = ("host", "resident")
PREFIX = "BothTurns/"
COLUMN = "turns"


@dataclass
class Row:
    code: str
    what: str  # How the cell begins; the code alone need not be unique.
    tests: list = field(default_factory=list)
    ctest: list = field(default_factory=list)
    left: str = ""   # A key of the reasons.
    alone: str = ""  # Why it needs no node.

    def cell(self) -> str:
        if self.left:
            return f"host: [{self.left}](#both-turns)"
        return "no node" if self.alone else "both"

    def filters(self) -> dict:
        """Of each binary: the cases, without the instance's name and the turn."""
        filters = {}
        for test in self.tests:
            binary, cases = test.split()
            filters.setdefault(binary, []).append(cases)
        return filters


def load() -> tuple:
    """The rows, and the reasons by their names."""
    whole = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Row(**row) for row in whole["row"]], whole["reasons"]


def cells_of(line: str) -> list:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Page:
    """The tables of services.md that have a column `status`."""

    def __init__(self):
        self.lines = PAGE.read_text(encoding="utf-8").splitlines()
        self.rows = []  # (Number of the line, its cells by column.)
        columns = []
        for number, line in enumerate(self.lines):
            if not line.startswith("|"):
                columns = []
                continue
            cells = cells_of(line)
            if not columns:
                columns = cells
            elif "status" in columns and not set(line) <= set("|-: "):
                self.rows.append((number, dict(zip(columns, cells))))

    def done(self) -> list:
        return [(number, row) for number, row in self.rows if row["status"].startswith("done")]


def code_of(row: dict) -> str:
    return next(iter(row.values()))


def what_of(row: dict) -> str:
    return list(row.values())[1]


def pairs(rows: list, page: Page, failures: list) -> list:
    """Each done row of the page with its row of the list."""
    found, left = [], list(rows)
    for number, cells in page.done():
        fitting = [row for row in left if row.code == code_of(cells) and what_of(cells).startswith(row.what)]
        if len(fitting) != 1:
            failures.append(f"services.md:{number + 1}: {len(fitting)} rows of rows.toml are {code_of(cells)}: "
                            f"{what_of(cells)[:60]}")
            continue
        left.remove(fitting[0])
        found.append((number, fitting[0]))
    failures += [f"rows.toml: no done row of services.md is {row.code}: {row.what}" for row in left]
    return found


def faults_of(row: Row, reasons: dict) -> list:
    kinds = bool(row.tests or row.ctest or row.left) + bool(row.alone)
    faults = [] if kinds == 1 else [f"{row.code}: has tests or a reason to leave, or needs no node"]
    if row.left and row.left not in reasons:
        faults.append(f"{row.code}: no reason is called {row.left}")
    return faults


def cases_of(program: Path, filters: list) -> dict:
    """Names without the turn -> the turns that they are instantiated with."""
    wanted = ":".join(f"{PREFIX}{cases}/*" if not cases.endswith("*") else f"{PREFIX}{cases}" for cases in filters)
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={wanted}"], capture_output=True, text=True,
                            check=True).stdout
    cases, suite = {}, ""
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        else:
            case, _, turn = name.rpartition("/")
            cases.setdefault(suite + case, set()).add(turn)
    return cases


def check_tests(rows: list, folder: Path, failures: list) -> int:
    """The number of cases at one turn."""
    count = set()
    built = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("CMakeLists.txt"))
    for row in rows:
        for test in row.ctest:
            if f"NAME {test}" not in built:
                failures.append(f"{row.code}: there is no test {test}")
        for binary, filters in row.filters().items():
            for cases in filters:
                found = cases_of(folder / binary, [cases])
                if not found:
                    failures.append(f"{row.code}: {binary} has no case {PREFIX}{cases}")
                failures += [f"{row.code}: {case} is instantiated for {', '.join(sorted(turns))} alone"
                             for case, turns in found.items() if turns != set(TURNS)]
                count.update((binary, case) for case in found)
    return len(count)


def counts_of(rows: list) -> str:
    both = sum(not row.left and not row.alone for row in rows)
    return (f"{len(rows)} done rows: {both} run at both turns, {sum(bool(row.left) for row in rows)} left out at the "
            f"resident turn, {sum(bool(row.alone) for row in rows)} need no node")


def section_of(rows: list, reasons: dict) -> list:
    lines = [BEGIN, f"{counts_of(rows)}.", "", "| reason | what the resident turn lacks | rows |", "|---|---|---|"]
    for name, text in reasons.items():
        codes = [row.code for row in rows if row.left == name]
        lines += [f"| {name} | {text} | {', '.join(codes)} |"] if codes else []
    return lines + [END]


def with_column(lines: list, cells: dict) -> list:
    """Every table with a column `status` gets the column behind it, anew; `cells` are those of lines that have one."""
    written, at, had = [], None, False  # Where the column is in this table; None: outside of one.
    for number, line in enumerate(lines):
        parts = re.split(r"(?<!\\)\|", line)
        if not line.startswith("|"):
            at = None
        elif at is None:
            names = [part.strip() for part in parts]
            at, had = names.index("status") + 1 if "status" in names else 0, COLUMN in names
            text = f" {COLUMN} "
        else:
            text = "---" if set(line) <= set("|-: ") else f" {cells.get(number, '-')} "
        if at:
            parts[at:at + had] = [text]
        written.append("|".join(parts))
    return written


def write(rows: list, reasons: dict, page: Page, found: list) -> None:
    lines = with_column(page.lines, {number: row.cell() for number, row in found})
    begin, end = lines.index(BEGIN), lines.index(END)
    lines[begin:end + 1] = section_of(rows, reasons)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=Path, help="directory of the test binaries")
    parser.add_argument("--write", action="store_true", help="write services.md")
    parser.add_argument("--targets", action="store_true", help="print the binaries that are named")
    options = parser.parse_args()
    rows, reasons = load()
    if options.targets:
        print(" ".join(sorted({binary for row in rows for binary in row.filters()})))
        return 0
    failures, page = [], Page()
    found = pairs(rows, page, failures)
    for row in rows:
        failures += faults_of(row, reasons)
    if options.write and not failures:
        write(rows, reasons, page, found)
        return 0
    if with_column(page.lines, {number: row.cell() for number, row in found}) != page.lines or "\n".join(
            section_of(rows, reasons)) not in "\n".join(page.lines):
        failures.append("services.md is not as rows.toml says; acceptance.py --write mends it")
    if options.bin is not None:
        cases = check_tests(rows, options.bin, failures)
        print(f"{counts_of(rows)}; {cases} cases at each turn")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
