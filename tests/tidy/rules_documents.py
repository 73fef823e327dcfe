"""Documents and commits: paths that exist, the table of rooms, the list of rules, subjects of commits."""

import fnmatch
import re
import subprocess
from pathlib import PurePosixPath
from typing import Iterator

from room_table import BEGIN, PAGE, stated_table, table_of
from tree import Finding, Tree, folder_of, top_of

HISTORY = ("CHANGELOG.md",)  # Tells of paths as they were.
MADE = ("bench/results/",)   # Written by whoever runs a benchmark.
COMMENT = {".h": "//", ".cc": "//", ".cu": "//", ".cuh": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#"}
FILE_ENDINGS = ("h", "cc", "cu", "cuh", "py", "md", "sh", "cmake", "txt", "json", "jsonl", "svg", "toml")
BARE_PATH = re.compile(r"(?<![\w/.`<$~-])((?:[\w.-]+/)+[\w.-]*\w\.(?:%s))\b(?![\w/*])" % "|".join(FILE_ENDINGS))
TEST_FILE = re.compile(r"(?<![\w/.])(?!x_test)\w+_test\.(?:cc|py|sh)\b")
LINK = re.compile(r"\]\(([^()\s]+)\)")

COMMITS_SINCE = "4a56ad8"
SUBJECT = re.compile(r"[\w./-]+(, [\w./-]+)*: \S.*")
SUBJECT_COLUMNS = 72


def check_documents(tree: Tree) -> Iterator[Finding]:
    """A path that a document or a comment names exists, and so does a test's file that a document names alone; docs/internals/rooms.md holds the table that CMake gives."""
    for path in tree.texts:
        if path in HISTORY or path.startswith("tests/tidy/"):
            continue  # tests/tidy plants paths.
        suffix = PurePosixPath(path).suffix
        if suffix == ".md":
            for number, line in enumerate(tree.texts[path].splitlines(), 1):
                yield from absent(tree, (path, number), paths_named(tree, path, line))
                yield from absent_tests(tree, (path, number), line)
        elif suffix in COMMENT:
            sign = COMMENT[suffix]
            for number, line in enumerate(tree.texts[path].splitlines(), 1):
                if sign in line and "/" in (comment := line.split(sign, 1)[1]) and not comment.startswith("include"):
                    yield from absent(tree, (path, number), bare_paths(tree, comment))
    yield from check_room_table(tree)


def absent(tree: Tree, where: tuple, named: Iterator[str]) -> Iterator[Finding]:
    for name in dict.fromkeys(named):
        if not exists(tree, name):
            yield Finding(*where, f"{name} does not exist")


def absent_tests(tree: Tree, where: tuple, line: str) -> Iterator[Finding]:
    """Tests named without their folder, as lists of tests do after the first."""
    if not hasattr(tree, "file_names"):
        tree.file_names = {PurePosixPath(path).name for path in tree.paths}
    for name in dict.fromkeys(TEST_FILE.findall(line)):
        if name not in tree.file_names:
            yield Finding(*where, f"no folder has a {name}")


def paths_named(tree: Tree, document: str, line: str) -> Iterator[str]:
    """Paths from the root, in backticks, in links, and those in plain text that end as a file does."""
    for match in re.finditer(r"`([^`\n]+)`", line):
        yield from (word for word in [path_in_code(match.group(1))] if in_repository(tree, word))
    plain = re.sub(r"`[^`]*`|\]\([^()]*\)", lambda match: " " * len(match.group()), line)
    yield from bare_paths(tree, plain)
    for match in LINK.finditer(re.sub(r"`[^`]*`", " ", line)):
        target = match.group(1).split("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            yield from_document(document, target)


def bare_paths(tree: Tree, text: str) -> Iterator[str]:
    for match in BARE_PATH.finditer(text):
        if in_repository(tree, match.group(1)):
            yield match.group(1)


def path_in_code(code: str) -> str:
    """The path that code in backticks begins with: without arguments, line numbers and names inside the file."""
    return re.split(r"[\s:()]", code, maxsplit=1)[0].rstrip("/.,;")


def in_repository(tree: Tree, word: str) -> bool:
    return "/" in word and top_of(word) in tree.folders and not word.startswith(MADE) \
        and not re.search(r"[<>$]|\b[A-Z]{3,}\b|/[A-Z]+[/_]", word)


def from_document(document: str, target: str) -> str:
    parts = [] if target.startswith("/") else list(PurePosixPath(folder_of(document)).parts)
    for part in target.strip("/").split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)


def exists(tree: Tree, named: str) -> bool:
    braces = re.search(r"\{([^{}]*)\}", named)
    if braces:
        return all(exists(tree, named[:braces.start()] + each.strip() + named[braces.end():])
                   for each in braces.group(1).split(","))
    if "*" in named or "?" in named:
        return any(fnmatch.fnmatchcase(path, named) for path in (*tree.paths, *tree.folders))
    if named in tree.known_paths or named in tree.folders:
        return True
    # A unit by its stem: server/options for options.h and options.cc; a decision by its number.
    beside = [path for path in tree.paths if path.startswith(named)]
    return any(path[len(named)] == "." or (re.search(r"/\d{4}$", named) and path[len(named)] == "-") for path in beside)


def check_room_table(tree: Tree) -> Iterator[Finding]:
    if PAGE not in tree.texts:
        if "CMakeLists.txt" in tree.texts:
            yield Finding(PAGE, 1, "the page of rooms is missing: run tests/tidy/room_table.py --write")
    elif stated_table(tree.texts[PAGE]) != table_of(tree).strip():
        text = tree.texts[PAGE]
        line = text.count("\n", 0, max(text.find(BEGIN), 0)) + 1
        yield Finding(PAGE, line, "the table of rooms is not what CMake says: run tests/tidy/room_table.py --write")


def check_commits(tree: Tree) -> Iterator[Finding]:
    """The subject of a commit is `area: what changes`, in 72 columns. Nothing is checked without git or its history."""
    for commit, subject in subjects(tree):
        if len(subject) > SUBJECT_COLUMNS:
            yield Finding(f"commit {commit}", 1, f"the subject has {len(subject)} columns, limit {SUBJECT_COLUMNS}: {subject}")
        elif not SUBJECT.fullmatch(subject):
            yield Finding(f"commit {commit}", 1, f"the subject is not \"area: what changes\": {subject}")


def subjects(tree: Tree) -> list:
    """(commit, subject) of the commits since the rule came, merges left out; none where git cannot say."""
    top = git(tree, "rev-parse", "--show-toplevel").strip()
    if not top or not (tree.root / ".git").exists():
        return []
    if not git(tree, "rev-parse", "--verify", "--quiet", f"{COMMITS_SINCE}^{{commit}}"):
        return []
    log = git(tree, "log", "--no-merges", "--format=%h%x09%s", f"{COMMITS_SINCE}..HEAD")
    return [tuple(line.split("\t", 1)) for line in log.splitlines() if "\t" in line]


def git(tree: Tree, *arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=tree.root, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout if run.returncode == 0 else ""


def check_rule_lists(tree: Tree, rules: dict) -> Iterator[Finding]:
    """CONTRIBUTING.md tells of each rule, and tests/tidy/CMakeLists.txt makes a test of it."""
    guide = tree.texts.get("CONTRIBUTING.md")
    if guide is not None:
        section = re.search(r"^## Rules\b.*?(?=^## |\Z)", guide, re.M | re.S)
        stated = re.findall(r"^\| `([\w-]+)` \|", section.group() if section else "", re.M)
        yield from differing("CONTRIBUTING.md", stated, rules)
    build = tree.texts.get("tests/tidy/CMakeLists.txt")
    if build is not None:
        stated = re.search(r"foreach\(rule\s+([^()]*)\)", build)
        yield from differing("tests/tidy/CMakeLists.txt", stated.group(1).split() if stated else [], rules)


def differing(path: str, stated: list, rules: dict) -> Iterator[Finding]:
    for rule in rules:
        if rule not in stated:
            yield Finding(path, 1, f"the rule {rule} is not listed")
    for rule in stated:
        if rule not in rules:
            yield Finding(path, 1, f"there is no rule {rule}")
