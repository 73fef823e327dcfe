#!/usr/bin/env python3
"""Benchmarks that count instead of measuring, held to the bytes of the results that they once gave.

Usage: recorded_results.py --bench GCOORD_BENCH --directory DIR [--write] RECORD ...

RECORD is NAME.json: the result file of `gcoord-bench NAME`, in which the machine has its names only. The line on stdout is the
same without blanks. --write records what the program gives now. Exits with 1 when a result differs.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

MACHINE = re.compile(r'("machine":\s*){([^{}]*)}')


def without_machine(text):
    """With null for each value of the machine that it ran on."""
    return MACHINE.sub(lambda match: match.group(1) + "{" + re.sub(r'(": ?)("[^"]*"|[\d.e+-]+)', r"\1null", match.group(2)) + "}", text)


def measured(bench, name, directory):
    """The line and the file of a run."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    command = [bench, name, "--json", "--results", str(directory / "results"), "--directory", str(directory)]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (file,) = (directory / "results").iterdir()
    return without_machine(line), without_machine(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("records", type=Path, nargs="+")
    options = parser.parse_args()
    wrong = 0
    for record in options.records:
        line, file = measured(options.bench, record.stem, options.directory)
        if options.write:
            record.write_text(file)
        expected = record.read_text()
        # Of these results no name and no text holds a blank.
        for what, then, now in (("file", expected, file), ("line", re.sub(r"\s", "", expected), line.rstrip("\n"))):
            if then != now:
                wrong += 1
                print(f"{record.stem}, {what}:\n{now}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
