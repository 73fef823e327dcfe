#!/usr/bin/env python3
"""promtool has nothing to say about the metrics of a node of any kind.

Usage: promtool_pages.py --node GCOORDD --promtool PROMTOOL

A slice of `./gcoord judge prometheus` for every run of the tests: one page of each kind of node, no load and no server.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from metrics_reference import KINDS, page_of

WRONG = "# HELP gcoord_waits_total Waits.\n# TYPE gcoord_waits_total gauge\ngcoord_waits_total 1\n"


def complaints(promtool: Path, page: str) -> str:
    """Empty when there are none."""
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return said or ("exit code " + str(done.returncode) if done.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("node", "promtool"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    failures = [] if complaints(options.promtool, WRONG) else ["promtool takes a page that is wrong"]
    for kind, words in KINDS.items():
        said = complaints(options.promtool, page_of(options.node.resolve(), words))
        failures += [f"{kind}: {said}"] if said else []
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
