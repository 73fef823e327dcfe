#!/usr/bin/env python3
"""How long it takes until what was acknowledged is under a checkpoint that a majority has signed.

Starts three nodes on this host, loads them with `gcoordctl bench lock`, and reads the publishers' histograms: for each round,
the time from the first entry that it holds (applied at the publisher, so not later than its client was answered from there)
to the signatures of a majority, and what of it each phase took (ledger/heads/round_times.h). Prints one JSON object; the quantiles
are upper ends of buckets of powers of two, means and the slowest round are exact. Exit code 1: a round took over a second (1.05 s: a bucket ends there).
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from three_nodes import Cluster, published, report, wait_for

TOTAL = "gcoord_server_publication_duration_seconds"
PHASE = "gcoord_server_publication_phase_seconds"
PHASES = ("wait", "collect", "agree", "order", "sign", "publish")
AIM_BUCKET_MS = 1048.576  # The bucket that the aim of a second lies in.


def quantiles(before: dict, after: dict, name: str, label: str = "") -> dict:
    grown = {key: value - before.get(key, 0) for key, value in after.items() if key.startswith(name) and label in key}
    buckets = []
    for key, value in grown.items():
        bound = re.search(r'le="([^"]+)"', key)
        if bound:
            buckets.append((float("inf") if bound.group(1) == "+Inf" else float(bound.group(1)), value))
    buckets.sort()
    count = buckets[-1][1] if buckets else 0
    result = {"rounds": int(count)}
    for quantile, part in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0)):
        within = [limit for limit, value in buckets if value >= part * count]
        result[quantile] = within[0] * 1000 if count and within else None
    total = sum(value for key, value in grown.items() if key.startswith(name + "_sum"))
    result["mean_ms"] = round(total / count * 1000, 1) if count else None
    return result


def slowest(cluster: Cluster) -> dict:
    rounds = [{key: int(value) for key, value in each["slowest_round"].items()} for each in cluster.publications()]
    return max(rounds, key=lambda each: each["total_ms"], default={})


def measure(options: argparse.Namespace, directory: Path) -> dict:
    cluster = Cluster(options.bin, directory, options.shards, durability=options.durability)
    try:
        first = wait_for("the first checkpoint", lambda: published(cluster), 600)
        time.sleep(2)
        before = cluster.total("gcoord_server_publication_")
        load = cluster.ctl("bench", "lock", "--seconds", str(options.seconds), "--clients", str(options.clients),
                           "--pipeline", str(options.pipeline))
        after = cluster.total("gcoord_server_publication_")
        slow = slowest(cluster)
    finally:
        cluster.end()
    counters = {key: value - before.get(key, 0) for key, value in sorted(after.items()) if key.endswith("_total")}
    return {"shards": options.shards, "durability": options.durability, "seconds": options.seconds,
            "clients": options.clients, "pipeline": options.pipeline, "acknowledged": "pairs of lock and unlock, by a majority; rounds: its signatures",
            "until_all_published_s": round(first, 2), "publishing": quantiles(before, after, TOTAL),
            "phases": {phase: quantiles(before, after, PHASE, f'phase="{phase}"') for phase in PHASES},
            "slowest_round": slow, "load": load, "counters": counters}


def main() -> int:
    parser = argparse.ArgumentParser(prog="publishing", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", required=True, help="directory of gcoordd and gcoordctl")
    parser.add_argument("--shards", type=int, default=1024)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--durability", choices=("durable", "memory"), default="durable")
    parser.add_argument("--directory", help="directory of the nodes' files, on a real disk")
    parser.add_argument("--results", help="directory for a copy of the result")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        result = measure(options, Path(directory))
    report("publishing", result, options.results)
    worst = result["publishing"]["max_ms"]
    return 0 if worst is not None and worst <= AIM_BUCKET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
