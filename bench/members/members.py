#!/usr/bin/env python3
"""The table of membership: how fast failures are detected beside others, what k deaths, barriers and changes of nodes cost.

Each part can run by itself (--only): detection, deaths, group, barrier, grow, replace. Nodes run in network namespaces of this
host; it needs root, `ip` and `iptables`, and takes beside gcoord what is installed of serf, etcd (etcd-server, etcd-client) and
ZooKeeper (libzookeeper-java, libslf4j-java, python3-kazoo). Prints a table for each part, and with --results keeps the raw times
in members-<date>.json there, in which other parts of the same day stay as they are. Exit code 1: something failed, a gcoord node
was held for failed wrongly, or a kill was not detected; 77: a tool is missing.
"""

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import barrier  # noqa: E402
import deaths  # noqa: E402
import detection  # noqa: E402
import group_views  # noqa: E402
import growth  # noqa: E402
from network import Network, missing_tools  # noqa: E402
from part import Part, print_rows  # noqa: E402
from three_nodes import end_on_signals, machine  # noqa: E402

# Name, what measures it, and how many namespaces it needs at least.
PARTS = {"detection": (detection.measure, 0), "deaths": (deaths.measure, 7), "group": (group_views.measure, 3),
         "barrier": (barrier.measure, 0), "grow": (growth.grow, 5), "replace": (growth.replace, 4)}


def listed(text: str) -> list:
    return [each for each in text.split(",") if each]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/cpu/bin", help="where gcoordd, gcoordctl and gcoord-bench are")
    parser.add_argument("--only", default=list(PARTS), type=listed, metavar="PART,...", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--limit", type=float, default=3000, help="seconds after which a part begins nothing more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=8, help="detection: nodes of each system; gcoord has room for 8, 7 of them voters")
    parser.add_argument("--rounds", type=int, default=2, help="detection: turns of each system")
    parser.add_argument("--kills", type=int, default=5, help="detection: in each round, under each fault")
    parser.add_argument("--stops", type=int, default=3, help="detection: of 2 s, in each round")
    parser.add_argument("--watch", type=float, default=10, help="detection: seconds under each fault without a kill")
    parser.add_argument("--systems", default=list(detection.SYSTEMS), type=listed, help="detection")
    parser.add_argument("--faults", default=list(detection.FAULTS), type=listed, help="detection")
    parser.add_argument("--node-option", action="append", default=[], help="more for gcoordd, as --node-option=--silence-ms=1000")
    parser.add_argument("--tries", type=int, default=5, help="deaths and group: how often")
    parser.add_argument("--members", type=int, default=16, help="deaths and group: members of the group")
    parser.add_argument("--ttl", type=int, default=2, help="deaths and group: seconds that a dead member's session lasts")
    parser.add_argument("--barrier-members", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10, help="barrier and loads: seconds of one measurement")
    parser.add_argument("--shards", type=int, default=65_536, help="grow and replace")
    parser.add_argument("--rate", type=int, default=1000, help="grow and replace: operations per second beside them")
    parser.add_argument("--repeat", type=int, default=1, help="grow and replace: how often, with a new cluster")
    parser.add_argument("--quick", action="store_true",
                        help="no measurement: 5 nodes and one kill, changes with 64 shards; skipped where a system is missing")
    parser.add_argument("--results", help="directory that the raw times are kept in")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the last line is always one JSON object")
    options = parser.parse_args()
    unknown = [part for part in options.only if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.quick:
        options.nodes, options.rounds, options.kills, options.stops, options.watch = 5, 1, 1, 0, 1
        options.faults, options.shards, options.seconds, options.rate, options.tries = ["none"], 64, 2, 200, 1
    return options


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).resolve().parent, capture_output=True,
                          text=True, check=False)
    return done.stdout.strip()


def run_part(name: str, options) -> dict:
    measure, namespaces = PARTS[name]
    print(f"{name}:", file=sys.stderr)
    begin = time.monotonic()
    part = Part(options)
    network = Network(max(namespaces, options.nodes if name == "detection" else 0)) if name != "barrier" else None
    try:
        result = measure(part, network)
    finally:
        if network is not None:
            network.close()
    settings = {key: value for key, value in vars(options).items() if key not in ("results", "only", "json", "bin")}
    return {"commit": commit(), "took_s": round(time.monotonic() - begin, 1), "options": settings, **result}


def keep(directory: str, whole: dict) -> None:
    """Parts of the same day that were measured before, and not now, stay."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    path = Path(directory) / f"members-{whole['date']}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    path.write_text(json.dumps({**whole, "parts": {**before, **whole["parts"]}}, indent=1) + "\n", encoding="utf-8")
    print(f"kept in {path}", file=sys.stderr)


def main() -> int:
    options = parse()
    lacking = missing_tools()
    if options.quick and "detection" in options.only:
        lacking += detection.missing(options.systems)
    if lacking:
        print(f"skipped: needs {', '.join(lacking)}", file=sys.stderr)
        return 77
    end_on_signals()
    whole = {"name": "members", "date": datetime.date.today().isoformat(), "machine": machine(), "parts": {}}
    parts = whole["parts"]
    for name in options.only:
        parts[name] = run_part(name, options)
        if options.results:
            keep(options.results, whole)
        print_rows(f"{name} ({parts[name]['took_s']:.0f} s, load average {parts[name]['load_average']})", parts[name]["rows"])
    failures = [f"{name}: {words}" for name, part in parts.items() for words in part["failures"]]
    for words in failures:
        print(f"failed: {words}", file=sys.stderr)
    print(json.dumps(whole))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
