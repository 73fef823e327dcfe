"""A small clean tree, in which each case plants what it wants found."""

import tempfile
import unittest
from pathlib import Path

import tidy

HEADER = "// A header that names its thing.\n#pragma once\n\n"
CLEAN = {
    "common/CMakeLists.txt": "# Owns hashes of bytes.\ngcoord_library(SOURCES hash.cc HEADERS hd.h hash.h)\n",
    "common/hd.h": HEADER + "#if defined(__CUDACC__)\n#define GCOORD_HD __host__ __device__\n#endif\n",
    "common/hash.h": HEADER + "#include \"common/hd.h\"\n\n#include <cstdint>\n\nstd::uint64_t hash(int seed);\n",
    "common/hash.cc": "#include \"common/hash.h\"\n\nstd::uint64_t hash(int seed) {\n  return 7;\n}\n",
    "ledger/CMakeLists.txt": "# Owns records on disk.\ngcoord_library(HEADERS tape.h DEPS common)\n",
    "ledger/tape.h": HEADER + "#include \"common/hash.h\"\n",
}


def body(lines: int) -> str:
    return "{\n" + "  ++x;\n" * (lines - 2) + "}\n"


def library(deps: str = "", files: str = "HEADERS a.h") -> str:
    return f"# Owns something.\ngcoord_library({files}{' DEPS ' + deps if deps else ''})\n"


def includes(*names: str) -> str:
    return "".join(f"#include \"{name}\"\n" for name in names)


class PlantedTest(unittest.TestCase):
    """What every group of cases needs: a tree with something planted, and what a rule finds in it."""

    def tree(self, planted: dict) -> tidy.Tree:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for path, text in {**CLEAN, **planted}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return tidy.Tree.read(root)

    def findings(self, rule: str, planted: dict) -> list:
        return list(tidy.RULES[rule](self.tree(planted)))

    def expect(self, rule: str, path: str, line: int, planted: dict) -> None:
        found = self.findings(rule, planted)
        self.assertEqual([(f.path, f.line) for f in found], [(path, line)], [f.what for f in found])

    def expect_none(self, rule: str, planted: dict) -> None:
        self.assertEqual([f"{f.path}:{f.line}: {f.what}" for f in self.findings(rule, planted)], [])
