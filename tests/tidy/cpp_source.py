"""Reads just enough C++ to judge its shape: includes, identifiers, and where functions begin and end.

No compiler is asked: comments and literals are blanked, braces are matched. That is exact for code in the format that
clang-format gives this tree (a function's body brace follows a blank, a braced initialiser does not).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Iterator

BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|R\"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)\""
    r"|\"(?:\\.|[^\"\\\n])*\""
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.M)
CONTAINER = re.compile(r"^(?:template\s*<.*>\s*)?(?:requires\b.*)?(?:inline\s+)?"
                       r"(?:namespace|extern|class|struct|union|enum|typedef struct)\b(?!.*\)\s*(?:const\s*)?(?:noexcept\s*)?$)",
                       re.S)
PUNCTUATION = re.compile(r"[;{}]")
BRACE = re.compile(r"[{}]")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.M)
NAME = re.compile(r"(?:(\.|->|::)\s*)?\b([A-Za-z_]\w*)\b(?=\s*(.?))")
ACCESS_LABELS = re.compile(r"(?:\s*(?:public|private|protected)\s*:(?!:))*")
CONTROL = {"if", "for", "while", "switch", "else", "do", "try", "catch", "return"}


@dataclass(frozen=True)
class Function:
    line: int    # Of the first line of its declaration.
    lines: int   # From there to the closing brace.
    header: str  # All of the declaration before the body.


@dataclass(frozen=True)
class Identifier:
    text: str
    offset: int
    before: str  # "." "->" "::" or "".
    after: str   # The next character that is not blank.


@dataclass
class CppFile:
    path: str
    text: str

    @staticmethod
    def parse(path: str, text: str) -> "CppFile":
        return CppFile(path, text)

    @cached_property
    def includes(self) -> list:
        """(line, name, opening character) of each."""
        return [(self.line_at(m.start()), m.group(2), m.group(1)) for m in INCLUDE.finditer(self.text)]

    @cached_property
    def code(self) -> str:
        """The text with comments, strings and characters blanked, at the same offsets."""
        return blanked(self.text)

    @cached_property
    def bare(self) -> str:
        """The code with preprocessor lines blanked too."""
        return without_directives(self.code)

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def functions(self) -> list:
        """Function definitions outside of functions, also inside classes and namespaces."""
        return self.parsed_functions

    @cached_property
    def parsed_functions(self) -> list:
        return list(self.walk_functions())

    def walk_functions(self) -> Iterator[Function]:
        code = self.bare
        begin = at = 0  # `begin` is where the present declaration starts.
        while match := PUNCTUATION.search(code, at):
            at = match.start()
            if match.group() != "{":
                begin = at = at + 1
                continue
            begin += ACCESS_LABELS.match(code, begin, at).end() - begin
            header = code[begin:at]
            if CONTAINER.match(header.strip()):
                begin = at = at + 1
                continue
            end = matching_brace(code, at)
            at = end + 1
            if header and (header[-1].isalnum() or header[-1] in "_>"):
                continue  # A braced initialiser, of a member perhaps: the declaration goes on.
            if "(" in header and header.split()[0] not in CONTROL:
                first = begin + len(header) - len(header.lstrip())
                yield Function(self.line_at(first), code.count("\n", first, end) + 1, " ".join(header.split()))
            begin = at


def blanked(text: str) -> str:
    return BLANKED.sub(lambda match: blank_of(match.group()), text)


def blank_of(text: str) -> str:
    """As many blanks, on the same lines."""
    return "\n".join(" " * len(line) for line in text.split("\n")) if "\n" in text else " " * len(text)


def without_directives(code: str) -> str:
    """Blanks preprocessor lines, continued ones too: a macro's braces are not the file's."""
    return DIRECTIVE.sub(lambda match: blank_of(match.group()), code) if "#" in code else code


def matching_brace(code: str, opening: int) -> int:
    depth = 0
    for match in BRACE.finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def identifiers(code: str) -> Iterator[Identifier]:
    for match in NAME.finditer(without_includes(code)):
        yield Identifier(match.group(2), match.start(2), match.group(1) or "", match.group(3))


def without_includes(code: str) -> str:
    return INCLUDE_LINE.sub(lambda match: " " * len(match.group()), code)
