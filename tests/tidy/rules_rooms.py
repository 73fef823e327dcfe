"""Rooms: a folder is a library, its DEPS are the only table, and every include is covered by them."""

import re
from collections import defaultdict
from functools import cached_property
from typing import Iterator

from cmake_source import Unit, units_of
from tree import CODE_SUFFIXES, FLOORS, PUBLIC_HEADERS, Finding, Tree, folder_of, is_product, top_of

# What a command of our own adds to the DEPS of whoever uses it.
IMPLIED_DEPS = {"gcoord_fuzz_test": ("common",)}
OWNS = re.compile(r"# Owns \S.*\.$")


class Rooms:
    """The libraries of a tree by folder, and what each reaches through its DEPS and theirs."""

    def __init__(self, tree: Tree):
        self.tree = tree
        self.units = units_of(tree)
        self.libraries = {}   # Folder, or NAME in tests -> Unit.
        self.twice = []       # Second libraries of a folder.
        for unit in self.units:
            if unit.is_library:
                key = unit.name if unit.name and top_of(unit.path) == "tests" else unit.folder
                if key in self.libraries:
                    self.twice.append(unit)
                else:
                    self.libraries[key] = unit
        self.targets = {"gcoord_" + key.replace("/", "_"): key for key in self.libraries}
        self.reached = {}

    @cached_property
    def units_with(self) -> dict:
        """Path of a code file -> the units that list it."""
        found = defaultdict(list)
        for unit in self.units:
            if unit.is_library and unit.command != "target_sources":
                for path in unit.files:
                    found[path].append(unit)
        for unit in self.units:
            if not unit.is_library:
                owner = self.libraries.get(self.targets.get(unit.name, ""))
                for path in unit.files:
                    found[path].append(owner if unit.command == "target_sources" and owner else unit)
        return found

    @cached_property
    def room_of(self) -> dict:
        """Path of a code file -> the key of its library."""
        keys = {id(unit): key for key, unit in self.libraries.items()}
        return {path: keys[id(unit)] for path, units in self.units_with.items() for unit in reversed(units)
                if id(unit) in keys}

    def deps_of(self, unit: Unit) -> tuple:
        return (*unit.deps, *IMPLIED_DEPS.get(unit.command, ()))

    def reach(self, key: str) -> frozenset:
        """The room itself and all that its DEPS bring."""
        if key not in self.reached:
            found, waiting = {key}, [key]
            while waiting:
                unit = self.libraries.get(waiting.pop())
                more = set(unit.deps).difference(found) if unit else ()
                found.update(more)
                waiting.extend(more)
            self.reached[key] = frozenset(found)
        return self.reached[key]

    def reach_of_unit(self, unit: Unit) -> frozenset:
        own = {unit.folder if unit.folder in self.libraries else unit.name} if unit.is_library else set()
        # A test that compiles a room's source itself, in place of the library, may include what that source does.
        borrowed = [] if unit.is_library else [
            self.room_of[path] for path in unit.files
            if is_product(path) and folder_of(path) != unit.folder and path in self.room_of]
        return frozenset(own).union(*(self.reach(dep) for dep in (*self.deps_of(unit), *borrowed)))

    def circles(self) -> Iterator[list]:
        """The rooms of each knot, in which every room reaches every other."""
        done = set()
        for key in sorted(self.libraries):
            knot = sorted(other for other in self.reach(key) if other in self.libraries and key in self.reach(other))
            if key not in done and (len(knot) > 1 or key in self.libraries[key].deps):
                yield knot
            done.update(knot)


def rooms_of(tree: Tree) -> Rooms:
    if not hasattr(tree, "rooms"):
        tree.rooms = Rooms(tree)
    return tree.rooms


def check_rooms(tree: Tree) -> Iterator[Finding]:
    """A folder with code is one library without a NAME, lists its files, and its DEPS reach every include."""
    rooms = rooms_of(tree)
    yield from check_folders(tree, rooms)
    yield from check_libraries(tree, rooms)
    yield from check_deps(rooms)
    yield from check_includes(tree, rooms)


def check_folders(tree: Tree, rooms: Rooms) -> Iterator[Finding]:
    folders = defaultdict(list)
    for file in tree.code():
        if is_product(file.path):
            folders[folder_of(file.path)].append(file.path)
    for folder, paths in sorted(folders.items()):
        build = f"{folder}/CMakeLists.txt"
        here = [path for path in paths if any(unit.folder == folder for unit in rooms.units_with.get(path, ()))]
        others = [path for path in paths if path not in rooms.units_with]
        public = folder.startswith(PUBLIC_HEADERS)
        if build not in tree.texts:
            for path in others if others or public else paths if not is_program_folder(rooms, paths) else ():
                yield Finding(path, 1, f"{folder} has no CMakeLists.txt")
                break
            continue
        if folder not in rooms.libraries and not is_program_folder(rooms, paths):
            yield Finding(build, 1, f"{folder} has code and no gcoord_library")
            continue
        for path in paths:
            if path not in here:
                yield Finding(path, 1, f"{build} does not list this file")


