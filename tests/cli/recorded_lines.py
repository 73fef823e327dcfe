#!/usr/bin/env python3
"""A program that answers each line of JSON with one, held to the bytes that it once answered.

Usage: recorded_lines.py --session FILE [--again TEXT] [--write] PROGRAM [ARGUMENT ...]

In FILE a line "> REQUEST" is sent, and the line behind it is the answer; "# ..." is a comment. An answer that holds TEXT is not
the answer yet: the request is repeated. --write records what the program answers now. Exits with 1 when an answer differs.
"""

import argparse
import subprocess
import sys
from pathlib import Path

REQUEST = b"> "


def ask(process, request, again):
    while True:
        process.stdin.write(request + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            sys.exit(f"the program ended at {request.decode()}")
        if again is None or again not in answer:
            return answer.rstrip(b"\n")


def replayed(session, process, again):
    """The lines of the session, with the answers of now."""
    for line in session:
        if line.startswith((REQUEST, b"#")):
            yield line
        if line.startswith(REQUEST):
            yield ask(process, line[len(REQUEST):], again)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--session", type=Path, required=True)
    parser.add_argument("--again", type=str.encode)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    session = options.session.read_bytes().splitlines()
    with subprocess.Popen(options.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        now = list(replayed(session, process, options.again))
        process.stdin.close()
    if options.write:
        options.session.write_bytes(b"".join(line + b"\n" for line in now))
        return 0
    differing = [(then, is_now) for then, is_now in zip(session, now) if then != is_now]
    for then, is_now in differing:
        print(f"recorded: {then}\nanswered: {is_now}")
    return 1 if differing or len(session) != len(now) else 0


if __name__ == "__main__":
    sys.exit(main())
