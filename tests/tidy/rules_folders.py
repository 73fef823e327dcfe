"""Folders: how many files they hold, how these are called, which build lists them, and where their tests stand."""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Iterator

from ratchet import Measure, Ratchet
from tree import CODE_SUFFIXES, PUBLIC_HEADERS, Finding, Tree, folder_of, is_product, top_of

FILES_WARN = 30
FILES_MAX = 40     # The fullest folder of leveldb has 43.
PREFIX_FILES_MAX = 7
FOLDERS = Ratchet("folders.txt", "Folders beyond the limits: FOLDER files COUNT, FOLDER prefix WORD_ COUNT,\n"
                  "FOLDER repeats COUNT (files whose names begin with the folder's).", (0,))

# Tests that mirror no folder of the product: rules of the tree, what tests share, bytes from outside.
NO_MIRROR = ("tests/tidy", "tests/support", "tests/fuzz")


def code_by_folder(tree: Tree) -> dict:
    folders = defaultdict(list)
    for file in tree.code():
        folders[folder_of(file.path)].append(file.path)
    return folders


def measure_folders(tree: Tree) -> Iterator[Measure]:
    for folder, paths in sorted(code_by_folder(tree).items()):
        if len(paths) > FILES_MAX:
            yield Measure(f"{folder} files", (len(paths),), paths[0], 1,
                          f"{folder} has {len(paths)} code files, limit {FILES_MAX}")
        if not is_product(paths[0]) or folder.startswith(PUBLIC_HEADERS):
            continue  # A test is named after what it tests, a public header by a promise.
        stems = [Path(path).stem for path in paths]
        own = Path(folder).name
        repeats = [path for path, stem in zip(paths, stems) if stem.startswith(own + "_")]
        if repeats:
            yield Measure(f"{folder} repeats", (len(repeats),), repeats[0], 1,
                          f"{len(repeats)} names in {folder} repeat the folder's: {own}_")
        prefixes = Counter(stem.split("_")[0] + "_" for stem in stems if "_" in stem)
        for prefix, count in sorted(prefixes.items()):
            if count > PREFIX_FILES_MAX and prefix != own + "_":
                first = next(path for path, stem in zip(paths, stems) if stem.startswith(prefix))
                yield Measure(f"{folder} prefix {prefix}", (count,), first, 1,
                              f"{count} files of {folder} begin with {prefix}, limit {PREFIX_FILES_MAX}: is it a room?")


def check_folder(tree: Tree) -> Iterator[Finding]:
    """A folder holds at most 40 code files (a note from 31 on), no prefix of 8 files, and no name that repeats its own."""
    yield from FOLDERS.compare(tree, list(measure_folders(tree)))
    for folder, paths in code_by_folder(tree).items():
        if FILES_WARN < len(paths) <= FILES_MAX:
            yield Finding(paths[0], 1, f"{folder} has {len(paths)} code files; is it more than one room?", False)


def check_mirror(tree: Tree) -> Iterator[Finding]:
    """tests/F/x_test.cc stands where the product's folder F does."""
    product = {folder.as_posix() for path in tree.all_code if top_of(path) != "tests" for folder in Path(path).parents}
    for path in tree.all_code:
        folder = folder_of(path)
        allowed = any(folder == other or folder.startswith(other + "/") for other in NO_MIRROR)
        if path.startswith("tests/") and path.endswith("_test.cc") and not allowed:
            mirrored = folder[len("tests/"):]
            if mirrored not in product or not mirrored:
                yield Finding(path, 1, f"{folder} mirrors no folder of the product")


def check_dead_files(tree: Tree) -> Iterator[Finding]:
    """Every source and header is listed in a CMakeLists.txt that the build reads, or (outside the product) included by a
    file that is."""
    builds = {path: tree.texts[path] for path in tree.texts if path.endswith(("CMakeLists.txt", ".cmake"))}
    listed = {folder_of(path): set() for path in builds}
    for path, text in builds.items():
        listed[folder_of(path)].update(re.findall(r"[\w./-]+", text))
    included = {name for file in tree.code() for _, name, _ in file.includes}
    for path in tree.all_code:
        if not is_listed(path, listed) and not (
                top_of(path) in ("tests", "bench", "chaos") and is_included(path, included)):
            yield Finding(path, 1, "no CMakeLists.txt lists this file")
    for path in builds:
        if path.endswith("/CMakeLists.txt") and not re.search(r"^project\(", builds[path], re.M):
            above = next((folder for folder in Path(path).parents[1:] if (folder / "CMakeLists.txt").as_posix() in builds), None)
            if above and Path(path).parent.relative_to(above).as_posix() not in listed[folder_of((above / "CMakeLists.txt").as_posix())]:
                yield Finding(path, 1, f"{(above / 'CMakeLists.txt').as_posix()} does not add this folder")


def is_listed(path: str, listed: dict) -> bool:
    return any(Path(path).relative_to(folder).as_posix() in listed.get("" if folder == Path(".") else folder.as_posix(), ())
               for folder in Path(path).parents)


def is_included(path: str, included: set) -> bool:
    return path.endswith(".h") and (path in included or Path(path).name in included)
