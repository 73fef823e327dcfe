"""Definitions: a class of one qualified name is defined once in the tree.

The language asks for it (the one-definition rule) and neither compiler nor linker checks it: of two inline members of one
name the linker keeps one, and a program calls the method of another class. Sources count like headers, and tests like the
product, because whatever a program links shares one set of names. A class in an unnamed namespace is its file's own.
"""

from collections import defaultdict
from typing import Iterator

from cpp_classes import classes_of
from tree import EXAMPLES, Finding, Tree, is_product


def check_one_definition(tree: Tree) -> Iterator[Finding]:
    """No two files define a class of one qualified name; each example of the client is a program of its own."""
    definitions = defaultdict(dict)  # Name with namespaces -> path -> class, the product's paths first.
    for file in sorted(tree.code(), key=lambda file: (not is_product(file.path), file.path)):
        for each in classes_of(file) if not file.path.startswith(EXAMPLES) else ():
            name = f"{each.namespace}::{each.name}{each.arguments}".removeprefix("::")
            definitions[name].setdefault(file.path, each)
    for name, classes in definitions.items():
        first, *others = classes.values()
        for other in others:
            yield Finding(other.path, other.line, f"{name} is defined in {first.path}:{first.line} too: name it for what sets "
                          "it apart, share one header, or put it into an unnamed namespace")
