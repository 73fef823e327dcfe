#!/usr/bin/env python3
"""How long it takes until what was acknowledged is under a checkpoint that a majority has signed.

Usage: publishing.py --bin DIR [--shards N] [--seconds N] [--clients N] [--durability durable|memory] [--directory DIR]

Starts three nodes on this host, loads them with `gcoordctl bench lock`, and reads the publisher's histogram: for each round,
the time from the first entry that it holds (applied at the publisher, so not later than its client was answered from there)
to the signatures of a majority. Prints one JSON object; the quantiles are upper ends of buckets of powers of two.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

NODES = (1, 2, 3)
HISTOGRAM = "gcoord_server_publication_duration_us"


def free_ports(count: int) -> list:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    def __init__(self, options: argparse.Namespace, directory: Path):
        self.bin = Path(options.bin)
        ports = free_ports(3 * len(NODES))
        self.client = dict(zip(NODES, ports[0:3]))
        self.peer = dict(zip(NODES, ports[3:6]))
        self.metrics = dict(zip(NODES, ports[6:9]))
        self.processes = [self.start(node, options, directory) for node in NODES]

    def start(self, node: int, options: argparse.Namespace, directory: Path) -> subprocess.Popen:
        command = [str(self.bin / "gcoordd"), "--node-id", str(node), "--cluster-name", "publishing",
                   "--listen-client", f"127.0.0.1:{self.client[node]}", "--listen-peer", f"127.0.0.1:{self.peer[node]}",
                   "--listen-metrics", f"127.0.0.1:{self.metrics[node]}", "--data-dir", str(directory / str(node)),
                   "--shards", str(options.shards), "--durability", options.durability, "--log-level", "warn",
                   *getattr(options, "extra", [])]
        for other in NODES:
            if other != node:
                command += ["--peer", f"{other}=127.0.0.1:{self.peer[other]},127.0.0.1:{self.client[other]}"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def ctl(self, *arguments: str) -> dict:
        endpoints = ",".join(f"127.0.0.1:{port}" for port in self.client.values())
        run = subprocess.run([str(self.bin / "gcoordctl"), "--endpoints", endpoints, "-o", "json", *arguments],
                             capture_output=True, text=True, check=False)
        return json.loads(run.stdout or "{}")

    def series(self, node: int) -> dict:
        """Name and labels of each sample to its value."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics[node]}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}

    def total(self, name: str) -> dict:
        sums: dict = {}
        for node in NODES:
            for key, value in self.series(node).items():
                if key.startswith(name):
                    sums[key] = sums.get(key, 0) + value
        return sums

    def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(timeout=60)


def wait_for(what: str, holds, seconds: float = 120) -> float:
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            sys.exit(f"{what} did not come in {seconds} s")
        time.sleep(0.02)
    return time.monotonic() - begin


def published(cluster: Cluster) -> bool:
    try:
        sizes = [cluster.series(node) for node in NODES]
    except OSError:
        return False
    return all(each.get("gcoord_server_publication_size", 0) > 0 and
               each["gcoord_server_publication_size"] == each["gcoord_server_publication_published_size"] for each in sizes)


def quantiles(before: dict, after: dict) -> dict:
    buckets = []
    for key, value in after.items():
        bound = re.search(r'le="([^"]+)"', key)
        if bound:
            limit = float("inf") if bound.group(1) == "+Inf" else float(bound.group(1))
            buckets.append((limit, value - before.get(key, 0)))
    buckets.sort()
    count = buckets[-1][1] if buckets else 0
    result = {"rounds": int(count)}
    for name, part in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0)):
        within = [limit for limit, value in buckets if value >= part * count]
        result[name] = within[0] / 1000 if count and within else None
    total = sum(value - before.get(key, 0) for key, value in after.items() if key.startswith(HISTOGRAM + "_sum"))
    result["mean_ms"] = round(total / count / 1000, 1) if count else None
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--shards", type=int, default=1024)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--durability", default="durable")
    parser.add_argument("--directory", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        cluster = Cluster(options, Path(directory))
        try:
            first = wait_for("the first checkpoint", lambda: published(cluster), 600)
            time.sleep(2)
            before = cluster.total(HISTOGRAM)
            load = cluster.ctl("bench", "lock", "--seconds", str(options.seconds), "--clients", str(options.clients))
            after = cluster.total(HISTOGRAM)
            counters = cluster.total("gcoord_server_publication_")
        finally:
            cluster.stop()
    print(json.dumps({"shards": options.shards, "durability": options.durability, "seconds": options.seconds,
                      "clients": options.clients, "processors": os.cpu_count(), "load_average": os.getloadavg()[0],
                      "until_all_published_s": round(first, 2), "publishing": quantiles(before, after), "load": load,
                      "counters": {key: value for key, value in sorted(counters.items()) if HISTOGRAM not in key}}))


if __name__ == "__main__":
    main()
