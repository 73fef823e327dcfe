#!/usr/bin/env python3
"""How long a million shards take to be under a signed checkpoint, and to serve again after a kill -9.

  checkpoint   Every shard gets an entry: the no-op of its leader, as all are led for the first time. From the first of these
               leaders, and from the last one, until a checkpoint of all heads is signed by a majority, durable first.
  restart      The nodes are ended with kill -9, once a checkpoint of the service is there, and started again. Until each
               answers a status, until all shards are led, and until the new no-ops' heads are published.

Prints one JSON object. Exit code 1: a checkpoint took over a second from the last leader, or an answer over ten from the start.
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from three_nodes import Cluster, published, report, wait_for

STEP_S = 0.01
CHECKPOINT_AIM_S = 1
RESTART_AIM_S = 10


def led(cluster: Cluster) -> int:
    return int(sum(cluster.series(node).get("gcoord_server_leaders", 0) for node in cluster.nodes))


def processor_s(cluster: Cluster) -> float:
    ticks = 0
    for process in cluster.processes.values():
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def watch(cluster: Cluster, begin: float, limit_s: float) -> dict:
    """Seconds from `begin` until shards are led, and until all of them are published."""
    wait_for("the first leader", lambda: led(cluster) > 0, limit_s, STEP_S)
    first = time.monotonic() - begin
    wait_for("a leader of every shard", lambda: led(cluster) == cluster.shards, limit_s, STEP_S)
    last = time.monotonic() - begin
    wait_for("a checkpoint of all heads", lambda: published(cluster), limit_s, STEP_S)
    end = time.monotonic() - begin
    times = {"first_leader_s": first, "all_led_s": last, "all_published_s": end, "checkpoint_from_last_leader_s": end - last,
             "checkpoint_from_first_leader_s": end - first, "processor_s": processor_s(cluster)}
    return {**{key: round(value, 2) for key, value in times.items()},
            "slowest_round": [each["slowest_round"] for each in cluster.publications()]}


def answers(cluster: Cluster) -> bool:
    rows = cluster.ctl("status").get("nodes", [])
    return len(rows) == len(cluster.nodes) and all("leaders" in row for row in rows)


def checkpoints_written(cluster: Cluster) -> bool:
    return all(cluster.series(node).get("gcoord_ledger_checkpoint_writes_total", 0) > 0 for node in cluster.nodes)


def measure(options: argparse.Namespace, directory: Path, result: dict) -> None:
    begin = time.monotonic()
    cluster = Cluster(options.bin, directory, options.shards, options.nodes,
                      extra=["--checkpoint-interval", options.checkpoint_interval])
    try:
        result["checkpoint"] = watch(cluster, begin, options.limit)
        print(result["checkpoint"], file=sys.stderr)
        wait_for("a checkpoint of the services", lambda: checkpoints_written(cluster), options.limit)
        for _ in range(options.restarts):
            time.sleep(options.rest)
            cluster.end(signal.SIGKILL)
            begin = time.monotonic()
            for node in cluster.nodes:
                cluster.start(node)
            wait_for("an answer of every node", lambda: answers(cluster), options.limit, STEP_S)
            serving = round(time.monotonic() - begin, 2)
            result["restarts"].append({"answers_s": serving, **watch(cluster, begin, options.limit)})
            print(result["restarts"][-1], file=sys.stderr)
    finally:
        cluster.end(signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="ledger-million", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", required=True, help="directory of gcoordd and gcoordctl")
    parser.add_argument("--shards", type=int, default=1 << 20)
    parser.add_argument("--nodes", type=int, choices=(1, 3, 5), default=1, help="all on this machine and its disk")
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--rest", type=float, default=3, help="seconds before each kill -9")
    parser.add_argument("--checkpoint-interval", default="30s")
    parser.add_argument("--limit", type=float, default=300, help="time limit of each step, in seconds")
    parser.add_argument("--directory", help="directory of the nodes' files, on a real disk")
    parser.add_argument("--results", help="directory for a copy of the result")
    options = parser.parse_args()
    result: dict = {"restarts": []}
    ended = ""
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        try:
            measure(options, Path(directory), result)
        except SystemExit as why:
            ended = str(why)
            print(ended, file=sys.stderr)
    report("ledger-million", {"shards": options.shards, "nodes": options.nodes,
                              "ended_early": ended,
                              "acknowledged": "on stable storage of a majority", **result}, options.results)
    if ended:
        return 1
    checkpoints = [result["checkpoint"], *result["restarts"]]
    quick = all(each["checkpoint_from_last_leader_s"] <= CHECKPOINT_AIM_S for each in checkpoints)
    return 0 if quick and all(each["answers_s"] <= RESTART_AIM_S for each in result["restarts"]) else 1


if __name__ == "__main__":
    sys.exit(main())
