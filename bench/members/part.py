"""What the parts of the benchmark have in common: how a part ends, and quantiles and tables of what it measured."""

import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path


class Part:
    """One part under way: its options, its random numbers, and the time after which it begins nothing more."""

    def __init__(self, options):
        self.options = options
        self.drawn = random.Random(options.seed)
        self.deadline = time.monotonic() + options.limit
        self.failures = []
        self.load_average = [round(os.getloadavg()[0], 2)]

    def out_of_time(self) -> bool:
        return time.monotonic() > self.deadline

    def failed(self, words: str) -> None:
        print(f"  failed: {words}", file=sys.stderr)
        self.failures.append(words)

    def finished(self, method: str, rows: list, **raw) -> dict:
        self.load_average.append(round(os.getloadavg()[0], 2))
        return {"method": method, "load_average": self.load_average, "failures": self.failures, "rows": rows, **raw}


class Scratch:
    """A directory for the length of a `with`."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="gcoord-members-"))
        return self.path

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def quantile(times: list, part: float):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def rounded(value, digits: int = 4):
    return None if value is None else round(value, digits)


def print_rows(title: str, rows: list) -> None:
    """As a table, with the names of the fields above."""
    print(f"\n{title}", file=sys.stderr)
    if not rows:
        return
    cells = [list(rows[0])] + [["-" if value is None else str(value) for value in row.values()] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), file=sys.stderr)
