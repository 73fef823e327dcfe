#!/usr/bin/env python3
"""Holds the source tree against the rules of the house (CONTRIBUTING.md).

Usage: tidy.py [--root DIR] [--rule NAME]. Prints one line per breach, "file:line: what [rule]", and exits with 1 when
there is any. A rule is a function that takes the tree and yields findings; RULES at the end lists them. tidy_test.py
plants a breach of each rule and expects it to be found.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from cpp_source import CppFile, Function, identifiers

# Floors of docs/architecture.md: a folder includes folders of lower floors and itself, never a sibling.
FLOORS = {
    "common": 0,
    "consensus": 1, "ledger": 1, "netcore": 1, "rpc": 1, "sessions": 1,
    "locks": 2, "membership": 2, "client": 2,
    "server": 3,
    "cli": 4, "chaos": 4,
    "tests": 5, "bench": 5,
}

# What a folder must never know, as prefixes of the names in its includes.
CLOCKS_AND_THREADS = ("chrono", "thread", "mutex", "condition_variable", "random", "future")
FORBIDDEN_INCLUDES = {
    "consensus": ("rocksdb/", "ucp/", "ucs/", "asio") + CLOCKS_AND_THREADS,
    "locks": ("rocksdb/", "ucp/", "ucs/", "asio") + CLOCKS_AND_THREADS,
    "membership": ("rocksdb/", "ucp/", "ucs/", "asio", "sys/socket.h") + CLOCKS_AND_THREADS,
    "sessions": ("rocksdb/", "ucp/", "ucs/", "asio") + CLOCKS_AND_THREADS,
    "rpc": ("rocksdb/", "ucp/", "ucs/", "asio", "sys/socket.h") + CLOCKS_AND_THREADS,
    "ledger": ("ucp/", "ucs/", "asio"),
    "netcore": ("rocksdb/",),
    "client": ("rocksdb/", "cuda", "ucp/", "ucs/"),
}
# What C programs need too, in gcoord.h.
C_HEADERS = ("stdbool.h", "stddef.h", "stdint.h")
# nvcc 13 rejects these in C++20 (fmt, spdlog) or they cost too much in every .cu file.
FORBIDDEN_IN_HD_HEADERS = ("fmt/", "spdlog/", "grpc", "rocksdb/", "ranges", "format", "nlohmann/", "asio")

FILE_LINES_WARN = 500
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
KERNEL_LINES_MAX = 15

BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "misc", "data", "info", "my", "temp"}
BANNED_PREFIXES = ("do_", "new_")
BANNED_VERBS = ("process", "handle")  # As the first word of a function; on_<message> is the name for a reaction.
# Fixed terms: a canonical status code, the operator's word for where a node keeps its files, names of POSIX and std.
ALLOWED_NAMES = re.compile(r"data_?loss|data_?dir(ectory)?|k?DataLoss|DataDirectory\w*|dup2|pipe2|log2|exp2|sse4_2", re.I)
FOREIGN_NAME = re.compile(r"^(ucp|ucs|uct|epoll|rocksdb|json|asio|mg|std|prometheus)_|^cuda[A-Z]|^[A-Z][A-Z0-9_]*$")

TEST_TITLE = re.compile(r"\b(TEST|TEST_[FP]|RC_GTEST_\w+)\(\s*\w+,\s*\w+")  # A sentence; it may speak of data.

CODE_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".py", ".sh", ".cmake", ".txt", ".md", ".json", ".toml", ".yml", ""}
SKIPPED_FOLDERS = {"build", ".git", ".cache", ".carry", "__pycache__"}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    what: str
    fatal: bool = True


@dataclass
class Tree:
    """The files of the repository, read once."""

    root: Path
    texts: dict = field(default_factory=dict)  # Relative path -> text.

    @staticmethod
    def read(root: Path) -> "Tree":
        tree = Tree(root)
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
            for name in sorted(names):
                path = Path(folder) / name
                if path.suffix in TEXT_SUFFIXES and path.is_file():
                    tree.texts[path.relative_to(root).as_posix()] = path.read_text("utf-8", "replace")
        return tree

    def code(self) -> Iterator[CppFile]:
        for path, text in self.texts.items():
            if Path(path).suffix in CODE_SUFFIXES and path.split("/")[0] in FLOORS:
                yield CppFile.parse(path, text)


def room_of(path: str) -> str:
    return path.split("/")[0]


def check_floors(tree: Tree) -> Iterator[Finding]:
    """Includes and link dependencies only point down; siblings never include one another."""
    for file in tree.code():
        room = room_of(file.path)
        for line, name, _ in file.includes:
            target = "client" if name.startswith("gcoord/") else room_of(name)
            if target in FLOORS and target != room and FLOORS[target] >= FLOORS[room]:
                yield Finding(file.path, line, f"{room} is not above {target}: \"{name}\"")
    for path, text in tree.texts.items():
        room = room_of(path)
        if path != f"{room}/CMakeLists.txt" or room not in FLOORS:
            continue
        for library in re.finditer(r"gcoord_library\(([^)]*)\)", text):
            listed = re.search(r"\bDEPS\b(.*?)(?=\b(?:LINK|PRIVATE_LINK|SOURCES|HEADERS)\b|$)", library.group(1), re.S)
            for target in listed.group(1).split() if listed else ():
                if FLOORS.get(target, 0) >= FLOORS[room]:
                    line = text.count("\n", 0, library.start()) + 1
                    yield Finding(path, line, f"{room} links {target}, which is not below it")


def check_knowledge(tree: Tree) -> Iterator[Finding]:
    """A folder does not include what it must never know; public client headers need gcoord/ and std only."""
    for file in tree.code():
        room = room_of(file.path)
        for line, name, _ in file.includes:
            if any(name == bad or (bad.endswith(("/", "asio", "cuda", "grpc")) and name.startswith(bad))
                   for bad in FORBIDDEN_INCLUDES.get(room, ())):
                yield Finding(file.path, line, f"{room} must not know <{name}>")
            foreign = not name.startswith("gcoord/") and "." in name and name not in C_HEADERS
            if file.path.startswith("client/include/") and foreign:
                yield Finding(file.path, line, f"a public client header includes \"{name}\"")


def check_hd_headers(tree: Tree) -> Iterator[Finding]:
    """Headers for host and device include nothing that nvcc rejects; only common/ looks at the compiler."""
    for file in tree.code():
        hd = any(name == "common/hd.h" for _, name, _ in file.includes)
        if hd and file.path.endswith(".h"):
            for line, name, _ in file.includes:
                if name in FORBIDDEN_IN_HD_HEADERS or name.startswith(("fmt/", "spdlog/", "rocksdb/", "nlohmann/", "grpc")):
                    yield Finding(file.path, line, f"<{name}> in a header for device code")
        if room_of(file.path) not in ("common", "tests"):
            for match in re.finditer(r"__CUDA_ARCH__|__CUDACC__", file.code):
                yield Finding(file.path, file.line_at(match.start()), f"{match.group()} outside common/")


def check_sizes(tree: Tree) -> Iterator[Finding]:
    """Files stop at 800 lines and warn at 500; functions at 70, kernels at 15."""
    for path, text in tree.texts.items():
        lines = text.count("\n")
        suffix = Path(path).suffix
        if suffix in CODE_SUFFIXES | {".py", ".sh"} and lines > FILE_LINES_WARN:
            yield Finding(path, 1, f"{lines} lines; is there more than one idea in it?", lines > FILE_LINES_MAX)
        if suffix == ".py":
            yield from long_python_functions(path, text)
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


def blank_of(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def words_of(identifier: str) -> list:
    """GpuInfo_table -> gpu, info, table."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", identifier)]


