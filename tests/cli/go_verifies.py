#!/usr/bin/env python3
"""Go's packages for transparency logs, and no code of gcoord's, verify logs that gcoord serves and exports.

Usage: go_verifies.py --serve LEDGER_SERVE --ctl GCOORDCTL --go GO --source verify_log.go --directory DIR

Serves a ledger, verifies its cluster log and its shards over HTTP, exports a shard and verifies the directory. Then the
verifier must refuse: another key, another log's checkpoint, and the directory with one bit of any file flipped.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ENTRIES = 300  # Of shard 1; shard 2 has twice as many: full tiles, partial ones, and two levels.
GOPATH = "/usr/share/gocode"  # Where Debian keeps the sources of Go packages.


def build_verifier(arguments, directory: Path) -> Path:
    program = directory / "verify_log"
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": GOPATH, "GOFLAGS": "", "GOPROXY": "off",
                   "GOCACHE": str(directory / "cache"), "CGO_ENABLED": "0"}
    subprocess.run([arguments.go, "build", "-o", str(program), arguments.source], check=True, env=environment)
    return program


class Checks:
    def __init__(self, program: Path):
        self.program = program
        self.failures = 0

    def verify(self, ledger: str, log: str, key: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(self.program), ledger, log, key], capture_output=True, text=True, check=False)

    def expect(self, what: str, true: bool, evidence: str = "") -> None:
        if not true:
            self.failures += 1
            print(f"FAILED: {what} {evidence}", file=sys.stderr)

    def accepts(self, ledger: str, log: str, key: str, records: int) -> None:
        done = self.verify(ledger, log, key)
        self.expect(f"{log or 'the cluster log'} of {ledger} is verified", done.stdout.strip() == f"verified {records}",
                    done.stdout + done.stderr)

    def refuses(self, what: str, ledger: str, log: str, key: str) -> None:
        self.expect(f"refused: {what}", self.verify(ledger, log, key).returncode == 1)


def check_flips(checks: Checks, directory: Path, log: str, key: str) -> None:
    files = [path for path in (directory / log).rglob("*") if path.is_file()]
    checks.expect("the export has tiles, bundles and a checkpoint", len(files) >= 8, str(files))
    for path in files:
        before = path.read_bytes()
        at = len(before) // 2
        path.write_bytes(before[:at] + bytes([before[at] ^ 4]) + before[at + 1:])
        checks.refuses(f"a bit of {path}", str(directory), log, key)
        path.write_bytes(before)
    checks.accepts(str(directory), log, key, 2 * ENTRIES)


def run(arguments, server: subprocess.Popen) -> int:
    said = json.loads(server.stdout.readline())
    url, keys = said["url"], said["keys"]
    directory = Path(arguments.directory)
    checks = Checks(build_verifier(arguments, directory))
    checks.accepts(url, "", keys[0], 2)
    checks.accepts(url, "", keys[2], 2)
    checks.accepts(url, "shard/1", keys[0], ENTRIES)
    checks.accepts(url, "shard/2", keys[0], 2 * ENTRIES)
    checks.refuses("a key that did not sign", url, "shard/2", keys[1])
    export = directory / "export"
    command = [arguments.ctl, "ledger", "export", "--ledger", url, "--shard", "2", "--key", keys[0], str(export)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    checks.accepts(str(export), "shard/2", keys[0], 2 * ENTRIES)
    check_flips(checks, export, "shard/2", keys[0])
    shutil.move(export / "shard/2", export / "shard/1")
    checks.refuses("the log of another shard", str(export), "shard/1", keys[0])
    return checks.failures


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("serve", "ctl", "go", "source", "directory"):
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    arguments.directory = str(Path(arguments.directory).resolve())
    shutil.rmtree(arguments.directory, ignore_errors=True)
    Path(arguments.directory).mkdir(parents=True)
    with subprocess.Popen([arguments.serve, "3", str(ENTRIES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            return 1 if run(arguments, server) else 0
        finally:
            server.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
