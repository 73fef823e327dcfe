"""Reads just enough C++ to judge its shape: includes, identifiers, and where functions begin and end.

No compiler is asked: comments and literals are blanked, braces are matched. That is exact for code in the format that
clang-format gives this tree (a function's body brace follows a blank, a braced initialiser does not).
"""

import re
from dataclasses import dataclass
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


@dataclass(frozen=True)
class CppFile:
    path: str
    text: str
    code: str  # The text with comments, strings and characters blanked, at the same offsets.
    includes: list  # (line, name, opening character)

    @staticmethod
    def parse(path: str, text: str) -> "CppFile":
        includes = [(text.count("\n", 0, m.start()) + 1, m.group(2), m.group(1)) for m in INCLUDE.finditer(text)]
        return CppFile(path, text, blanked(text), includes)

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def functions(self) -> Iterator[Function]:
        """Function definitions outside of functions, also inside classes and namespaces."""
        code = without_directives(self.code)
        begin = at = 0  # `begin` is where the present declaration starts.
        while at < len(code):
            character = code[at]
            if character in ";}":
                begin = at + 1
            elif character == "{":
                begin += ACCESS_LABELS.match(code, begin, at).end() - begin
                header = code[begin:at]
                if CONTAINER.match(header.strip()):
                    begin = at + 1
                else:
                    end = matching_brace(code, at)
                    if header and (header[-1].isalnum() or header[-1] in "_>"):
                        at = end + 1  # A braced initialiser, of a member perhaps: the declaration goes on.
                        continue
                    if "(" in header and header.split()[0] not in CONTROL:
                        first = begin + len(header) - len(header.lstrip())
                        yield Function(self.line_at(first), code.count("\n", first, end) + 1, " ".join(header.split()))
                    at, begin = end, end + 1
            at += 1


def blanked(text: str) -> str:
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without_directives(code: str) -> str:
    """Blanks preprocessor lines, continued ones too: a macro's braces are not the file's."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), code, flags=re.M)


def matching_brace(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def identifiers(code: str) -> Iterator[Identifier]:
    for match in re.finditer(r"(?:(\.|->|::)\s*)?\b([A-Za-z_]\w*)\b(?=\s*(.?))", without_includes(code)):
        yield Identifier(match.group(2), match.start(2), match.group(1) or "", match.group(3))


def without_includes(code: str) -> str:
    return re.sub(r"^[ \t]*#[ \t]*include[^\n]*", lambda match: " " * len(match.group()), code, flags=re.M)
