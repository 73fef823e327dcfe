"""A manual page made of a program's own --help, so that there is one text.

usage: man_page.py PROGRAM --section N --version TEXT --output FILE

Asks the program for the help of itself and of each of its verbs, and writes one page in man(7). Two runs on the same
program give the same bytes.
"""

import argparse
import itertools
import os
import pathlib
import re
import subprocess
import sys

FOOTER_WIDTH = 70  # A longer line of a footer ends because it is full.
NAME_WIDTH = 30  # The column where what is said of an entry begins, there or in the next line.
CONTINUED = re.compile(rf"^ {{{NAME_WIDTH}}}(\S.*)$")
HEADING = re.compile(r"^(\S.*):$")
VARIABLE = re.compile(r"\s*\(Env:(\w+)\)")


def roff(text):
    """Text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped[:1] in (".", "'") else escaped


def split_entry(line, name_is_long):
    """The name of an entry, and what is said of it in the same line: nothing if the name is long."""
    if name_is_long or len(line) <= NAME_WIDTH:
        return line.strip(), ""
    return line[2:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()


class Help:
    """The parts of one help text: what it says first, its usage, its lists, and what stands below them."""

    def __init__(self, text):
        lines = text.splitlines()
        usage = next((at for at, line in enumerate(lines) if line.startswith("Usage:")), None)
        if usage is None:
            raise ValueError("no line begins with Usage:")
        self.about = " ".join(line for line in lines[:usage] if line)
        self.usage = lines[usage].removeprefix("Usage:").strip()
        self.lists = {}
        self.footer = []
        entries = None
        for line, next_line in itertools.pairwise([*lines[usage + 1 :], ""]):
            heading, continued = HEADING.match(line), CONTINUED.match(line)
            if self.footer or (line and not line.startswith(" ") and not heading):
                self.footer.append(line)
            elif heading:
                entries = self.lists.setdefault(heading.group(1), [])
            elif continued and entries:
                name, about = entries[-1]
                entries[-1] = (name, (about + " " + continued.group(1)).strip())
            elif line.startswith("  ") and entries is not None:
                entries.append(split_entry(line, CONTINUED.match(next_line)))

    def verbs(self):
        """Names of verbs, without their other names."""
        return [name.split(",")[0].strip() for name, _ in self.lists.get("Subcommands", [])]


def ask(program, verbs):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GCOORD_")}
    answer = subprocess.run(
        [program, *verbs, "--help"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    if answer.returncode != 0:
        raise ValueError(f"{' '.join(verbs)} --help ended with {answer.returncode}: {answer.stderr}")
    return Help(answer.stdout)


def entries(listed):
    for name, about in listed:
        variable = VARIABLE.search(name)
        yield ".TP"
        yield "\\fB" + roff(VARIABLE.sub("", name)) + "\\fR"
        if variable:
            about = f"{about} ({variable.group(1)})" if about else variable.group(1)
        yield roff(about)


def lists_of(asked, heading):
    """All lists but that of verbs and of --help, which every verb has."""
    for title, listed in asked.lists.items():
        rest = [each for each in listed if not each[0].startswith("-h,")]
        if title != "Subcommands" and rest:
            if heading:
                yield f"{heading} {roff(title.upper() if heading == '.SH' else title)}"
            yield from entries(rest)


def paragraphs(footer):
    """Lines that the program broke at its right edge are joined; those that it ended there are not."""
    for line in footer:
        yield ".PP" if not line else roff(line)
        if line and (len(line) < FOOTER_WIDTH or line.endswith((".", ":"))):
            yield ".br"


def without(footer, inherited):
    """A verb's own words: below them its --help repeats what stands below its group's."""
    own = footer[: -len(inherited)] if inherited and footer[-len(inherited) :] == inherited else footer
    return own[: len(own) - 1] if own and not own[-1] else own


def verb_parts(program, path, inherited):
    """One verb and the verbs below it."""
    asked = ask(program, path)
    yield ".SS " + roff(" ".join(path))
    yield roff(asked.about)
    if not asked.verbs():
        yield ".PP"
        yield "\\fB" + roff(asked.usage) + "\\fR"
        yield from lists_of(asked, None)
    own = without(asked.footer, inherited)
    if own:
        yield ".PP"
        yield from paragraphs(own)
    for verb in asked.verbs():
        yield from verb_parts(program, [*path, verb], asked.footer)


def page(program, section, version):
    name = pathlib.Path(program).name
    root = ask(program, [])
    yield f'.TH {roff(name.upper())} {section} "" "gcoord {version}" "gcoord"'
    yield ".SH NAME"
    yield roff(root.about.replace(name + ":", name + " -", 1)).replace(" \\- ", " \\- ", 1)
    yield ".SH SYNOPSIS"
    yield "\\fB" + roff(root.usage) + "\\fR"
    yield ".SH DESCRIPTION"
    yield from paragraphs(root.footer)
    yield from lists_of(root, ".SH")
    if root.verbs():
        yield ".SH COMMANDS"
        for verb in root.verbs():
            yield from verb_parts(program, [verb], root.footer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--section", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    try:
        text = "\n".join(page(options.program, options.section, options.version)) + "\n"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"man_page: {options.program}: {error}", file=sys.stderr)
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
