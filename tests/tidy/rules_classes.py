"""Classes, units and functions: how much one of them holds, includes and takes."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Iterator

from cpp_classes import classes_of, definitions_of
from cpp_source import Function
from ratchet import Measure, Ratchet
from tree import FLOORS, Finding, Tree, folder_of, is_product, top_of

METHODS_MAX = 45   # leveldb's DBImpl has 46, etcd's raft 43.
MEMBERS_MAX = 20
FIELDS_MAX = 33    # Of a struct without methods.
SOURCES_MAX = 3    # .cc files that define its methods.
ENVIRONMENT_MAX = 8
INCLUDES_MAX = 20
PARAMETERS_MAX = 3

PUBLIC_CLASSES = ("gcoord::client::Client",)  # One object with all that a user may call.
LISTS_OF_VALUES = ("Options", "Config", "Metrics", "Counters", "Row", "Report")

CLASSES = Ratchet("classes.txt", "Classes beyond the limits: CLASS METHODS MEMBERS SOURCES.",
                  (METHODS_MAX, MEMBERS_MAX, SOURCES_MAX))
FANOUT = Ratchet("fanout.txt", "Units (x.h and x.cc together) that include more of the project than the limit:\n"
                 "UNIT INCLUDES. Each is where a program is put together.", (INCLUDES_MAX,), reason_needed=True)
PARAMETERS = Ratchet("parameters.txt", f"Functions with more than {PARAMETERS_MAX} parameters, by top folder.", (0,))


def product_classes(tree: Tree) -> list:
    if not hasattr(tree, "classes"):
        tree.classes = [each for file in tree.code() if is_product(file.path) for each in classes_of(file)]
    return tree.classes


def sources_of_classes(tree: Tree) -> dict:
    """(top folder, class) -> the .cc files that define methods of it."""
    sources = defaultdict(set)
    for file in tree.code():
        if is_product(file.path) and file.path.endswith((".cc", ".cu")):
            for name in definitions_of(file):
                sources[top_of(file.path), name].add(file.path)
    return sources


def measure_classes(tree: Tree) -> Iterator[Measure]:
    sources = sources_of_classes(tree)
    for each in product_classes(tree):
        name = f"{each.namespace}::{each.name}" if each.namespace else each.name
        if name in PUBLIC_CLASSES:
            continue
        figures = (each.methods, each.members, len(sources[top_of(each.path), each.name]))
        members_max = FIELDS_MAX if each.aggregate else MEMBERS_MAX
        if each.name.endswith(LISTS_OF_VALUES):
            members_max = figures[1]
        if figures[0] > METHODS_MAX or figures[1] > members_max or figures[2] > SOURCES_MAX:
            yield Measure(name, figures, each.path, each.line,
                          f"{each.name} has {figures[0]} methods, {figures[1]} members, in {figures[2]} sources; "
                          f"limits {METHODS_MAX}, {MEMBERS_MAX}, {SOURCES_MAX}")


def check_class(tree: Tree) -> Iterator[Finding]:
    """A class has at most 45 methods and 20 data members, and its methods stand in at most 3 .cc files."""
    yield from CLASSES.compare(tree, list(measure_classes(tree)))


def check_environment(tree: Tree) -> Iterator[Finding]:
    """A struct Environment, which a class is handed, has at most 8 members."""
    for each in product_classes(tree):
        if each.name.endswith("Environment") and each.members > ENVIRONMENT_MAX:
            yield Finding(each.path, each.line, f"{each.name} has {each.members} members, limit {ENVIRONMENT_MAX}")


def measure_fanout(tree: Tree) -> Iterator[Measure]:
    units = defaultdict(list)
    for file in tree.code():
        if is_product(file.path):
            units[f"{folder_of(file.path)}/{Path(file.path).stem}"].append(file)
    for unit, files in sorted(units.items()):
        own = {f"{unit}{suffix}" for suffix in (".h", ".cuh")}
        names = {name for file in files for _, name, _ in file.includes
                 if "/" in name and (top_of(name) in FLOORS or name.startswith("gcoord/"))} - own
        if len(names) > INCLUDES_MAX:
            yield Measure(unit, (len(names),), files[0].path, 1,
                          f"{unit} includes {len(names)} files of the project, limit {INCLUDES_MAX}")


def check_fanout(tree: Tree) -> Iterator[Finding]:
    """A unit, x.h and x.cc together, includes at most 20 files of the project."""
    yield from FANOUT.compare(tree, list(measure_fanout(tree)))


def measure_parameters(tree: Tree) -> Iterator[Measure]:
    counts, longest = Counter(), {}
    for file in tree.code():
        for function in file.functions():
            count = parameters_of(function)
            if count > PARAMETERS_MAX:
                top = top_of(file.path)
                counts[top] += 1
                longest[top] = max(longest.get(top, (0,)), (count, file.path, function.line))
    for top, count in sorted(counts.items()):
        most, path, line = longest[top]
        yield Measure(top, (count,), path, line,
                      f"{count} functions of {top} have more than {PARAMETERS_MAX} parameters; this one {most}")


def parameters_of(function: Function) -> int:
    """Of a definition, by its first pair of parentheses that is no macro's, attribute's or operator()'s."""
    header = function.header.replace("operator()", "operator_call", 1).replace("operator ()", "operator_call", 1)
    opening = header.find("(")
    depth = angle = commas = 0
    for at in range(opening, len(header)):
        character = header[at]
        depth += (character in "({[") - (character in ")}]")
        if depth == 0:
            inside = header[opening + 1:at].strip()
            return 0 if inside in ("", "void") else commas + 1
        angle += (character == "<") - (character == ">" and header[at - 1] != "-")
        commas += character == "," and depth == 1 and angle <= 0
    return 0


def check_parameters(tree: Tree) -> Iterator[Finding]:
    """A function has at most 3 parameters; the functions with more are counted by top folder."""
    yield from PARAMETERS.compare(tree, list(measure_parameters(tree)))
