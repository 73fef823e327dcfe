"""Text of files and functions: length, headers, sleeps in tests, format."""

import ast
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator

from cpp_source import Function
from tree import CODE_SUFFIXES, PUBLIC_HEADERS, Finding, Tree, is_product, top_of

FILE_LINES_WARN = 500
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
KERNEL_LINES_MAX = 15
COMMENT_SHARE = 1 / 3
C_INTERFACE = "client/c"  # Implements gcoord_*.h; gcoord/client.h and its like are the C++ interface, of client/api.
QUESTION_WORDS = {"what", "whatever", "who", "whoever", "whose", "whom", "which", "where", "when", "why", "how", "whether"}


def check_sizes(tree: Tree) -> Iterator[Finding]:
    """Files stop at 800 lines and warn at 500; functions at 70, kernels at 15."""
    for path in tree.texts:
        suffix = Path(path).suffix
        if suffix not in CODE_SUFFIXES | {".py", ".sh"}:
            continue
        lines = tree.texts[path].count("\n")
        if lines > FILE_LINES_WARN:
            yield Finding(path, 1, f"{lines} lines; is there more than one idea in it?", lines > FILE_LINES_MAX)
        if suffix == ".py":
            yield from long_python_functions(path, tree.texts[path])
    for file in tree.code():
        for function in file.functions():
            limit = KERNEL_LINES_MAX if "__global__" in function.header else FUNCTION_LINES_MAX
            if function.lines > limit:
                yield Finding(file.path, function.line, f"{name_of(function)} has {function.lines} lines, limit {limit}")


def long_python_functions(path: str, text: str) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield Finding(path, node.lineno, f"{node.name} has {lines} lines, limit {FUNCTION_LINES_MAX}")


def name_of(function: Function) -> str:
    head = function.header.split("(")[0].split()
    return head[-1] if head else "a function"


def check_headers(tree: Tree) -> Iterator[Finding]:
    """A header begins with a comment that names its thing and has #pragma once; a source includes its own header first;
    public headers are one third comment."""
    for file in tree.code():
        if file.path.endswith((".h", ".cuh")):
            if not re.search(r"^#pragma once$", file.text, re.M):
                yield Finding(file.path, 1, "no #pragma once")
            if not file.text.startswith("//"):
                yield Finding(file.path, 1, "no file comment on the first line")
            elif is_product(file.path) and (word := first_word(file.text)) in QUESTION_WORDS:
                yield Finding(file.path, 1, f"the first sentence begins with \"{word}\": name the thing in the field's words")
            continue
        own = own_header(tree, file.path)
        if own and file.includes and file.includes[0][1] != own:
            yield Finding(file.path, file.includes[0][0], f"own header \"{own}\" is not included first")
    yield from check_public_headers(tree)


def first_word(text: str) -> str:
    found = re.match(r"//+\s*([A-Za-z]+)", text)
    return found.group(1).lower() if found else ""


def check_public_headers(tree: Tree) -> Iterator[Finding]:
    """All together a third; a header with less is named in a note."""
    lines = comments = 0
    for path in tree.all_code:
        if path.startswith(PUBLIC_HEADERS):
            own_lines, own_comments = comment_lines(tree.texts[path])
            lines, comments = lines + own_lines, comments + own_comments
            if own_comments < own_lines * COMMENT_SHARE:
                yield Finding(path, 1, f"{own_comments} of {own_lines} lines are comment, less than a third", False)
    if comments < lines * COMMENT_SHARE:
        yield Finding(PUBLIC_HEADERS.rstrip("/"), 1, f"{comments} of {lines} lines of the public headers are comment, "
                      "less than a third")


def comment_lines(text: str) -> tuple:
    """(lines that are not blank, lines of these that are comment and nothing else)."""
    lines = comments = 0
    block = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped:
            lines += 1
            comments += block or stripped.startswith(("//", "/*"))
            block = (stripped.startswith("/*") or block) and "*/" not in stripped
    return lines, comments


def own_header(tree: Tree, path: str) -> str:
    """The header that a source file implements or a test mirrors, as it would be included; "" if there is none."""
    where, stem = Path(path).parent, Path(path).stem
    if where.parts[0] == "tests":
        if not stem.endswith("_test") or len(where.parts) < 2:
            return ""
        where, stem = Path(*where.parts[1:]), stem[: -len("_test")]
    header = (where / f"{stem}.h").as_posix()
    if header in tree.texts:
        return header
    if where.as_posix() == C_INTERFACE:
        return ""
    return f"gcoord/{stem}.h" if f"{where.parts[0]}/include/gcoord/{stem}.h" in tree.texts else ""


def check_sleeps(tree: Tree) -> Iterator[Finding]:
    """No test sleeps: it waits for an event or moves a clock of its own."""
    for file in tree.code():
        if top_of(file.path) != "tests" or "sleep" not in file.text:
            continue
        for match in re.finditer(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(", file.code):
            yield Finding(file.path, file.line_at(match.start()), f"{match.group(1)} in a test")


def check_format(tree: Tree) -> Iterator[Finding]:
    """clang-format 14 leaves every file as it is. Skipped loudly where it is not installed."""
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout if tool else ""
    if " version 14." not in version:
        print("skipped: the format was not checked, clang-format 14 is not installed", file=sys.stderr)
        return
    paths = list(tree.all_code)

    def errors(start: int) -> str:
        return subprocess.run([tool, "--dry-run", "--Werror", *paths[start:start + 100]],
                              cwd=tree.root, capture_output=True, text=True).stderr

    reported = set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(errors, range(0, len(paths), 100)):
            for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", text, re.M):
                if match.group(1) not in reported:
                    reported.add(match.group(1))
                    yield Finding(match.group(1), int(match.group(2)),
                                  "clang-format would change this; run clang-format -i")
