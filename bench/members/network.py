"""A network of namespaces on this host: one for each node, all on one bridge, with faults between them.

Needs root, `ip` (iproute2) and `iptables`. Loss and cuts are rules of iptables at the receiver, so that they work where the
kernel has no netem. Namespaces have this process's id in their names, and are taken away at the end.
"""

import os
import shutil
import subprocess

SUBNET = "10.213.7"
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def missing_tools() -> list:
    """What this host lacks; also the right to make namespaces with rules of iptables in them."""
    tools = [tool for tool in ("ip", "iptables", "unshare") if shutil.which(tool, path=PATH) is None]
    if os.geteuid() != 0:
        tools.append("root")
    if not tools and run("unshare", "--net", "iptables", "-nL", "INPUT", check=False).returncode != 0:
        tools.append("network namespaces with iptables")
    return tools


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess:
    return subprocess.run(command, check=check, capture_output=True, text=True, env={**os.environ, "PATH": PATH})


class Network:
    def __init__(self, count: int):
        self.nodes = tuple(range(1, count + 1))
        self.prefix = f"gcm{os.getpid() % 100000}"
        self.hub = f"{self.prefix}-hub"
        self.made = []
        try:
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self) -> None:
        self.add_namespace(self.hub)
        self.inside(self.hub, "ip", "link", "add", "br0", "type", "bridge")
        self.inside(self.hub, "ip", "link", "set", "br0", "up")
        for node in self.nodes:
            name = self.namespace(node)
            self.add_namespace(name)
            self.inside(self.hub, "ip", "link", "add", f"v{node}", "type", "veth", "peer", "name", "eth0", "netns", name)
            self.inside(self.hub, "ip", "link", "set", f"v{node}", "master", "br0", "up")
            self.inside(name, "ip", "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")

    def add_namespace(self, name: str) -> None:
        run("ip", "netns", "add", name)
        self.made.append(name)
        self.inside(name, "ip", "link", "set", "lo", "up")

    def namespace(self, node: int) -> str:
        return f"{self.prefix}-{node}"

    @staticmethod
    def address(node: int) -> str:
        return f"{SUBNET}.{node}"

    @staticmethod
    def inside(name: str, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return run("ip", "netns", "exec", name, *command, check=check)

    def start(self, node: int, command: list, **how) -> subprocess.Popen:
        """The process has the id of the program itself: `ip netns exec` becomes it."""
        return subprocess.Popen(["ip", "netns", "exec", self.namespace(node), *command], **how)

    def lose(self, share: float) -> None:
        """Each node loses that share of what comes from others."""
        for node in self.nodes:
            self.inside(self.namespace(node), "iptables", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random",
                        "--probability", str(share), "-j", "DROP")

    def cut(self, source: int, target: int) -> None:
        """Nothing comes from the one to the other any more; the way back stays."""
        self.inside(self.namespace(target), "iptables", "-I", "INPUT", "-s", self.address(source), "-j", "DROP")

    def isolate(self, node: int) -> None:
        """Nothing comes from the node or to it, not even its kernel's word that nobody listens."""
        for chain in ("INPUT", "OUTPUT"):
            self.inside(self.namespace(node), "iptables", "-I", chain, "-j", "DROP")

    def heal(self) -> None:
        for node in self.nodes:
            for chain in ("INPUT", "OUTPUT"):
                self.inside(self.namespace(node), "iptables", "-F", chain)

    def close(self) -> None:
        for name in self.made:
            run("ip", "netns", "del", name, check=False)
        self.made = []
