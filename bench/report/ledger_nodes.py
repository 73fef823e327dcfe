#!/usr/bin/env python3
"""Measures what keeping history costs three nodes on this machine, on loopback.

  levels   a steady load with --ledger-keep: bytes of history, log and checkpoints over time
  pairs    the same load with two builds, in turn: rates and percentiles side by side
  restart  a node with many shards: from its start to serving, with its history

Each prints one JSON object, the raw result. Nodes are ended by their own process ids.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Cluster:
    def __init__(self, gcoordd, ctl, nodes, port, extra, directory):
        self.gcoordd, self.ctl, self.extra = gcoordd, ctl, extra
        self.ids = range(1, nodes + 1)
        self.port = port
        self.directory = directory
        self.processes = {}
        self.durability = "durable"

    def client(self, node):
        return f"127.0.0.1:{self.port + node}"

    def start(self, node):
        arguments = [self.gcoordd, "--node-id", str(node), "--data-dir", f"{self.directory}/{node}",
                     "--listen-client", self.client(node),
                     "--listen-peer", f"127.0.0.1:{self.port + 20 + node}",
                     "--listen-metrics", "off", "--log-level", "warn"] + self.extra
        if len(self.ids) > 1:
            for each in self.ids:
                arguments += ["--peer", f"{each}=127.0.0.1:{self.port + 20 + each},{self.client(each)}"]
        self.processes[node] = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)

    def status(self, node):
        answer = subprocess.run([self.ctl, "status", "-o", "json", "--endpoints", self.client(node)],
                                capture_output=True, text=True, check=False)
        try:
            rows = json.loads(answer.stdout).get("nodes", []) if answer.returncode == 0 else []
        except ValueError:
            rows = []
        return next((row for row in rows if row["node"] == node and "leaders" in row), None)

    def bench(self, clients, pipeline, seconds):
        endpoints = ",".join(self.client(node) for node in self.ids)
        answer = subprocess.run(
            [self.ctl, "bench", "lock", "-o", "json", "--endpoints", endpoints, "--clients", str(clients),
             "--pipeline", str(pipeline), "--seconds", str(seconds)],
            capture_output=True, text=True, check=False)
        return json.loads(answer.stdout.strip().splitlines()[-1])

    def end(self, how=signal.SIGTERM):
        for process in self.processes.values():
            process.send_signal(how)
        for process in self.processes.values():
            process.wait()
        self.processes = {}

    def start_all(self, limit_s=60):
        for node in self.ids:
            self.start(node)
        shards = None
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            views = [self.status(node) for node in self.ids]
            rows = [view for view in views if view]
            if len(rows) == len(self.ids):
                shards = rows[0]["shards"]
                if sum(row["leaders"] for row in rows) == shards:
                    return
            time.sleep(0.1)
        raise SystemExit(f"the cluster of {shards} shards was not led within {limit_s} s")


def bytes_under(path):
    total = 0
    for root, _, files in os.walk(path):
        for name in files:
            try:
                total += os.stat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                pass
    return total


def processor_s(pid):
    """What a process has used of processors: what waits for others on a busy machine does not count."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def levels(options, directory):
    extra = ["--shards", str(options.shards), "--checkpoint-interval", "5s", "--ledger-keep", options.keep]
    cluster = Cluster(options.gcoordd, options.gcoordctl, 3, options.port, extra, directory)
    cluster.start_all()
    rows = []
    begun = time.monotonic()
    while time.monotonic() - begun < options.seconds:
        load = cluster.bench(options.clients, options.pipeline, options.interval)
        ledger = (cluster.status(1) or {}).get("ledger")
        row = {"s": round(time.monotonic() - begun, 1), "load": load, "ledger": ledger}
        for part in ("history", "wal", "checkpoint"):
            row[part + "_bytes"] = bytes_under(f"{directory}/1/{part}")
        rows.append(row)
        print(row["s"], row["history_bytes"], row["wal_bytes"], row["checkpoint_bytes"], file=sys.stderr)
    cluster.end()
    return {"keep": options.keep, "shards": options.shards, "rows": rows}


def pairs(options, directory):
    rows = []
    extra = ["--shards", str(options.shards)]
    for round_number in range(options.rounds):
        for name, gcoordd in (("without", options.base), ("with", options.gcoordd)):
            path = f"{directory}/{round_number}-{name}"
            os.mkdir(path)
            cluster = Cluster(gcoordd, options.gcoordctl, 3, options.port, extra, path)
            cluster.start_all()
            for clients, pipeline in ((16, 1), (options.clients, options.pipeline)):
                load = cluster.bench(clients, pipeline, options.seconds)
                row = {"round": round_number, "history": name, "clients": clients, "pipeline": pipeline,
                       "load_average": os.getloadavg()[0], "load": load}
                if name == "with":
                    row["ledger"] = (cluster.status(1) or {}).get("ledger")
                rows.append(row)
                print(name, clients, pipeline, load, file=sys.stderr)
            cluster.end()
            shutil.rmtree(path)
    return {"shards": options.shards, "acknowledged": "on stable storage of a quorum of three nodes",
            "rows": rows}


def restart(options, directory):
    rows = []
    for name, gcoordd in (("without", options.base), ("with", options.gcoordd)):
        path = f"{directory}/{name}"
        os.mkdir(path)
        cluster = Cluster(gcoordd, options.gcoordctl, 1, options.port,
                          ["--shards", str(options.shards), "--checkpoint-interval", "10s"], path)
        cluster.start_all(300)
        cluster.bench(options.clients, options.pipeline, options.seconds)
        time.sleep(options.interval)
        before = cluster.status(1) or {}
        cluster.end(signal.SIGKILL)
        for _ in range(options.rounds):
            begun = time.monotonic()
            cluster.start(1)
            while not cluster.status(1):
                time.sleep(0.02)
            rows.append({"history": name, "serving_s": round(time.monotonic() - begun, 2),
                         "processor_s": processor_s(cluster.processes[1].pid),
                         "load_average": os.getloadavg()[0]})
            print(rows[-1], file=sys.stderr)
            cluster.end(signal.SIGKILL)
        rows.append({"history": name, "checkpoint": before.get("checkpoint"), "ledger": before.get("ledger"),
                     "history_bytes": bytes_under(f"{path}/1/history")})
        shutil.rmtree(path)
    return {"shards": options.shards, "ended": "kill -9", "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["levels", "pairs", "restart"])
    parser.add_argument("--gcoordd", required=True)
    parser.add_argument("--gcoordctl", required=True)
    parser.add_argument("--base", help="another gcoordd to compare with")
    parser.add_argument("--shards", type=int, default=4096)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--pipeline", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--interval", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", default="entries:512")
    parser.add_argument("--port", type=int, default=27400)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="gcoord-ledger-")
    try:
        result = {"levels": levels, "pairs": pairs, "restart": restart}[options.what](options, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(json.dumps({"bench": options.what, "cores": os.cpu_count(), **result}))


if __name__ == "__main__":
    main()
