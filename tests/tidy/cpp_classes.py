"""Reads classes out of C++ text: their methods, their data members, and where the methods are defined.

As cpp_source.py, this asks no compiler; it reads declarations as clang-format leaves them.
"""

import re
from dataclasses import dataclass
from typing import Iterator

from cpp_source import CppFile, matching_brace

SCOPE = re.compile(
    r"\b(?:(?P<namespace>(?:inline\s+)?namespace\b\s*(?:\[\[.*?\]\]\s*)?(?P<space>[\w:]*))"
    r"|(?P<extern>extern\s*)"
    r"|(?<!enum\s)(?P<class>class|struct|union)\s+(?:alignas\([^()]*\)\s*|\[\[.*?\]\]\s*|[A-Z][A-Z0-9_]+\s+)*"
    r"(?P<name>[A-Za-z_]\w*(?:::\w+)*)(?P<arguments>\s*<[^{};()]*>)?(?:\s+final)?(?:\s*:(?!:)[^{};]*)?)\s*$", re.S)
NOT_COUNTED = re.compile(r"(?:friend|using|typedef|static_assert|enum|class|struct|union)\b")
STATIC_DATA = re.compile(r"\b(?:static|constexpr)\b")
NOISE = re.compile(r"\[\[.*?\]\]|\b(?:alignas|decltype|explicit|noexcept|__attribute__|requires)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")


@dataclass
class CppClass:
    name: str        # With the classes around it: Core of HostReplicas is HostReplicas::Core.
    namespace: str
    path: str
    line: int
    methods: int = 0
    members: int = 0
    aggregate: bool = True  # A struct without methods.
    arguments: str = ""     # Of a specialisation: <Term, int>.


def classes_of(file: CppFile) -> list:
    """The classes that a file defines outside of functions."""
    if "class " not in file.text and "struct " not in file.text:
        return []
    found = []
    read_scope(file, 0, len(file.bare), ("", ""), found)
    return found


def read_scope(file: CppFile, begin: int, end: int, names: tuple, found: list) -> CppClass:
    """Walks one namespace or class body. Returns what its own declarations count, as a class without a name."""
    code = file.bare
    namespace, outer = names
    counted = CppClass("", "", "", 0)
    start = at = begin  # `start` is where the present declaration begins.
    punctuation = re.compile(r"[;{}()]")
    while True:
        match = punctuation.search(code, at, end)
        if match is None:
            return counted
        at = match.end()
        if match.group() == "(":
            at = closing_parenthesis(code, match.start()) + 1
        elif match.group() == ";":
            count(code[start:match.start()], counted)
            start = at
        elif match.group() == "{":
            close = matching_brace(code, match.start())
            head = code[start:match.start()]
            scope = SCOPE.search(head) if "(" not in without_noise(head) else None
            if scope and scope.group("class"):
                name = f"{outer}::{scope.group('name')}" if outer else scope.group("name")
                inner = read_scope(file, at, close, (namespace, name), found)
                inner.name, inner.namespace, inner.path = name, namespace, file.path
                inner.line = file.line_at(start + scope.start())
                inner.arguments = "".join((scope.group("arguments") or "").split())
                found.append(inner)
                start, at = statement_end(code, close + 1, end), close + 1
                at = start
            elif scope and not outer:
                space = scope.group("space") if scope.group("namespace") else None
                inside = namespace if space is None else joined(namespace, space or f"({file.path})")
                read_scope(file, at, close, (inside, ""), found)
                start = at = close + 1
            elif is_body(head):
                count(head, counted)
                start = at = close + 1
            else:  # An initialiser of a member, or an enum: the declaration goes on.
                at = close + 1


def joined(namespace: str, inner: str) -> str:
    return f"{namespace}::{inner}" if namespace else inner


def statement_end(code: str, at: int, end: int) -> int:
    semicolon = code.find(";", at, end)
    return end if semicolon < 0 else semicolon + 1


def closing_parenthesis(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[()]").finditer(code, opening):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def is_body(head: str) -> bool:
    """Whether the brace after this text opens a function; a braced initialiser follows its name without a blank."""
    return bool(head) and not (head[-1].isalnum() or head[-1] in "_>=,(") and not head.rstrip().endswith(("=", ",", "(")) \
        and not re.match(r"(?:\s*(?:public|private|protected)\s*:)*\s*enum\b", head)


def without_noise(declaration: str) -> str:
    """Without access labels, template heads, attributes and template arguments, so that a parenthesis means a call."""
    declaration = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", declaration)
    declaration = NOISE.sub(" ", declaration)
    declaration = re.sub(r"\boperator\s*[^\s\w(]+", "operator_sign", declaration)
    declaration = re.sub(r"->|<=|>=|<<=|>>=", " ", declaration)
    pattern = re.compile(r"<[^<>]*>")
    while pattern.search(declaration):
        declaration = pattern.sub(" ", declaration)
    return declaration.strip()


def count(declaration: str, counted: CppClass) -> None:
    """Adds one declaration to the count: a method, some data members, or neither."""
    plain = re.sub(r"^\s*template\b\s*", "", without_noise(declaration)).strip()
    if not plain or NOT_COUNTED.match(plain):
        return
    first = re.search(r"[(={\[:]", re.sub(r"::", "__", plain))
    if first and first.group() == "(" and not re.match(r"\(\s*[*&]", plain_at(plain, first)):
        counted.methods += 1
        counted.aggregate = False
    elif re.match(r"[\w:]+[\s&*]", plain) and not STATIC_DATA.search(plain):
        counted.members += 1 + commas(plain)


def plain_at(plain: str, first: re.Match) -> str:
    return re.sub(r"::", "__", plain)[first.start():]


def commas(plain: str) -> int:
    depth = found = 0
    for character in plain:
        depth += (character in "({[") - (character in ")}]")
        found += character == "," and depth == 0
    return found


def definitions_of(file: CppFile) -> Iterator[str]:
    """The classes of which this file defines methods outside of the class: A::B for `void A::B::f() {`."""
    for function in file.functions():
        match = re.match(r"[^(]*?((?:[A-Za-z_]\w*(?:<[^<>()]*>)?::)+)(?:~?[A-Za-z_]\w*|operator\s*\S+?|operator\s*\(\s*\))\s*\(",
                         function.header)
        if match:
            yield re.sub(r"<[^<>]*>", "", match.group(1))[:-2]
