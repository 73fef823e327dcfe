"""The acceptance list at both turns, row by row (tests/acceptance/rows.toml).

No foreign program: the judge of the resident turn is the host turn, which the same cases run against. GCOORD_TURNS_DEVICE
names the device of resident nodes, as --device does; without it they are emulated.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from judge import ROOT, Verdict

sys.path.append(str(ROOT / "tests" / "acceptance"))

import acceptance  # noqa: E402 (found by the line above)

SUMMARY = "every done row of docs/reference/services.md, by the same tests at the host turn and at the resident turn"
PATIENCE_S = 900  # For the cases of one row at one turn; only an end for one that hangs.


def run_cases(program: Path, cases: list, turn: str) -> tuple:
    """Whether all passed, how many ran and were skipped, and what was said."""
    wanted = ":".join(f"{acceptance.PREFIX}{case}{'' if case.endswith('*') else '/'}*{turn}" for case in cases)
    command = [program, f"--gtest_filter={wanted}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return False, 0, f"{program.name} has not ended within {PATIENCE_S} s"
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    count = int(passed.group(1)) if passed else 0
    return done.returncode == 0 and count > 0, count, done.stdout[-1500:]


def run_ctest(tree: Path, name: str) -> tuple:
    done = subprocess.run(["ctest", "--test-dir", tree, "-R", f"^{re.escape(name)}$", "--no-tests=error"],
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, int(done.returncode == 0), done.stdout[-1500:]


def result_of(bin_folder: Path, row: acceptance.Row, turn: str, ran: dict) -> tuple:
    """Each set of cases runs once, however many rows it stands for."""
    holds, count, said = True, 0, ""
    for key in [*((binary, *cases) for binary, cases in row.filters().items()), *row.ctest]:
        if (key, turn) not in ran:
            ran[key, turn] = (run_ctest(bin_folder.parent, key) if isinstance(key, str) else
                              run_cases(bin_folder / key[0], list(key[1:]), turn))
        each = ran[key, turn]
        holds, count, said = holds and each[0], count + each[1], said if each[0] else said + each[2]
    return holds, count, said


def judge(bin_folder: Path, verdict: Verdict) -> None:
    rows, _ = acceptance.load()
    device = os.environ.get("GCOORD_TURNS_DEVICE", "the emulation")
    print(f"{'row':24} {'host':>14} {'resident':>14}   resident nodes on {device}", file=sys.stderr)
    ran = {}
    for row in rows:
        if row.left or row.alone:
            print(f"{row.code:24} {row.left or 'needs no node'}", file=sys.stderr)
            continue
        shown = []
        for turn in acceptance.TURNS:
            begun = time.monotonic()
            holds, count, said = result_of(bin_folder, row, turn, ran)
            verdict.expect(f"{row.code} {row.what} at the {turn} turn", holds, said)
            shown.append(f"{count if holds else 'FAILED'}, {time.monotonic() - begun:.1f} s")
        print(f"{row.code:24} {shown[0]:>14} {shown[1]:>14}", file=sys.stderr)
    verdict.figures.append(acceptance.counts_of(rows))
