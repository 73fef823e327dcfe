"""Words: names that say nothing, words that the glossary struck, and text that belongs to one machine."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Iterator

from cpp_source import CppFile, blank_of, identifiers
from ratchet import Measure, Ratchet
from tree import Finding, Tree, is_product, top_of

BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "misc", "data", "info", "my", "temp"}
BANNED_PREFIXES = ("do_", "new_")
BANNED_VERBS = ("process", "handle")  # As the first word of a function; on_<message> is the name for a reaction.
# Fixed terms: a canonical status code, the operator's word for where a node keeps its files, names of POSIX and std.
ALLOWED_NAMES = re.compile(r"data_?loss|data_?dir(ectory)?|k?DataLoss|DataDirectory\w*|log_info|dup2|pipe2|log2|exp2|sse4_2", re.I)
FOREIGN_NAME = re.compile(r"^(curl|ucp|ucs|uct|epoll|rocksdb|json|asio|mg|std|prometheus)_|^(cuda|nvml)[A-Z]|^(ASN1|BIO|CRYPTO|ERR|EVP|OSSL|PEM|SSL|X509)_|^[A-Z][A-Z0-9_]*$")
WORD = re.compile(r"[A-Za-z_]\w*")
TEST_TITLE = re.compile(r"\b(TEST|TEST_[FP]|RC_GTEST_\w+)\(\s*\w+,\s*\w+")  # A sentence; it may speak of data.

GLOSSARY = "docs/glossary.md"
STRUCK = Ratchet("words.txt", "Names of types and files that still bear a word that docs/glossary.md struck: WORD NAMES.", (0,))
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:alignas\([^()]*\)\s*|\[\[[^\]]*\]\]\s*)*"
                  r"([A-Z]\w*)(?=[^;(){}=<>&*,]*\{)|\busing\s+([A-Z]\w*)\s*=")


def words_of(identifier: str) -> list:
    """GpuInfo_table -> gpu, info, table."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", identifier)]


def breach_of_name(identifier: str, called: bool) -> str:
    if ALLOWED_NAMES.search(identifier) or FOREIGN_NAME.search(identifier):
        return ""
    if identifier == "data" and called:
        return ""  # data() and size() are how the standard library names a contiguous range.
    banned = BANNED_WORDS.intersection(words_of(identifier))
    if banned:
        return f"\"{sorted(banned)[0]}\" in the name {identifier}"
    if identifier.startswith(BANNED_PREFIXES):
        return f"the name {identifier} starts with {identifier.split('_')[0]}_"
    if called and identifier.split("_")[0] in BANNED_VERBS:
        return f"the verb \"{identifier.split('_')[0]}\" in the name {identifier}"
    if re.search(r"[a-zA-Z_]2$", identifier):
        return f"a name that ends in 2: {identifier}"
    return ""


def check_names(tree: Tree) -> Iterator[Finding]:
    """Names avoid the words that say nothing (CONTRIBUTING.md lists them)."""
    judged = {}
    for file in tree.code():
        breach = breach_of_name(Path(file.path).stem, called=False)
        if breach:
            yield Finding(file.path, 1, breach)
        names = set(WORD.findall(file.code))
        for name in names.difference(judged):
            judged[name] = bool(breach_of_name(name, called=True) or breach_of_name(name, called=False))
        if any(judged[name] for name in names):
            yield from named_badly(file)


def named_badly(file: CppFile) -> Iterator[Finding]:
    reported = set()
    for name in identifiers(TEST_TITLE.sub(lambda match: blank_of(match.group()), file.code)):
        # A member or a qualified name was judged where it is declared, or belongs to another library.
        if name.before in (".", "->", "::") or name.text in reported:
            continue
        breach = breach_of_name(name.text, called=name.after == "(")
        if breach:
            reported.add(name.text)
            yield Finding(file.path, file.line_at(name.offset), breach)