def is_program_folder(rooms: Rooms, paths: list) -> bool:
    """Whether all files belong to programs, or to libraries that are no room (a shared one to be preloaded)."""
    return all(path in rooms.units_with and path not in rooms.room_of for path in paths)


def check_libraries(tree: Tree, rooms: Rooms) -> Iterator[Finding]:
    for unit in rooms.twice:
        yield Finding(unit.path, unit.line, f"a second library in {unit.folder}")
    for unit in rooms.units:
        if unit.is_library and top_of(unit.path) != "tests":
            if unit.name:
                yield Finding(unit.path, unit.line, f"NAME {unit.name}: a room's target is named after its folder")
            if not OWNS.match(tree.texts[unit.path].split("\n", 1)[0]):
                yield Finding(unit.path, 1, "the first line is not \"# Owns ...\", one sentence with its full stop")
            for path in unit.files:
                public = path.startswith(PUBLIC_HEADERS) and path.startswith(unit.folder + "/")
                if folder_of(path) != unit.folder and not public:
                    yield Finding(unit.path, unit.line, f"{unit.folder} lists {path}, a file of another folder")
        if unit.command.startswith("gcoord_"):
            yield from listed_but_absent(tree, unit)


def listed_but_absent(tree: Tree, unit: Unit) -> Iterator[Finding]:
    for path in unit.files:
        if path not in tree.known_paths and "$" not in path:
            yield Finding(unit.path, unit.line, f"{path} is listed and does not exist")


def check_deps(rooms: Rooms) -> Iterator[Finding]:
    for unit in rooms.units:
        for dep in unit.deps:
            if dep not in rooms.libraries and "$" not in dep:
                yield Finding(unit.path, unit.deps_line or unit.line, f"DEPS names {dep}, which is no room")
        of_room = unit.command.startswith("gcoord_") or (
            unit.command == "target_link_libraries" and unit.name in rooms.targets)
        for link in unit.links if of_room else ():
            if link in rooms.targets:
                yield Finding(unit.path, unit.line, f"{link} is a room: DEPS is where it belongs")
    for knot in rooms.circles():
        unit = rooms.libraries[knot[0]]
        yield Finding(unit.path, unit.deps_line or unit.line, "a circle of DEPS through " + ", ".join(knot))


def check_includes(tree: Tree, rooms: Rooms) -> Iterator[Finding]:
    reported = set()
    for unit in rooms.units:
        if not unit.command.startswith("gcoord_") or any("$" in word for word in (*unit.deps, *unit.files)):
            continue
        reach = rooms.reach_of_unit(unit)
        for path, line, target in includes_of(tree, rooms, unit):
            room = rooms.room_of.get(target)
            absent = target not in tree.all_code
            if not absent and (room is None or room in reach) or (path, line) in reported:
                continue
            reported.add((path, line))
            if absent:
                yield Finding(path, line, f"{target} does not exist")
                continue
            yield Finding(path, line, f"{room} is not reached by the DEPS of {unit.folder}" +
                          (f" ({unit.name})" if unit.name else "") + f": {target}")


def includes_of(tree: Tree, rooms: Rooms, unit: Unit) -> Iterator[tuple]:
    """(including file, line, included file), of the unit's own files and of the headers that no library lists."""
    own = set(unit.files)
    waiting = [path for path in unit.files if path in tree.all_code and (
        unit.is_library or folder_of(path) == unit.folder or path not in rooms.room_of)]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for line, name, _ in tree.all_code[path].includes:
            target = tree.included(name, path) or header_of_tests(tree, name)
            if not target:
                if top_of(name) in FLOORS and "/" in name and name.endswith(tuple(CODE_SUFFIXES)):
                    yield path, line, name
                continue
            if target not in own:
                yield path, line, target
            if target not in rooms.room_of and target not in seen:
                seen.add(target)
                waiting.append(target)


def header_of_tests(tree: Tree, name: str) -> str:
    """A header of tests that is found through an include directory: by its name, if only one has it."""
    if not hasattr(tree, "test_headers"):
        tree.test_headers = defaultdict(list)
        for path in tree.all_code:
            if top_of(path) == "tests":
                tree.test_headers[path.rpartition("/")[2]].append(path)
    found = tree.test_headers.get(name, ())
    return found[0] if len(found) == 1 else ""
