#!/usr/bin/env python3
"""Makes the table of rooms out of the CMake files: what each owns and what it builds on.

Usage: room_table.py [--root DIR] [--write]. Prints the table; with --write puts it between the marks of
docs/internals/rooms.md. The rule `documents` of tidy.py holds the page to it.
"""

import argparse
import sys
from pathlib import Path

from rules_rooms import rooms_of
from tree import FLOORS, Tree, top_of

PAGE = "docs/internals/rooms.md"
BEGIN = "<!-- rooms:begin -->"
END = "<!-- rooms:end -->"


def table_of(tree: Tree) -> str:
    rooms = rooms_of(tree)
    keys = [key for key, unit in rooms.libraries.items() if top_of(unit.path) != "tests"]
    lines = ["| room | owns | builds on |", "|---|---|---|"]
    for key in sorted(keys, key=lambda key: (FLOORS[top_of(key)], key)):
        unit = rooms.libraries[key]
        owns = tree.texts[unit.path].split("\n", 1)[0].removeprefix("# Owns ").strip().rstrip(".")
        deps = " ".join(f"`{dep}`" for dep in sorted(set(unit.deps)))
        lines.append(f"| `{key}` | {owns.replace('|', chr(92) + '|')} | {deps or '-'} |")
    return "\n".join(lines)


def stated_table(text: str) -> str:
    """What stands between the marks, "" without them."""
    _, found, rest = text.partition(BEGIN)
    inside, closed, _ = rest.partition(END)
    return inside.strip() if found and closed else ""


def with_table(text: str, table: str) -> str:
    if BEGIN not in text or END not in text:
        text = text.rstrip() + f"\n\n{BEGIN}\n{END}\n" if text else f"# Rooms\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    options = parser.parse_args()
    tree = Tree.read(options.root)
    table = table_of(tree)
    if not options.write:
        print(table)
        return 0
    page = options.root / PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(with_table(page.read_text() if page.exists() else "", table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
