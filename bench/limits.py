#!/usr/bin/env python3
"""What one client at 100 times its rate costs the others: three nodes on this host, others alone and beside it, in turns.

The others are clients with a fixed rate of lock and unlock (gcoordctl bench lock --rate); their latency counts from when an operation
was due. The greedy client is a user with a limit of --rate requests a second at each node, and keeps --greedy-clients times
--greedy-pipeline requests in flight; each is sent again when a node says that there is room, as client libraries do. It runs at
nice 19, as it would have another host, and its requests are the nodes' to refuse all the same. Each round measures both, and which
comes first changes. Prints one JSON object, and with --results keeps it there. Exit code 1: the greedy client did not reach 100 times
its rate, or an operation of the others failed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from three_nodes import Cluster, report, wait_for  # noqa: E402

TIMES = 100  # Its rate, at least.
NODES = 3


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/cpu/bin", help="where gcoordd and gcoordctl are")
    parser.add_argument("--seconds", type=float, default=10, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--others-rate", type=int, default=300, help="operations a second of the others together")
    parser.add_argument("--others", type=int, default=16, help="their number")
    parser.add_argument("--rate", type=int, default=10, help="requests a second of the greedy client, at each node")
    parser.add_argument("--greedy-clients", type=int, default=64)
    parser.add_argument("--greedy-pipeline", type=int, default=16)
    parser.add_argument("--results", default="bench/results", help="directory that the raw figures are kept in; empty: none")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the output is always one JSON object")
    return parser.parse_args()


def prepare(cluster: Cluster, password: Path, rate: int) -> None:
    def limit_set() -> bool:
        answer = cluster.ctl("limit", "set", "--principal", "greedy", "--rate", str(rate), "--burst", str(rate))
        return "epoch" in answer

    def user_added() -> bool:
        answer = cluster.ctl("user", "add", "greedy", "--password-file", str(password))
        return "epoch" in answer or answer.get("error", {}).get("code") == "GC6502"

    wait_for("a limit", limit_set, step=0.5)
    wait_for("a user", user_added, step=0.5)


def greedy(cluster: Cluster, password: Path, options: argparse.Namespace) -> subprocess.Popen:
    return subprocess.Popen(
        ["nice", "-n", "19", str(cluster.bin / "gcoordctl"), "--endpoints", cluster.endpoints(), "--user", "greedy",
         "--password-file", str(password), "-o", "json", "bench", "lock", "--seconds", str(options.seconds + 60),
         "--clients", str(options.greedy_clients), "--pipeline", str(options.greedy_pipeline)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def others(cluster: Cluster, options: argparse.Namespace) -> dict:
    answer = cluster.ctl("bench", "lock", "--rate", str(options.others_rate), "--clients", str(options.others), "--seconds",
                         str(options.seconds))
    latency = answer["latency_ms"]
    return {"p50_ms": latency["p50"], "p99_ms": latency["p99"], "max_ms": latency["max"], "answered": int(answer["answered"]),
            "failed": int(answer["errors"]) + int(answer["unfinished"]), "machine_busy": answer["machine_busy"],
            "load_average": round(os.getloadavg()[0], 2)}


def refused(cluster: Cluster) -> float:
    return sum(cluster.total("gcoord_server_requests_limited_total").values())


def beside(cluster: Cluster, password: Path, options: argparse.Namespace) -> dict:
    began = refused(cluster)
    process = greedy(cluster, password, options)
    try:
        wait_for("refusals", lambda: refused(cluster) > began + 10 * TIMES)
        before, begin = refused(cluster), time.monotonic()
        figures = others(cluster, options)
        figures["refused_per_s"] = round((refused(cluster) - before) / (time.monotonic() - begin))
    finally:
        process.kill()
        process.wait()
    return figures


def measure(cluster: Cluster, password: Path, options: argparse.Namespace) -> list:
    rounds = []
    others(cluster, options)  # The first load of a cluster opens files and connections.
    for number in range(options.rounds):
        one = {}
        for which in ("alone", "beside") if number % 2 == 0 else ("beside", "alone"):
            one[which] = others(cluster, options) if which == "alone" else beside(cluster, password, options)
        one["ratio"] = round(one["beside"]["p99_ms"] / one["alone"]["p99_ms"], 2)
        rounds.append(one)
        print(f"  p99 {one['alone']['p99_ms']} ms alone, {one['beside']['p99_ms']} ms beside {one['beside']['refused_per_s']} refusals "
              f"a second: {one['ratio']} times (load {one['beside']['load_average']})", file=sys.stderr)
    return rounds


def summary(rounds: list, options: argparse.Namespace) -> dict:
    times = min(one["beside"]["refused_per_s"] for one in rounds) / (options.rate * NODES)
    return {"alone_p99_ms": statistics.median(one["alone"]["p99_ms"] for one in rounds),
            "beside_p99_ms": statistics.median(one["beside"]["p99_ms"] for one in rounds),
            "ratio": statistics.median(one["ratio"] for one in rounds), "times_its_rate": round(times),
            "failed": sum(one[which]["failed"] for one in rounds for which in ("alone", "beside"))}


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        secret, password = Path(folder) / "secret", Path(folder) / "password"
        subprocess.run([str(Path(options.bin) / "gcoordctl"), "cluster", "secret", "new", str(secret)], check=True,
                       stdout=subprocess.DEVNULL)
        descriptor = os.open(password, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, b"a password\n")
        os.close(descriptor)
        cluster = Cluster(options.bin, Path(folder), shards=64, extra=("--cluster-secret", str(secret)))
        try:
            prepare(cluster, password, options.rate)
            rounds = measure(cluster, password, options)
        finally:
            cluster.end()
    whole = summary(rounds, options)
    report("limits", {"options": {key: value for key, value in vars(options).items() if key not in ("bin", "results", "json")},
                      "rounds": rounds, **whole}, options.results)
    return 1 if whole["failed"] > 0 or whole["times_its_rate"] < TIMES else 0


if __name__ == "__main__":
    sys.exit(main())