def check_words(tree: Tree) -> Iterator[Finding]:
    """No unfinished work without an issue, no path of one machine, no word that docs/glossary.md struck, no term twice."""
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
    machine = re.compile(r"(?<![\w.~}/-])/(work|root|home/\w+)/|/tmp/gb\b|\bdeb\.debian\.org|\bpypi\.org")
    signs = ("TODO", "FIXME", "XXX", "HACK", "/work/", "/root/", "/home/", "/tmp/gb", "debian.org", "pypi.org")
    for path, text in tree.texts.items():
        if path.startswith("tests/tidy/") or not any(sign in text for sign in signs):
            continue  # tests/tidy speaks about these words.
        for number, line in enumerate(text.splitlines(), 1):
            if Path(path).suffix != ".md" and unfinished.search(line):
                yield Finding(path, number, "unfinished work without an issue number: write TODO(#N) or finish it")
            if machine.search(line):
                yield Finding(path, number, f"a path or host of one machine: {machine.search(line).group()}")
    yield from check_glossary(tree)
    yield from STRUCK.compare(tree, list(measure_struck_words(tree)))


def check_glossary(tree: Tree) -> Iterator[Finding]:
    if GLOSSARY not in tree.texts:
        if "CONTRIBUTING.md" in tree.texts:
            yield Finding(GLOSSARY, 1, "the glossary is missing")
        return
    meanings = {}
    for number, cells, head in table_rows(tree.texts[GLOSSARY]):
        if head[1:2] != ["meaning"]:
            continue
        for term in terms_of(cells[0]):
            if term in meanings and meanings[term] != cells[1]:
                yield Finding(GLOSSARY, number, f"\"{term}\" has two meanings: say which, \"{term} (of ...)\"")
            meanings[term] = cells[1]


def table_rows(text: str) -> Iterator[tuple]:
    """(line, cells, the cells of its head in lower case) of each row of the tables."""
    head, before = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            head = []
        elif re.fullmatch(r"[|\s:-]+", line) and before.startswith("|"):
            head = [cell.lower() for cell in cells_of(before)]
        elif head:
            yield number, cells_of(line), head
        before = line


def cells_of(line: str) -> list:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def terms_of(cell: str) -> list:
    """A cell names one term or several, parted by commas or slashes or before a colon, perhaps as code."""
    cell = re.sub(r"[`*]", "", cell)
    return [" ".join(term.split()).lower() for term in re.split(r"[,;:]|\s/\s", cell) if term.strip()]


def struck_words(tree: Tree) -> dict:
    """The parts of each struck word -> what to say instead."""
    found = {}
    if GLOSSARY in tree.texts:
        for _, cells, head in table_rows(tree.texts[GLOSSARY]):
            if head[0] == "struck" and len(cells) > 1:
                cell = re.sub(r"\([^()]*\)", " ", cells[0]).replace("`", "")
                for term in re.split(r"[,;]|\s/\s", cell):
                    parts = tuple(words_of(term))
                    if parts:
                        found[parts] = cells[1]
    return found


def product_names(tree: Tree) -> dict:
    """The names of types and files of product code -> (path, line) of the first of each."""
    names = {}
    for file in tree.code():
        if is_product(file.path):
            names.setdefault(Path(file.path).stem, (file.path, 1))
            for match in TYPE.finditer(file.bare):
                name = match.group(1) or match.group(2)
                names.setdefault(name, (file.path, file.line_at(match.start())))
    return names


def measure_struck_words(tree: Tree) -> Iterator[Measure]:
    struck = struck_words(tree)
    if not struck:
        return
    breaches = defaultdict(list)
    for name, where in product_names(tree).items():
        parts = tuple(words_of(name))
        for word in struck:
            if any(parts[at:at + len(word)] == word for at in range(len(parts))):
                breaches[word].append((name, where))
    for word, names in breaches.items():
        shown = ", ".join(sorted(name for name, _ in names)[:5])
        path, line = names[0][1]
        yield Measure("_".join(word), (len(names),), path, line,
                      f"\"{' '.join(word)}\" is struck, say {struck[word]}: {shown}")
