"""Debian's serf, of one of its profiles. Detected is the agent's event "member failed" at node 1."""

import re
import subprocess

from network import Network
from watched import Watched, wait_until

PORT, RPC = 7946, 7373


class SerfCluster(Watched):
    def __init__(self, network: Network, count: int, profile: str):
        super().__init__(network, count)
        self.name = f"serf-{profile}"
        self.profile = profile
        self.alive = set()

    def open(self) -> None:
        for node in self.nodes:
            self.start(node)
        wait_until("all agents alive", self.whole)

    def start(self, node: int) -> None:
        address = self.network.address(node)
        command = ["serf", "agent", f"-node=n{node}", f"-bind={address}:{PORT}", f"-rpc-addr=127.0.0.1:{RPC}",
                   f"-profile={self.profile}", "-log-level=info", f"-retry-join={self.network.address(1)}:{PORT}",
                   "-retry-interval=1s"]
        if node != 1:
            self.processes[node] = self.network.start(node, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return
        self.processes[1] = self.network.start(1, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.listen(self.processes[1].stdout, self.take)

    def take(self, line: str) -> None:
        found = re.search(r"serf: EventMember(Failed|Join): n(\d+)", line)
        if found is None:
            return
        node, failed = int(found.group(2)), found.group(1) == "Failed"
        (self.alive.discard if failed else self.alive.add)(node)
        self.add_event(node, failed)

    def whole(self) -> bool:
        return self.alive >= set(self.nodes)

    def back(self, node: int) -> None:
        self.start(node)
        wait_until(f"n{node} back", self.whole, 120)

    @staticmethod
    def version() -> str:
        done = subprocess.run(["serf", "version"], capture_output=True, text=True, check=False)
        return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "serf"
