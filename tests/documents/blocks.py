"""Code blocks of pages in Markdown, and what the comments before them say.

A block is fenced by ``` and names its language. Comments stand directly before it, in any number, and a reader of the page
does not see them:

    <!-- not run: REASON -->           it is not run; not_run.txt counts these, and the counts may only fall
    <!-- run with: OLD => NEW -->      it is run with NEW in place of OLD
    <!-- given:
    CODE -->                           what the block needs before it; for C and C++ with its open braces, closed after it
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Tuple

RUN = ("python", "c", "cpp", "sh", "console")
SHOWN = ("text", "json", "hex", "gcoord-step", "cmake", "toml", "ini", "yaml")  # No programs, or run by tests of their own.


@dataclass
class Block:
    page: str
    line: int  # Of its first line of code, from 1.
    language: str
    code: str
    given: str = ""
    not_run: str = ""  # The reason.
    changes: List[Tuple[str, str]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    def changed(self) -> str:
        code = self.code
        for old, now in self.changes:
            if old not in code:
                raise ValueError(f"{self.place}: 'run with' names {old!r}, which is not in the block")
            code = code.replace(old, now)
        return code


def _note(block: Block, comment: str) -> None:
    head, _, rest = comment.partition(":")
    if head.strip() == "not run":
        block.not_run = rest.strip() or "no reason"
    elif head.strip() == "run with":
        old, arrow, now = rest.strip().partition(" => ")
        if not arrow:
            raise ValueError(f"{block.place}: 'run with' needs OLD => NEW")
        block.changes.append((old, now))
    elif head.strip() == "given":
        block.given += rest.strip("\n") + "\n"


def blocks_of(page: str, text: str) -> List[Block]:
    found: List[Block] = []
    comments: List[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("<!--"):
            begin = at
            while "-->" not in lines[at]:
                at += 1
            comments.append("\n".join(lines[begin:at + 1])[4:].split("-->")[0])
        elif line.startswith("```"):
            end = at + 1
            while not lines[end].startswith("```"):
                end += 1
            words = line[3:].split()
            block = Block(page, at + 2, words[0] if words else "", "\n".join(lines[at + 1:end]) + "\n")
            for comment in comments:
                _note(block, comment)
            found.append(block)
            comments, at = [], end
        elif line.strip():
            comments = []
        at += 1
    return found


def judge_languages(blocks: List[Block]) -> List[str]:
    known = ", ".join(RUN + SHOWN)
    return [f"{block.place}: the block names no known language after its ```: one of {known}"
            for block in blocks if block.language not in RUN + SHOWN]


def judge_counts(blocks: List[Block], record: Path) -> List[str]:
    """The blocks that are not run, page by page, against what is recorded: no more, and no fewer without saying so."""
    counts: Dict[str, int] = {}
    for block in blocks:
        if block.not_run and block.language in RUN:
            counts[block.page] = counts.get(block.page, 0) + 1
    recorded: Dict[str, int] = {}
    for line in record.read_text("utf-8").splitlines():
        stated = line.partition("#")[0].split()
        if stated:
            recorded[stated[0]] = int(stated[1])
    wrong = []
    for page in sorted(set(counts) | set(recorded)):
        count, limit = counts.get(page, 0), recorded.get(page, 0)
        if count > limit:
            wrong.append(f"{page}:1: {count} blocks are not run, {record.name} allows {limit}. Make them run")
        elif count < limit:
            wrong.append(f"{page}:1: only {count} blocks are not run. Write {count} down in {record.name}")
    return wrong
