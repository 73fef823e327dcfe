#!/usr/bin/env python3
"""Whether the disk that a node uses levels off under a steady load.

Starts three nodes that let go of old history (--ledger-keep) and of old published heads (--ledger-keep-heads), loads them with
`gcoordctl bench lock`, and looks every few seconds at what each kind of file takes of the disk. Prints one JSON object.

Exit code 1: on some node, some kind of file took in the last third of the run more than a quarter (and a file of its kind) above the
most it took there before; or some node let go of no entries or no heads, as in a run that is too short; or it kept more heads than
it was told to (or a window of 65,536, or four per shard, if that is more), a pair of files and a quarter of one.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from three_nodes import Cluster, published, report, wait_for

# Of each kind, what one file more or less may be: a segment of the log, a table in memory. Heads have none: pairs of their files come
# and go, so they are counted instead (heads_level).
GRAIN = {"wal": 64 << 20, "history": 16 << 20, "checkpoint": 16 << 20, "publication": 0, "other": 1 << 20}
SEGMENT_HEADS = 262144  # ledger/cluster/cluster_log.h
WINDOW_HEADS = 65536  # ledger/heads/stale_heads.h


def disk_bytes(directory: Path) -> dict:
    kinds = dict.fromkeys(GRAIN, 0)
    for root, _, files in os.walk(directory):
        top = Path(root).relative_to(directory).parts[:1]
        kind = top[0] if top and top[0] in kinds else "other"
        for name in files:
            try:
                kinds[kind] += os.stat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                pass  # Gone since it was listed.
    return kinds


def look(cluster: Cluster, begin: float) -> dict:
    rows = []
    for node in cluster.nodes:
        series = cluster.series(node)
        rows.append({"node": node, **disk_bytes(cluster.directory / str(node)),
                     "entries": int(series.get("gcoord_ledger_history_entries_total", 0)),
                     "entries_pruned": int(series.get("gcoord_ledger_history_pruned_total", 0)),
                     "heads": int(series.get("gcoord_server_publication_size", 0)),
                     "heads_published": int(series.get("gcoord_server_publication_published_size", 0)),
                     "heads_compared": int(series.get("gcoord_server_publication_heads_compared_total", 0)),
                     "heads_first": int(series.get("gcoord_server_publication_first", 0))})
    return {"second": round(time.monotonic() - begin, 1), "nodes": rows}


def measure(options: argparse.Namespace, directory: Path) -> tuple:
    extra = ["--ledger-keep", options.keep, "--ledger-keep-heads", options.keep_heads,
             "--checkpoint-interval", options.checkpoint_interval]
    cluster = Cluster(options.bin, directory, options.shards, extra=extra)
    try:
        wait_for("the first checkpoint", lambda: published(cluster), 600)
        begin = time.monotonic()
        load = cluster.load(options.seconds, options.clients, options.pipeline)
        looks = []
        while load.poll() is None:
            looks.append(look(cluster, begin))
            time.sleep(options.interval)
        pairs = json.loads(load.stdout.read() or "{}")
    finally:
        cluster.end()
    return pairs, looks


def judge(looks: list) -> dict:
    """Of each kind of file and each node the largest in each third of the run, and whether it has levelled off on all of them."""
    third = len(looks) // 3
    parts = [looks[:third], looks[third:2 * third], looks[2 * third:]]
    kinds = {}
    for kind, grain in GRAIN.items():
        by_node = [[max(each["nodes"][place][kind] for each in part) for part in parts] for place in range(len(looks[0]["nodes"]))]
        kinds[kind] = {"bytes_max_by_node_and_third": by_node,
                       "levels_off": all(last <= max(first, second) * 5 // 4 + grain for first, second, last in by_node)}
    return kinds


def heads_level(looks: list, shards: int, keep_heads: str) -> bool:
    """Whether each node keeps, at every look, no more heads than it may."""
    unit, count = keep_heads.split(":")
    asked = max(int(count) // (48 if unit == "bytes" else 1), WINDOW_HEADS, 4 * shards)
    kept_max = asked + SEGMENT_HEADS * 5 // 4  # A pair goes as a whole; and some rounds are under way.
    return all(row["heads"] - row["heads_first"] <= kept_max for each in looks for row in each["nodes"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="ledger-disk", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", required=True, help="directory of gcoordd and gcoordctl")
    parser.add_argument("--shards", type=int, default=4096)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--pipeline", type=int, default=16)
    parser.add_argument("--interval", type=float, default=3, help="seconds between two samples")
    parser.add_argument("--keep", default="entries:256", help="--ledger-keep of the nodes")
    parser.add_argument("--keep-heads", default="entries:50000", help="--ledger-keep-heads of the nodes")
    parser.add_argument("--checkpoint-interval", default="5s")
    parser.add_argument("--directory", help="directory of the nodes' files, on a real disk")
    parser.add_argument("--results", help="directory for a copy of the result")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        pairs, looks = measure(options, Path(directory))
    if len(looks) < 9:
        sys.exit("too few looks for anything to be said; give more seconds")
    kinds = judge(looks)
    kinds["publication"]["levels_off"] = heads_level(looks, options.shards, options.keep_heads)
    gone = all(row["entries_pruned"] > 0 and row["heads_first"] > 0 for row in looks[-1]["nodes"])
    report("ledger-disk", {"shards": options.shards, "keep": options.keep, "keep_heads": options.keep_heads,
                           "checkpoint_interval": options.checkpoint_interval, "clients": options.clients,
                           "pipeline": options.pipeline, "acknowledged": "on stable storage of two of three nodes",
                           "load": pairs, "something_let_go": gone, "kinds": kinds, "looks": looks}, options.results)
    return 0 if gone and all(each["levels_off"] for each in kinds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
