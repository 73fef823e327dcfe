"""The source tree as the rules see it: paths, texts and parsed files, each read at most once.

FLOORS names the top folders of the code. Every top folder with code must be in it: an unknown one is a breach of `floors`.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Iterator

from cpp_source import CppFile

# docs/internals/architecture.md: a folder includes folders of lower floors and itself, never a sibling.
FLOORS = {
    "common": 0,
    "security": 1,
    "consensus": 2, "ledger": 2, "netcore": 2, "protocol": 2, "sessions": 2,
    "locks": 3, "membership": 3, "client": 3,
    "server": 4,
    "cli": 5, "chaos": 5,
    "bench": 6,
    "tests": 7,
}

CODE_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".py", ".sh", ".cmake", ".txt", ".md", ".json", ".toml", ".yml", ""}
SKIPPED = {"build", ".git", ".cache", ".carry", "__pycache__"}
PUBLIC_HEADERS = "client/include/"
EXAMPLES = "client/examples/"  # A project of its own, built against an installed client.


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    what: str
    fatal: bool = True


class Texts(dict):
    """Relative path -> text of every text file; a text is read when it is first asked for."""

    def __init__(self, root: Path, paths: list):
        super().__init__()
        self.root = root
        self.paths = paths

    def __missing__(self, path: str) -> str:
        if path not in self.known:
            raise KeyError(path)
        self[path] = (self.root / path).read_text("utf-8", "replace")
        return self[path]

    @cached_property
    def known(self) -> frozenset:
        return frozenset(self.paths)

    def __contains__(self, path) -> bool:
        return path in self.known

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def get(self, path: str, default=None):
        return self[path] if path in self.known else default

    def items(self) -> Iterator[tuple]:
        return ((path, self[path]) for path in self.paths)


class Tree:
    """The files of the repository."""

    def __init__(self, root: Path, paths: list):
        self.root = root
        self.paths = paths  # Of every file, relative to the root.
        self.texts = Texts(root, [path for path in paths if Path(path).suffix in TEXT_SUFFIXES])
        self.folders = frozenset(folder.as_posix() for path in paths for folder in Path(path).parents) - {"."}

    @staticmethod
    def read(root: Path) -> "Tree":
        paths = []
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED)
            for name in sorted(names):
                path = Path(folder) / name
                if name not in SKIPPED and path.is_file():
                    paths.append(path.relative_to(root).as_posix())
        return Tree(root, paths)

    @cached_property
    def all_code(self) -> dict:
        """Path -> CppFile, of the code in the known top folders."""
        return {path: CppFile.parse(path, self.texts[path]) for path in self.texts
                if Path(path).suffix in CODE_SUFFIXES and top_of(path) in FLOORS}

    def code(self) -> Iterator[CppFile]:
        return iter(self.all_code.values())

    @cached_property
    def known_paths(self) -> frozenset:
        return frozenset(self.paths)

    def included(self, name: str, by: str) -> str:
        """The path of the project's file that an include names, "" for a file of another library."""
        for path in (name, PUBLIC_HEADERS + name, (Path(by).parent / name).as_posix()):
            if path in self.all_code:
                return path
        return ""


def top_of(path: str) -> str:
    return path.split("/")[0]


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_product(path: str) -> bool:
    return top_of(path) != "tests" and not path.startswith(EXAMPLES)