def breach_of_name(identifier: str, called: bool) -> str:
    if ALLOWED_NAMES.search(identifier) or FOREIGN_NAME.search(identifier):
        return ""
    if identifier == "data" and called:
        return ""  # data() and size() are how the standard library names a contiguous range.
    banned = BANNED_WORDS.intersection(words_of(identifier))
    if banned:
        return f"\"{sorted(banned)[0]}\" in the name {identifier}"
    if identifier.startswith(BANNED_PREFIXES):
        return f"the name {identifier} starts with {identifier.split('_')[0]}_"
    if called and identifier.split("_")[0] in BANNED_VERBS:
        return f"the verb \"{identifier.split('_')[0]}\" in the name {identifier}"
    if re.search(r"[a-zA-Z_]2$", identifier):
        return f"a name that ends in 2: {identifier}"
    return ""


def check_names(tree: Tree) -> Iterator[Finding]:
    """Names avoid the words that say nothing (CONTRIBUTING.md lists them)."""
    for file in tree.code():
        stem = Path(file.path).stem
        breach = breach_of_name(stem, called=False)
        if breach:
            yield Finding(file.path, 1, breach)
        reported = set()
        for name in identifiers(TEST_TITLE.sub(blank_of, file.code)):
            # A member or a qualified name was judged where it is declared, or belongs to another library.
            if name.before in (".", "->", "::") or name.text in reported:
                continue
            breach = breach_of_name(name.text, called=name.after == "(")
            if breach:
                reported.add(name.text)
                yield Finding(file.path, file.line_at(name.offset), breach)


