"""ZooKeeper's ephemeral node: it lives with the session of its process. Detected is that a watcher's list of children is without
it, after kill -9 of the process. One server with default settings, and the shortest session that it grants."""

import json
import subprocess
import sys
from pathlib import Path

from network import Network
from watched import Watched, wait_until

CLIENT = 2181
# Of the example in ZooKeeper's manual; a session lasts for twice as long at least.
TICK_MS = 2000
# As Debian's libzookeeper-java and libslf4j-java have them.
CLASS_PATH = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
SESSION = Path(__file__).resolve().parent / "zookeeper_session.py"
# Debian's python3-kazoo is for Debian's own Python.
PYTHONS = (sys.executable, "/usr/bin/python3")


def python_with_kazoo() -> str:
    """Empty: there is none."""
    for python in PYTHONS:
        if Path(python).exists() and subprocess.run([python, "-c", "import kazoo"], capture_output=True, check=False).returncode == 0:
            return python
    return ""


class ZookeeperEphemeral(Watched):
    name = "zookeeper"

    def __init__(self, network: Network, count: int, directory: Path):
        super().__init__(network, count)
        self.python = python_with_kazoo()
        self.there = set()
        self.server = f"{network.address(1)}:{CLIENT}"
        self.directory = directory

    def open(self) -> None:
        self.processes[1] = self.network.start(
            1, ["java", "-Xmx500m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-Dzookeeper.admin.enableServer=false",
                "-cp", CLASS_PATH, "org.apache.zookeeper.server.ZooKeeperServerMain", str(CLIENT), str(self.directory),
             str(TICK_MS)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.watcher = self.session(1, "watch", stdout=subprocess.PIPE, text=True)
        self.listen(self.watcher.stdout, self.take)
        for node in self.nodes[1:]:
            self.start(node)
        wait_until("all ephemeral nodes", lambda: self.there >= set(self.nodes[1:]))

    def session(self, node: int, *arguments: str, **how) -> subprocess.Popen:
        verb, *more = arguments
        return self.network.start(node, [self.python, "-B", str(SESSION), verb, self.server, *more], stderr=subprocess.DEVNULL, **how)

    def start(self, node: int) -> None:
        self.processes[node] = self.session(node, "keep", f"n{node}", stdout=subprocess.DEVNULL)

    def take(self, line: str) -> None:
        there = {int(name[1:]) for name in json.loads(line)}
        for node in self.there - there:
            self.add_event(node, True)
        self.there = there

    def back(self, node: int) -> None:
        wait_until(f"the end of node {node}'s session", lambda: node not in self.there)
        self.start(node)
        wait_until(f"node {node} back", lambda: node in self.there)

    @staticmethod
    def version() -> str:
        done = subprocess.run(["java", "-cp", CLASS_PATH, "org.apache.zookeeper.version.VersionInfoMain"], capture_output=True,
                              text=True, check=False)
        return (done.stdout.strip().splitlines() or ["ZooKeeper"])[0] + ", session of 4 s"


def is_there() -> bool:
    return all(Path(each).exists() for each in ("/usr/bin/java", *CLASS_PATH.split(":"))) and python_with_kazoo() != ""
