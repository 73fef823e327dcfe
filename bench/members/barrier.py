"""How long until all of many members have passed a barrier: gcoord-bench, whose clients are the C++ library."""

import json
import subprocess
from pathlib import Path

from part import Part, Scratch

METHOD = """\
Three durable nodes on loopback, and one process with the C++ client library that has a session for each member: all of one
client, which share its connections, or each of a client of its own. A round is from the first member's call until the last one
was let go. A commit, on the disks of two nodes, is in each round."""


def measure(part: Part, _network) -> dict:
    options = part.options
    with Scratch() as directory:
        done = subprocess.run([str(Path(options.bin).resolve() / "gcoord-bench"), "barrier", "--json", "--no-keep", "--members",
                               str(options.barrier_members), "--seconds", str(options.seconds), "--directory", str(directory)],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        part.failed(done.stderr.strip()[-300:])
        return part.finished(METHOD, [])
    raw = json.loads(done.stdout.splitlines()[-1])
    rows = [{"members": raw["members"], "clients": level["clients"], "rounds": level["rounds"], "p50_ms": level["p50_ms"],
             "p99_ms": level["p99_ms"], "max_ms": level["max_ms"]} for level in raw["levels"]]
    return part.finished(METHOD, rows, raw=raw)