def check_headers(tree: Tree) -> Iterator[Finding]:
    """A header begins with its file comment and has #pragma once; a source includes its own header first."""
    for file in tree.code():
        if file.path.endswith((".h", ".cuh")):
            if not re.search(r"^#pragma once$", file.text, re.M):
                yield Finding(file.path, 1, "no #pragma once")
            if not file.text.startswith("//"):
                yield Finding(file.path, 1, "no file comment on the first line")
            continue
        own = own_header(tree, file.path)
        if own and file.includes and file.includes[0][1] != own:
            yield Finding(file.path, file.includes[0][0], f"own header \"{own}\" is not included first")


def own_header(tree: Tree, path: str) -> str:
    """The header that a source file implements or a test mirrors, as it would be included; "" if there is none."""
    where, stem = Path(path).parent, Path(path).stem
    if where.parts[0] == "tests":
        if not stem.endswith("_test") or len(where.parts) < 2:
            return ""
        where, stem = Path(where.parts[1]), stem[: -len("_test")]
    header = (where / f"{stem}.h").as_posix()
    if header in tree.texts:
        return header
    return f"gcoord/{stem}.h" if f"{where.parts[0]}/include/gcoord/{stem}.h" in tree.texts else ""


def check_dead_files(tree: Tree) -> Iterator[Finding]:
    """Every source and header is listed in a CMakeLists.txt, or (outside the product) included by a file that is."""
    builds = {path: text for path, text in tree.texts.items() if path.endswith(("CMakeLists.txt", ".cmake"))}
    included = {name for file in tree.code() for _, name, _ in file.includes}
    for file in tree.code():
        path = Path(file.path)
        listed = any(
            re.search(rf"(?<![\w./]){re.escape(path.relative_to(Path(build).parent).as_posix())}(?![\w/])", text)
            for build, text in builds.items() if Path(build).parent in path.parents)
        if not listed and not (room_of(file.path) in ("tests", "bench", "chaos") and is_included(file.path, included)):
            yield Finding(file.path, 1, "no CMakeLists.txt lists this file")


def is_included(path: str, included: set) -> bool:
    return path.endswith(".h") and (path in included or Path(path).name in included)


def check_words(tree: Tree) -> Iterator[Finding]:
    """No unfinished work without an issue, no path of one machine, no registry host."""
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
    machine = re.compile(r"(?<![\w.~}/-])/(work|root|home/\w+)/|/tmp/gb\b|\bdeb\.debian\.org|\bpypi\.org")
    for path, text in tree.texts.items():
        if path.startswith("tests/tidy/"):
            continue  # Speaks about these words.
        for number, line in enumerate(text.splitlines(), 1):
            if Path(path).suffix != ".md" and unfinished.search(line):
                yield Finding(path, number, "unfinished work without an issue number: write TODO(#N) or finish it")
            if machine.search(line):
                yield Finding(path, number, f"a path or host of one machine: {machine.search(line).group()}")


def check_sleeps(tree: Tree) -> Iterator[Finding]:
    """No test sleeps: it waits for an event or moves a clock of its own."""
    for file in tree.code():
        if room_of(file.path) != "tests":
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
    paths = [file.path for file in tree.code()]
    for start in range(0, len(paths), 100):
        run = subprocess.run([tool, "--dry-run", "--Werror", *paths[start:start + 100]],
                             cwd=tree.root, capture_output=True, text=True)
        reported = set()
        for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", run.stderr, re.M):
            if match.group(1) not in reported:
                reported.add(match.group(1))
                yield Finding(match.group(1), int(match.group(2)), "clang-format would change this; run clang-format -i")


RULES = {
    "floors": check_floors,
    "knowledge": check_knowledge,
    "hd-headers": check_hd_headers,
    "sizes": check_sizes,
    "names": check_names,
    "headers": check_headers,
    "dead-files": check_dead_files,
    "words": check_words,
    "sleeps": check_sleeps,
    "format": check_format,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--rule", choices=RULES, action="append", help="only this rule; may be repeated")
    options = parser.parse_args()
    tree = Tree.read(options.root)
    breaches = 0
    for rule in options.rule or RULES:
        for finding in RULES[rule](tree):
            breaches += finding.fatal
            print(f"{finding.path}:{finding.line}: {'' if finding.fatal else 'warning: '}{finding.what} [{rule}]")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
