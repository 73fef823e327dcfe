#!/usr/bin/env python3
"""Moves raw results into bench/results/archive.tar.xz and mends the text that names them.

Usage: bench/report/archive_results.py [NAME...]. NAME is a file of bench/results, with or without `.json`.
Without names the archive stays and only references are mended. The archive is the same bytes for the same files:
names are sorted, times, owners and modes are fixed.
"""

import io
import lzma
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results"
ARCHIVE = RESULTS / "archive.tar.xz"


def read_archive():
    """The files of the archive, by name."""
    if not ARCHIVE.exists():
        return {}
    with tarfile.open(ARCHIVE, "r:xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def write_archive(files):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(files[name]), 0o644, 0
            archive.addfile(member, io.BytesIO(files[name]))
    ARCHIVE.write_bytes(lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def mend(text, names):
    """`text` with each reference to an archived file as `bench/results/archive.tar.xz: NAME`."""
    one = "|".join(re.escape(name) for name in names)
    text = re.sub(rf"\[(?:bench/results/)?({one})\]\(((?:\.\./)*)bench/results/\1\)",
                  r"[bench/results/archive.tar.xz: \1](\2bench/results/archive.tar.xz)", text)
    return re.sub(rf"(?<!archive\.tar\.xz: )(?<![\w/-])(?:bench/results/)?({one})(?!\w)",
                  r"bench/results/archive.tar.xz: \1", text)


def mend_references(names):
    listed = subprocess.run(["git", "ls-files", "*.md", "*.h", "*.cc", "*.cu", "*.py"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    for path in (ROOT / line for line in listed):
        before = path.read_text()
        after = mend(before, names)
        if after != before:
            path.write_text(after)
            print(f"mended {path.relative_to(ROOT)}")


def main():
    files = read_archive()
    added = [RESULTS / f"{name.removesuffix('.json')}.json" for name in sys.argv[1:]]
    files.update({path.name: path.read_bytes() for path in added})
    if added:
        write_archive(files)
        for path in added:
            path.unlink()
    if files:
        mend_references(sorted(files, key=len, reverse=True))


if __name__ == "__main__":
    main()
