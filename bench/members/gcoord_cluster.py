"""gcoord: voters and, from the eighth node on, observers that join. Detected is what the committed view of node 1 says."""

import json
import shlex
import subprocess
import time
from pathlib import Path

from network import Network
from watched import Watched, wait_until

VOTERS = 7
CLIENT, PEER, METRICS = 7400, 7500, 7600


class GcoordCluster(Watched):
    name = "gcoord"

    def __init__(self, network: Network, count: int, directory: Path, binaries: Path, voters: int = VOTERS, extra=()):
        super().__init__(network, count)
        self.directory, self.bin, self.extra = directory, binaries, list(extra)
        self.voters = self.nodes[:min(voters, count)]
        self.marked = set()
        self.view = 0
        self.ended = False
        self.watcher = None
        for node in self.voters:
            self.start(node)
        wait_until("the first view", lambda: self.ctl("member", "list").get("view", "0") not in ("0", ""))
        for node in self.nodes[len(self.voters):]:
            self.join(node)
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
            command += ["--node-id", str(node), "--shards", "64"]
            for other in self.voters:
                command += ["--peer", f"{other}={self.network.address(other)}:{PEER},{self.network.address(other)}:{CLIENT}"]
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f"{node}.log", "ab") as log:
            self.processes[node] = self.network.start(node, command, stdout=log, stderr=log)

    def join(self, node: int) -> None:
        """An observer, by the command line that `member add` prints."""
        added = self.ctl("member", "add", "--observer", "--auto-promote")
        given = shlex.split(added["command"])
        keep = {"--join", "--join-token"}
        joining = [part for k, word in enumerate(given) if word in keep for part in given[k:k + 2]]
        self.start(node, joining)
        wait_until(f"node {node} in the view", lambda: self.state_of(node) == "active", 60)

    def state_of(self, node: int) -> str:
        return next((row["state"] for row in self.ctl("member", "list").get("members", []) if row["node"] == node), "")

    def endpoints(self) -> str:
        return ",".join(f"{self.network.address(node)}:{CLIENT}" for node in self.voters)

    def ctl(self, *arguments: str) -> dict:
        command = ["ip", "netns", "exec", self.network.namespace(1), str(self.bin / "gcoordctl"), "--endpoints",
                   self.endpoints(), "-o", "json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        try:
            return json.loads(done.stdout or "{}")
        except json.JSONDecodeError:
            return {}

    def watch(self) -> None:
        command = [str(self.bin / "gcoordctl"), "--endpoints", f"{self.network.address(1)}:{CLIENT}", "-o", "jsonl", "member",
                   "watch"]
        self.watcher = self.network.start(1, command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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
        self.marked, self.view = suspects, int(view["view"])

    def whole(self) -> bool:
        """All are alive to all, and nobody is marked."""
        nodes = [row for row in self.ctl("status").get("nodes", []) if row.get("reachable")]
        heard = [each["verdict"] == "alive" for row in nodes for each in row.get("detector", {}).get("nodes", [])]
        return self.view > 0 and len(nodes) >= len(self.voters) and all(heard) and not self.marked

    def leader(self) -> int:
        rows = self.ctl("shard", "show", "0")
        return int(rows.get("leader", 0) or 0)

    def victims(self) -> tuple:
        """Not shard 0's leader, whose death costs an election first, nor node 1, which is listened to."""
        leader = self.leader()
        return tuple(node for node in self.nodes[1:] if node != leader)

    def back(self, node: int) -> None:
        self.start(node)
        wait_until(f"node {node} back", lambda: node not in self.marked and self.whole(), 120)

    def version(self) -> str:
        done = subprocess.run([str(self.bin / "gcoordd"), "--version"], capture_output=True, text=True, check=False)
        return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "gcoord"

    def datagrams(self) -> float:
        """Datagrams and their bytes that node 1 has sent so far."""
        done = subprocess.run(["ip", "netns", "exec", self.network.namespace(1), "curl", "-s",
                               f"http://{self.network.address(1)}:{METRICS}/metrics"], capture_output=True, text=True, check=False)
        return sum(float(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()
                   if line.startswith("gcoord_detector_datagrams_sent_total"))

    def end(self) -> None:
        self.ended = True
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.wait(timeout=30)
        super().end()
        time.sleep(0.2)
