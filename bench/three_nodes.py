"""Nodes on this host for benchmarks of the ledger: started, asked and ended by their own process ids.

Needs no package but Python's own, so that it runs where only the programs were brought.
"""

import datetime
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


def free_ports(count: int) -> list:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def end_on_signals() -> None:
    """So that nodes are ended with who started them."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))


class Cluster:
    """bin: where gcoordd and gcoordctl are; extra: more options of every node."""

    def __init__(self, bin_directory, directory: Path, shards: int, nodes: int = 3, durability: str = "durable", extra=()):
        self.bin = Path(bin_directory)
        self.directory = directory
        self.shards, self.durability, self.extra = shards, durability, list(extra)
        self.nodes = tuple(range(1, nodes + 1))
        ports = free_ports(3 * nodes)
        self.client = dict(zip(self.nodes, ports[0::3]))
        self.peer = dict(zip(self.nodes, ports[1::3]))
        self.metrics = dict(zip(self.nodes, ports[2::3]))
        self.processes = {}
        end_on_signals()
        for node in self.nodes:
            self.start(node)

    def start(self, node: int) -> None:
        command = [str(self.bin / "gcoordd"), "--node-id", str(node), "--cluster-name", "ledger-bench",
                   "--listen-client", f"127.0.0.1:{self.client[node]}", "--listen-peer", f"127.0.0.1:{self.peer[node]}",
                   "--listen-metrics", f"127.0.0.1:{self.metrics[node]}", "--data-dir", str(self.directory / str(node)),
                   "--shards", str(self.shards), "--durability", self.durability, "--log-level", "warn", *self.extra]
        for other in self.nodes:
            if other != node:
                command += ["--peer", f"{other}=127.0.0.1:{self.peer[other]},127.0.0.1:{self.client[other]}"]
        self.processes[node] = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def endpoints(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.client.values())

    def ctl(self, *arguments: str) -> dict:
        run = subprocess.run([str(self.bin / "gcoordctl"), "--endpoints", self.endpoints(), "-o", "json", *arguments],
                             capture_output=True, text=True, check=False)
        return json.loads(run.stdout or "{}")

    def load(self, seconds: float, clients: int, pipeline: int = 1) -> subprocess.Popen:
        """Locks and unlocks in a closed loop, in a process of its own; what it prints is one JSON object."""
        return subprocess.Popen([str(self.bin / "gcoordctl"), "--endpoints", self.endpoints(), "-o", "json", "bench", "lock",
                                 "--seconds", str(seconds), "--clients", str(clients), "--pipeline", str(pipeline)],
                                stdout=subprocess.PIPE, text=True)

    def series(self, node: int) -> dict:
        """Name and labels of each sample to its value; empty while the node does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics[node]}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}

    def total(self, name: str) -> dict:
        sums: dict = {}
        for node in self.nodes:
            for key, value in self.series(node).items():
                if key.startswith(name):
                    sums[key] = sums.get(key, 0) + value
        return sums

    def publications(self) -> list:
        return [row["publication"] for row in self.ctl("status").get("nodes", []) if "publication" in row]

    def end(self, how=signal.SIGTERM) -> None:
        for process in self.processes.values():
            process.send_signal(how)
        for process in self.processes.values():
            process.wait(timeout=120)
        self.processes = {}


def published(cluster: Cluster) -> bool:
    """Whether everything that is decided is under a checkpoint that every node has heard of."""
    for node in cluster.nodes:
        series = cluster.series(node)
        size = series.get("gcoord_server_publication_size", 0)
        if size == 0 or size != series["gcoord_server_publication_published_size"]:
            return False
        if series["gcoord_server_publication_waiting_shards"] != 0:
            return False
    return True


def wait_for(what: str, holds, seconds: float = 120, step: float = 0.02) -> float:
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            sys.exit(f"{what} did not come in {seconds} s")
        time.sleep(step)
    return time.monotonic() - begin


def machine() -> dict:
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {"cores": os.cpu_count(), "cores_used": len(os.sched_getaffinity(0)), "cpu": model,
            "load_average": os.getloadavg()[0]}


def report(name: str, result: dict, results) -> None:
    """Prints the raw result as one object, and keeps it if a directory for that is named."""
    whole = {"name": name, "date": datetime.date.today().isoformat(), "machine": machine(), **result}
    if results:
        path = Path(results) / f"{name}-{whole['date']}.json"
        path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {path}", file=sys.stderr)
    print(json.dumps(whole))
