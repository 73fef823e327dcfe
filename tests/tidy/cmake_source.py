"""Reads just enough CMake to know which target lists which files and depends on which rooms.

Branches are not decided: a variable holds what any branch puts into it, so the build with CUDA and the one without are
read as one.
"""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tree import FLOORS, Tree, folder_of, top_of

COMMAND = re.compile(r"^[ \t]*([A-Za-z_]\w*)[ \t]*\(", re.M)
KEYWORD = re.compile(r"[A-Z][A-Z_]+")  # SOURCES, DEPS, LABELS, OPTIMISED ...
FILE = re.compile(r"\.(h|cc|cu|cuh)$")


@dataclass
class Unit:
    """A library, a program or a test, as one command declares it."""

    command: str       # gcoord_library, gcoord_test, add_library ...
    name: str          # NAME, or the first argument of CMake's own commands.
    path: str          # Of the CMake file.
    line: int
    files: list = field(default_factory=list)   # Paths from the root.
    deps: list = field(default_factory=list)
    links: list = field(default_factory=list)
    deps_line: int = 0

    @property
    def folder(self) -> str:
        return folder_of(self.path)

    @property
    def is_library(self) -> bool:
        return self.command == "gcoord_library"


@dataclass(frozen=True)
class Command:
    name: str
    words: list  # (word, line)
    line: int


def without_comments(text: str) -> str:
    return re.sub(r"#[^\n]*", lambda match: " " * len(match.group()), text)


def commands_of(text: str) -> list:
    code = without_comments(text)
    found = []
    for match in COMMAND.finditer(code):
        end = closing(code, match.end())
        first = code.count("\n", 0, match.start()) + 1
        words = [(word.group().strip('"'), code.count("\n", 0, word.start()) + 1)
                 for word in re.compile(r'"[^"]*"|[^\s()"]+').finditer(code, match.end(), end)]
        found.append(Command(match.group(1).lower(), words, first))
    return found


def closing(code: str, at: int) -> int:
    depth = 1
    for match in re.compile(r'"[^"]*"|[()]').finditer(code, at):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if depth == 0:
            return match.start()
    return len(code)


class CMakeFile:
    """The units that one file declares."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.folder = folder_of(path)
        self.variables = {}
        self.units = []
        self.project = False  # Of its own: nothing here is a room.
        for command in commands_of(text):
            self.take(command)

    def take(self, command: Command) -> None:
        words = command.words
        if command.name == "set" and words:
            self.variables.setdefault(words[0][0], []).extend(self.expanded(words[1:]))
        elif command.name == "list" and len(words) > 1 and words[0][0] in ("APPEND", "PREPEND"):
            self.variables.setdefault(words[1][0], []).extend(self.expanded(words[2:]))
        elif command.name == "project":
            self.project = bool(self.folder)
        elif command.name.startswith("gcoord_") and any(word in ("SOURCES", "HEADERS", "DEPS") for word, _ in words):
            self.units.append(self.declared(command))
        elif command.name in ("add_library", "add_executable", "target_sources") and words:
            unit = Unit(command.name, words[0][0], self.path, command.line)
            unit.files = [self.from_root(word) for word, _ in self.expanded(words[1:]) if FILE.search(word)]
            self.units.append(unit)
        elif command.name == "target_link_libraries" and words:
            unit = Unit(command.name, words[0][0], self.path, command.line)
            unit.links = [word for word, _ in self.expanded(words[1:])]
            self.units.append(unit)

    def declared(self, command: Command) -> Unit:
        unit = Unit(command.name, "", self.path, command.line)
        into = None
        for word, line in self.expanded(command.words):
            if KEYWORD.fullmatch(word):
                into = word
                unit.deps_line = line if word == "DEPS" else unit.deps_line
            elif into == "NAME":
                unit.name = word
            elif into in ("SOURCES", "HEADERS"):
                unit.files.append(self.from_root(word))
            elif into == "DEPS":
                unit.deps.append(word)
            elif into in ("LINK", "PRIVATE_LINK"):
                unit.links.append(word)
        return unit

    def expanded(self, words: list) -> list:
        found = []
        for word, line in words:
            variable = re.fullmatch(r"\$\{(\w+)\}", word)
            if variable and variable.group(1) in self.variables:
                found.extend((value, line) for value, _ in self.variables[variable.group(1)])
            else:
                found.append((word, line))
        return found

    def from_root(self, word: str) -> str:
        word = word.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
        if "${PROJECT_SOURCE_DIR}/" in word:
            return word.replace("${PROJECT_SOURCE_DIR}/", "")
        parts = []
        for part in PurePosixPath(self.folder, word).parts:
            if part == ".." and parts:
                parts.pop()
            elif part != ".":
                parts.append(part)
        return "/".join(parts)


def units_of(tree: Tree) -> list:
    """Of all CMake files in the known top folders, apart from projects of their own."""
    files = [CMakeFile(path, tree.texts[path]) for path in tree.texts
             if path.endswith(("/CMakeLists.txt", ".cmake")) and top_of(path) in FLOORS]
    return [unit for file in files if not file.project for unit in file.units]
