#!/usr/bin/env python3
"""How fast a killed node is detected, and who is held for failed wrongly, beside serf and etcd's lease, under the same faults.

Nodes run in network namespaces of this host. Systems take turns, so that a slow minute of the host is no system's own. Of each
one: kill -9 of a node, and the time until node 1 has it that this node failed (gcoord: the committed view says suspect; serf: the
event "member failed"; etcd: the key of its lease is gone); under no fault, under loss of a tenth and of three tenths of all packets,
and with a link cut one way. And faults that nobody should be held for failed for: loss, a one-way cut, a process that stood
still for 2 s. Prints a table, and with --results keeps the raw times. Exit code 1: a gcoord node was held for failed wrongly, or
a kill was not detected.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import etcd_lease  # noqa: E402
from etcd_lease import EtcdLease  # noqa: E402
from gcoord_cluster import GcoordCluster  # noqa: E402
from network import Network, missing_tools  # noqa: E402
from serf_cluster import SerfCluster  # noqa: E402
from three_nodes import end_on_signals, report  # noqa: E402

FAULTS = ("none", "loss 10 %", "loss 30 %", "one-way cut")
SYSTEMS = ("gcoord", "serf-local", "serf-lan", "etcd-lease")
DETECT_LIMIT = 60.0


def made(system: str, network: Network, options, directory: Path):
    if system == "gcoord":
        return GcoordCluster(network, options.nodes, directory, Path(options.bin).resolve(), extra=options.node_option)
    if system == "etcd-lease":
        return EtcdLease(network, min(options.nodes, 5), directory)
    return SerfCluster(network, options.nodes, system.split("-", 1)[1])


def apply_fault(network: Network, fault: str, cluster) -> None:
    if fault.startswith("loss"):
        network.lose(int(fault.split()[1]) / 100)
    elif fault == "one-way cut":
        network.cut(cluster.nodes[2], cluster.nodes[1])


class Run:
    """One turn of one system."""

    def __init__(self, system: str, network: Network, options, drawn: random.Random, deadline: float):
        self.system, self.network, self.options, self.drawn, self.deadline = system, network, options, drawn, deadline
        self.result = {"system": system, "kills": [], "wrong": [], "watched_s": {}}

    def out_of_time(self) -> bool:
        return time.monotonic() > self.deadline

    def measure(self) -> dict:
        directory = Path(tempfile.mkdtemp(prefix="gcoord-members-"))
        cluster = made(self.system, self.network, self.options, directory)
        try:
            self.result["version"] = cluster.version()
            self.result["nodes"] = len(cluster.nodes)
            for fault in self.options.faults:
                self.under(fault, cluster)
            self.stops(cluster)
        except TimeoutError as failure:
            self.result["failure"] = str(failure)
        finally:
            self.network.heal()
            cluster.end()
            shutil.rmtree(directory, ignore_errors=True)
        return self.result

    def under(self, fault: str, cluster) -> None:
        if self.out_of_time():
            return
        apply_fault(self.network, fault, cluster)
        self.watch(fault, cluster, self.options.watch)
        for _ in range(self.options.kills):
            if self.out_of_time():
                break
            self.kill(fault, cluster)
        self.network.heal()

    def watch(self, fault: str, cluster, seconds: float) -> None:
        """Whoever is held for failed now is so wrongly."""
        begin = time.monotonic()
        time.sleep(seconds)
        self.count_wrong(fault, cluster, begin, None)

    def count_wrong(self, fault: str, cluster, begin: float, killed) -> None:
        for at, node in cluster.failures(begin):
            if node != killed:
                self.result["wrong"].append({"fault": fault, "node": node, "after_s": round(at - begin, 3)})
        passed = self.result["watched_s"].get(fault, 0.0)
        self.result["watched_s"][fault] = round(passed + time.monotonic() - begin, 1)

    def kill(self, fault: str, cluster) -> None:
        time.sleep(self.drawn.uniform(0.5, 1.5))
        cut = cluster.nodes[1:3] if fault == "one-way cut" else ()
        able = [node for node in cluster.victims() if node not in cut] or list(cluster.victims())
        node = self.drawn.choice(able)
        begin = cluster.kill(node)
        took = cluster.detected(node, begin, DETECT_LIMIT)
        self.count_wrong(fault, cluster, begin, node)
        self.result["kills"].append({"fault": fault, "node": node, "took_s": took})
        self.network.heal()
        cluster.back(node)
        apply_fault(self.network, fault, cluster)

    def stops(self, cluster) -> None:
        for _ in range(self.options.stops):
            if self.out_of_time() or self.system == "etcd-lease":
                return
            node = self.drawn.choice(cluster.victims())
            begin = time.monotonic()
            cluster.stop(node, 2.0)
            time.sleep(4)
            self.count_wrong("stop 2 s", cluster, begin, None)


def quantile(times: list, part: float):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def table(runs: list) -> list:
    rows = []
    for fault in (*FAULTS, "stop 2 s"):
        for system in SYSTEMS:
            of = [run for run in runs if run["system"] == system]
            kills = [kill for run in of for kill in run["kills"] if kill["fault"] == fault]
            times = [kill["took_s"] for kill in kills if kill["took_s"] is not None]
            watched = sum(run["watched_s"].get(fault, 0.0) for run in of)
            if not kills and not watched:
                continue
            wrong = sum(1 for run in of for each in run["wrong"] if each["fault"] == fault)
            rows.append({"fault": fault, "system": system, "kills": len(kills), "missed": len(kills) - len(times),
                         "p50_s": quantile(times, 0.5), "p99_s": quantile(times, 0.99), "wrong": wrong,
                         "watched_s": round(watched)})
    return rows


def print_table(rows: list) -> None:
    def seconds(value) -> str:
        return "-" if value is None else f"{value:.3f}"
    print(f"{'FAULT':<12} {'SYSTEM':<11} {'KILLS':>5} {'MISSED':>6} {'P50 s':>8} {'P99 s':>8} {'WRONG':>5} {'WATCHED s':>9}",
          file=sys.stderr)
    for row in rows:
        print(f"{row['fault']:<12} {row['system']:<11} {row['kills']:>5} {row['missed']:>6} {seconds(row['p50_s']):>8} "
              f"{seconds(row['p99_s']):>8} {row['wrong']:>5} {row['watched_s']:>9}", file=sys.stderr)


def systems_at_hand(wanted: list) -> list:
    there = {"gcoord": True, "serf-local": shutil.which("serf"), "serf-lan": shutil.which("serf"), "etcd-lease": etcd_lease.is_there()}
    for system in wanted:
        if not there[system]:
            print(f"{system} is left out: its program is not installed", file=sys.stderr)
    return [system for system in wanted if there[system]]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/cpu/bin", help="where gcoordd and gcoordctl are")
    parser.add_argument("--nodes", type=int, default=7, help="nodes of each system; from the eighth on gcoord's are observers")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system")
    parser.add_argument("--kills", type=int, default=5, help="in each round, under each fault")
    parser.add_argument("--stops", type=int, default=3, help="of 2 s, in each round")
    parser.add_argument("--watch", type=float, default=20, help="seconds under each fault without a kill")
    parser.add_argument("--limit", type=float, default=1500, help="seconds after which nothing more is begun")
    parser.add_argument("--systems", default=",".join(SYSTEMS), type=lambda text: text.split(","))
    parser.add_argument("--faults", default=",".join(FAULTS), type=lambda text: text.split(","))
    parser.add_argument("--node-option", action="append", default=[], help="more for gcoordd, as --node-option=--silence-ms=1000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="5 nodes, one round of two kills without a fault")
    parser.add_argument("--results", help="directory that the raw times are kept in")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the last line is always one JSON object")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.rounds, options.kills, options.stops, options.watch = 5, 1, 2, 1, 2
        options.faults = ["none"]
    return options


def main() -> int:
    options = parse()
    lacking = missing_tools()
    if lacking:
        print(f"skipped: needs {', '.join(lacking)}", file=sys.stderr)
        return 77
    end_on_signals()
    drawn = random.Random(options.seed)
    deadline = time.monotonic() + options.limit
    systems = systems_at_hand(options.systems)
    network = Network(options.nodes)
    runs = []
    try:
        for _ in range(options.rounds):
            for system in systems:
                if time.monotonic() < deadline:
                    runs.append(Run(system, network, options, drawn, deadline).measure())
    finally:
        network.close()
    rows = table(runs)
    print_table(rows)
    for run in runs:
        if "failure" in run:
            print(f"{run['system']}: {run['failure']}", file=sys.stderr)
    versions = {run["system"]: run.get("version", "") for run in runs}
    report("members", {"options": {key: value for key, value in vars(options).items() if key != "results"}, "versions": versions,
                       "table": rows, "runs": runs}, options.results)
    mine = [row for row in rows if row["system"] == "gcoord"]
    failed = any("failure" in run for run in runs if run["system"] == "gcoord")
    return 1 if failed or any(row["wrong"] or row["missed"] for row in mine) else 0


if __name__ == "__main__":
    sys.exit(main())
