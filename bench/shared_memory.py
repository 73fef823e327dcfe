#!/usr/bin/env python3
"""Locks and unlocks of one client process over TCP on loopback and through shared memory, in turns, on the nodes' own host.

Each round measures every way with one client and with many in one process (gcoordctl bench lock in a closed loop), and which way comes
first changes. The nodes and the client share the host's processors, so the ratios count, not the figures; processor time of a pair is
least disturbed by others. Prints one JSON object, and
with --results keeps it there. Exit code 1: an operation failed.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from three_nodes import Cluster, report, wait_for  # noqa: E402

WAYS = ("tcp", "shm")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/cpu/bin", help="where gcoordd and gcoordctl are")
    parser.add_argument("--seconds", type=float, default=5, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3], help="of a cluster; one after the other")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 256])
    parser.add_argument("--durability", nargs="+", default=["memory", "durable"])
    parser.add_argument("--results", default="bench/results", help="directory that the raw figures are kept in; empty: none")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the output is always one JSON object")
    return parser.parse_args()


def endpoints(cluster: Cluster, way: str) -> str:
    if way == "tcp":
        return cluster.endpoints()
    return ",".join(f"shm:{cluster.directory / str(node)}/client.shm" for node in cluster.nodes)


def node_seconds(cluster: Cluster) -> float:
    """Processor time of the nodes so far."""
    ticks = 0
    for process in cluster.processes.values():
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load(cluster: Cluster, way: str, clients: int, seconds: float) -> dict:
    before = cluster.total("gcoord_server_shm_wakes_total")
    nodes, children = node_seconds(cluster), child_seconds()
    run = subprocess.run([str(cluster.bin / "gcoordctl"), "--endpoints", endpoints(cluster, way), "-o", "json", "bench", "lock",
                          "--seconds", str(seconds), "--clients", str(clients)], capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)
    pairs = max(int(found["pairs"]), 1)
    used = {"node_us_per_pair": round((node_seconds(cluster) - nodes) * 1e6 / pairs, 2),
            "client_us_per_pair": round((child_seconds() - children) * 1e6 / pairs, 2)}
    wakes = {key: value - before.get(key, 0) for key, value in cluster.total("gcoord_server_shm_wakes_total").items()}
    return {"way": way, "clients": clients, "exit": run.returncode, "bench": found, **used, "wakes": wakes, "load_average": os.getloadavg()[0]}


def rate_of(run: dict) -> float:
    return run["bench"]["pairs_per_s"]


def processor_of(run: dict) -> float:
    return run["node_us_per_pair"] + run["client_us_per_pair"]


def p50_of(run: dict) -> float:
    return run["bench"]["acquire_p50_ms"]


def measure(nodes: int, durability: str, options: argparse.Namespace) -> list:
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(options.bin, Path(folder), shards=64, nodes=nodes, durability=durability)
        try:
            wait_for("a leader", lambda: cluster.ctl("lock", "acquire", "first", "--ttl", "1s").get("name") == "first")
            for number in range(options.rounds):
                for clients in options.clients:
                    for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                        run = load(cluster, way, clients, options.seconds)
                        runs.append({"nodes": nodes, "durability": durability, "round": number, **run})
                        print(f"  {nodes} {durability} {clients} {way}: {run['bench']}", file=sys.stderr)
        finally:
            cluster.end()
    return runs


def summary(runs: list) -> list:
    rows = []
    for key in sorted({(run["nodes"], run["durability"], run["clients"]) for run in runs}):
        mine = [run for run in runs if (run["nodes"], run["durability"], run["clients"]) == key]
        row = dict(zip(("nodes", "durability", "clients"), key))
        for name, value in (("pairs_per_s", rate_of), ("acquire_p50_ms", p50_of), ("processor_us_per_pair", processor_of)):
            ratios = []
            for number in sorted({run["round"] for run in mine}):
                pair = {run["way"]: value(run) for run in mine if run["round"] == number}
                ratios.append(pair["shm"] / pair["tcp"])
            for way in WAYS:
                row[f"{way}_{name}"] = round(statistics.median(value(run) for run in mine if run["way"] == way), 3)
            row[f"{name}_ratios"] = [round(ratio, 3) for ratio in ratios]
            row[f"{name}_ratio"] = round(statistics.median(ratios), 3)
        rows.append(row)
    return rows


def main() -> int:
    options = parse()
    runs = [run for nodes in options.nodes for durability in options.durability for run in measure(nodes, durability, options)]
    report("shared-memory", {"options": {key: value for key, value in vars(options).items() if key not in ("bin", "results", "json")},
                             "summary": summary(runs), "runs": runs}, options.results)
    return 1 if any(run["exit"] != 0 for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
