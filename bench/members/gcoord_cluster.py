"""gcoord: voters and, from the eighth node on, observers that join. Detected is what the committed view of node 1 says."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from network import Network
from watched import Watched, wait_until

VOTERS = 7
CLIENT, PEER, METRICS = 7400, 7500, 7600


class GcoordCluster(Watched):
    """Nodes 1 to count; others of the network may join later. A node's id is the number of its namespace."""

    name = "gcoord"

    def __init__(self, network: Network, count: int, directory: Path, binaries: Path, shards: int = 64, extra=()):
        super().__init__(network, count)
        self.directory, self.bin, self.extra, self.shards = directory, binaries, list(extra), shards
        self.voters = self.nodes[:min(VOTERS, count)]
        self.marked = set()
        self.views = []  # (time, epoch) as node 1 has them.

    def open(self) -> None:
        for node in self.voters:
            self.start(node)
        wait_until("the first view", lambda: self.view().get("view", "0") not in ("0", ""))
        for node in self.nodes[len(self.voters):]:
            self.add(node, "--observer")
            wait_until(f"node {node} in the view", lambda: self.state_of(node) == "active", 60)
        self.watch()
        wait_until("a view of all", self.whole)

    def options(self, node: int) -> list:
        address = self.network.address(node)
        return ["--data-dir", str(self.directory / str(node)), "--listen-client", f"{address}:{CLIENT}",
                "--listen-peer", f"{address}:{PEER}", "--listen-metrics", f"{address}:{METRICS}", "--insecure",
                "--log-level", "warn", *self.extra]

    def start(self, node: int, joining=()) -> None:
        command = [str(self.bin / "gcoordd"), *self.options(node)]
        if joining:
            command += joining
        elif node in self.voters:
            command += ["--node-id", str(node), "--shards", str(self.shards)]
            for other in self.voters:
                command += ["--peer", f"{other}={self.network.address(other)}:{PEER},{self.network.address(other)}:{CLIENT}"]
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f"{node}.log", "ab") as log:
            self.processes[node] = self.network.start(node, command, stdout=log, stderr=log)

    def add(self, node: int, *how: str, verb=("add",)) -> None:
        """By the command line that `member add`, or another verb, prints."""
        added = self.ctl("member", *verb, *how)
        if added.get("node") != node:
            raise RuntimeError(f"node {node} was not let in: {added}")
        given = shlex.split(added["command"])
        keep = {"--join", "--join-token"}
        self.start(node, [part for k, word in enumerate(given) if word in keep for part in given[k:k + 2]])

    def view(self) -> dict:
        return self.ctl("member", "list")

    def state_of(self, node: int) -> str:
        return next((row["state"] for row in self.view().get("members", []) if row["node"] == node), "")

    def endpoints(self) -> str:
        return ",".join(f"{self.network.address(node)}:{CLIENT}" for node in self.voters)

    def program(self, node: int, endpoints: str, *arguments: str, **how) -> subprocess.Popen:
        """gcoordctl in a node's namespace."""
        return self.network.start(node, [str(self.bin / "gcoordctl"), "--endpoints", endpoints, "-o", "json", *arguments], **how)

    def ctl(self, *arguments: str) -> dict:
        """What gcoordctl answers; nothing where it fails."""
        process = self.program(1, self.endpoints(), *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            return json.loads(process.communicate(timeout=60)[0] or "{}")
        except json.JSONDecodeError:
            return {}
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return {}

    def watch(self) -> None:
        self.watcher = self.program(1, f"{self.network.address(1)}:{CLIENT}", "member", "watch", stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
        self.listen(self.watcher.stdout, self.take)

    def take(self, line: str) -> None:
        try:
            view = json.loads(line)
        except json.JSONDecodeError:
            return
        if "members" not in view:
            return
        suspects = {row["node"] for row in view["members"] if row.get("suspect")}
        for node in suspects - self.marked:
            self.add_event(node, True)
        for node in self.marked - suspects:
            self.add_event(node, False)
        self.marked = suspects
        self.views.append((time.monotonic(), int(view["view"])))

    def whole(self) -> bool:
        """All are alive to all, and nobody is marked."""
        nodes = [row for row in self.ctl("status").get("nodes", []) if row.get("reachable")]
        heard = [each["verdict"] == "alive" for row in nodes for each in row.get("detector", {}).get("nodes", [])]
        return bool(self.views) and len(nodes) >= len(self.voters) and all(heard) and not self.marked

    def led(self) -> bool:
        """All shards have a leader."""
        return sum(row.get("leaders", 0) for row in self.ctl("status").get("nodes", [])) == self.shards

    def leader(self) -> int:
        """Of shard 0; 0: nobody knows."""
        rows = self.ctl("shard", "show", "0").get("replicas", [])
        return next((row["node"] for row in rows if row.get("role") == "leader"), 0)

    def victims(self) -> tuple:
        """Not shard 0's leader, whose death costs an election first, nor node 1, which is listened to."""
        leader = self.leader()
        return tuple(node for node in self.nodes[1:] if node != leader)

    def back(self, node: int) -> None:
        self.start(node)
        wait_until(f"node {node} back", lambda: node not in self.marked and self.whole(), 120)

    def processor_seconds(self) -> float:
        """That all nodes have used since they were started."""
        ticks = 0
        for process in self.processes.values():
            try:
                fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def version(self) -> str:
        done = subprocess.run([str(self.bin / "gcoordd"), "--version"], capture_output=True, text=True, check=False)
        return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "gcoord"

    def end(self) -> None:
        super().end()
        time.sleep(0.2)


class Load:
    """Locks and unlocks in an open loop at a rate, by one gcoordctl in node 1's namespace, until it is stopped."""

    LONGEST = "10m"

    def __init__(self, cluster: GcoordCluster, rate: int):
        self.process = cluster.program(1, cluster.endpoints(), "--timeout", "5s", "bench", "lock", "--rate", str(rate),
                                       "--duration", self.LONGEST, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self) -> dict:
        """Failed calls, and the latencies of all in milliseconds, from when they were due."""
        self.process.send_signal(signal.SIGINT)
        answer, words = self.process.communicate(timeout=60)
        try:
            whole = json.loads(answer)
            counts = {key: int(whole[key]) for key in ("due", "answered", "errors", "unfinished")}
            return {"seconds": whole["seconds"], **counts, "causes": whole["causes"], "latency_ms": whole["latency_ms"],
                    "late_ms": whole["late_ms"], "bound": whole["bound"]}
        except (json.JSONDecodeError, KeyError):
            raise RuntimeError(f"the load said nothing: {words.strip()[:300]}") from None
