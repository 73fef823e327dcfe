#!/usr/bin/env python3
"""Whether what a node keeps of the log of published heads levels off under a steady load.

Usage: head_levels.py --bin DIR [--shards N] [--seconds N] [--clients N] [--keep POLICY] [--directory DIR]

Starts three nodes with `--ledger-keep-heads POLICY`, loads all shards with `gcoordctl bench lock` (16 names for each client), and looks every two seconds at
the leaves of the log, the first one that is kept, and what DIR/publication takes on the disk of each node. Prints one JSON object.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from publishing import NODES, Cluster, published, wait_for


def disk_bytes(directory: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in (directory / "publication").iterdir())


def look(cluster: Cluster, directory: Path, begin: float) -> dict:
    nodes = cluster.ctl("status")["nodes"]
    return {"second": round(time.monotonic() - begin, 1),
            "nodes": [{"size": int(node["publication"]["size"]), "first": int(node["publication"]["first"]),
                       "published": int(node["publication"]["published"]),
                       "disk_bytes": disk_bytes(directory / str(node["node"]))} for node in nodes if "publication" in node]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--shards", type=int, default=8192)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--keep", default="entries:100000")
    parser.add_argument("--durability", default="durable")
    parser.add_argument("--directory", default=None)
    options = parser.parse_args()
    options.extra = ["--ledger-keep-heads", options.keep]
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        cluster = Cluster(options, Path(directory))
        try:
            wait_for("the first checkpoint", lambda: published(cluster), 600)
            endpoints = ",".join(f"127.0.0.1:{port}" for port in cluster.client.values())
            begin = time.monotonic()
            load = subprocess.Popen([str(cluster.bin / "gcoordctl"), "--endpoints", endpoints, "-o", "json", "bench", "lock",
                                     "--seconds", str(options.seconds), "--clients", str(options.clients), "--pipeline", "16"],
                                    stdout=subprocess.PIPE, text=True)
            looks = []
            while load.poll() is None:
                looks.append(look(cluster, Path(directory), begin))
                time.sleep(2)
            pairs = json.loads(load.stdout.read() or "{}")
        finally:
            cluster.stop()
    print(json.dumps({"name": "head-levels", "shards": options.shards, "keep": options.keep, "clients": options.clients,
                      "nodes": len(NODES), "load_average": os.getloadavg()[0], "load": pairs, "looks": looks}))


if __name__ == "__main__":
    main()
