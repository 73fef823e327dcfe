"""etcd's lease: a key that lives with its process. Detected is the deletion of the key at a watcher, after kill -9 of whoever
keeps the lease alive. One etcd node; the TTL is the least that it grants."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from network import Network
from watched import Watched, wait_until

CLIENT = 2379


class EtcdLease(Watched):
    name = "etcd-lease"

    def __init__(self, network: Network, count: int, directory: Path, ttl: int = 2):
        super().__init__(network, count)
        self.ttl = ttl
        self.directory = directory
        self.environment = {**os.environ, "ETCDCTL_API": "3"}
        self.deleted = False

    def open(self) -> None:
        url = f"http://{self.network.address(1)}:{CLIENT}"
        self.processes[1] = self.network.start(1, ["etcd", "--data-dir", str(self.directory), "--listen-client-urls", url,
                                                   "--advertise-client-urls", url, "--log-level", "error"],
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until("etcd", lambda: "healthy" in self.ctl("endpoint", "health"))
        self.watcher = self.network.start(1, ["etcdctl", "--endpoints", url, "watch", "--prefix", "n"], stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, text=True, env=self.environment)
        self.listen(self.watcher.stdout, self.take)
        for node in self.nodes[1:]:
            self.start(node)

    def ctl(self, *arguments: str) -> str:
        command = ["ip", "netns", "exec", self.network.namespace(1), "etcdctl", "--endpoints",
                   f"http://{self.network.address(1)}:{CLIENT}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment)
        return done.stdout + done.stderr

    def start(self, node: int) -> None:
        lease = re.search(r"lease (\w+) granted", self.ctl("lease", "grant", str(self.ttl))).group(1)
        self.ctl("put", f"n{node}", "1", f"--lease={lease}")
        self.processes[node] = self.network.start(
            node, ["etcdctl", "--endpoints", f"http://{self.network.address(1)}:{CLIENT}", "lease", "keep-alive", lease],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment)

    def take(self, line: str) -> None:
        line = line.strip()
        if line in ("PUT", "DELETE"):
            self.deleted = line == "DELETE"
        elif self.deleted and re.fullmatch(r"n\d+", line):
            self.add_event(int(line[1:]), True)

    def back(self, node: int) -> None:
        self.start(node)
        time.sleep(1)

    @staticmethod
    def version() -> str:
        done = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=False)
        return (done.stdout.strip().splitlines() or ["etcd"])[0] + ", lease of 2 s"


def is_there() -> bool:
    return shutil.which("etcd") is not None and shutil.which("etcdctl") is not None
