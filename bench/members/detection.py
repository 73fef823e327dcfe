"""How fast a killed node is detected, and who is held for failed wrongly, beside others, under the same faults.

Detected is: gcoord, the committed view says suspect; serf, the event "member failed"; etcd and ZooKeeper, the key or node that
lives with the killed process's lease or session is gone: each as node 1 has it. Systems take turns, so that a slow minute of the
host is no system's own.
"""

import shutil
import sys
import time
from pathlib import Path

import etcd_lease
import zookeeper_ephemeral
from etcd_lease import EtcdLease
from gcoord_cluster import GcoordCluster
from network import Network
from part import Part, Scratch, quantile, rounded
from serf_cluster import SerfCluster
from zookeeper_ephemeral import ZookeeperEphemeral

FAULTS = ("none", "loss 10 %", "loss 30 %", "one-way cut", "host off")
STOPS = "stop 2 s"
SYSTEMS = ("gcoord", "serf-local", "serf-lan", "etcd-lease", "zookeeper")
# What detects processes that hold something at a server, and no nodes.
HOLDERS = ("etcd-lease", "zookeeper")
HOLDERS_NODES = 5
DETECT_LIMIT = 60.0

METHOD = """\
A namespace of this host for each node, one bridge. Node 1 listens; another one is killed with SIGKILL, and the time is from then
until node 1 has it. Loss: iptables drops that share of all packets at each receiver. One-way cut: node 2 hears nothing of node 3,
neither is killed. Host off: the packets of the killed one's namespace are dropped, so that nothing answers in its place. Stop 2 s:
SIGSTOP and SIGCONT; nobody should be held for failed. Wrong: who was held for failed and had not been killed. gcoord: a change of
the view, committed by a majority on disk; not shard 0's leader is killed. etcd: lease of 2 s, the least; one server. ZooKeeper:
session of 4 s, the least by default; one server. Their lines are those of processes that hold something there: they have no links
among each other to cut, and 2 s without a sign end an etcd lease of 2 s rightly, so neither is tried there."""


def made(system: str, network: Network, part: Part, directory: Path):
    options = part.options
    if system == "gcoord":
        return GcoordCluster(network, options.nodes, directory, Path(options.bin).resolve(), extra=options.node_option)
    if system in HOLDERS:
        holder = EtcdLease if system == "etcd-lease" else ZookeeperEphemeral
        return holder(network, min(options.nodes, HOLDERS_NODES), directory)
    return SerfCluster(network, options.nodes, system.split("-", 1)[1])


def apply_fault(network: Network, fault: str, cluster) -> None:
    if fault.startswith("loss"):
        network.lose(int(fault.split()[1]) / 100)
    elif fault == "one-way cut":
        network.cut(cluster.nodes[2], cluster.nodes[1])


class Run:
    """One turn of one system."""

    def __init__(self, system: str, network: Network, part: Part):
        self.system, self.network, self.part, self.options = system, network, part, part.options
        self.result = {"system": system, "kills": [], "wrong": [], "watched_s": {}}

    def measure(self) -> dict:
        print(f"  {self.system}", file=sys.stderr)
        with Scratch() as directory:
            try:
                with made(self.system, self.network, self.part, directory) as cluster:
                    self.result["version"] = cluster.version()
                    self.result["nodes"] = len(cluster.nodes)
                    for fault in self.options.faults:
                        self.under(fault, cluster)
                    self.stops(cluster)
            except (TimeoutError, RuntimeError) as failure:
                self.result["failure"] = str(failure)
                self.part.failed(f"{self.system}: {failure}")
            finally:
                self.network.heal()
        return self.result

    def under(self, fault: str, cluster) -> None:
        if self.part.out_of_time() or (fault == "one-way cut" and self.system in HOLDERS):
            return
        apply_fault(self.network, fault, cluster)
        if fault != "host off":
            self.watch(fault, cluster, self.options.watch)
        for _ in range(self.options.kills):
            if self.part.out_of_time():
                break
            self.kill(fault, cluster)
        self.network.heal()

    def watch(self, fault: str, cluster, seconds: float) -> None:
        """Whoever is held for failed now is so wrongly."""
        begin = time.monotonic()
        time.sleep(seconds)
        self.count_wrong(fault, cluster, begin, None)

    def count_wrong(self, fault: str, cluster, begin: float, killed) -> None:
        for at, node in cluster.failures(begin):
            if node != killed:
                self.result["wrong"].append({"fault": fault, "node": node, "after_s": round(at - begin, 3)})
        passed = self.result["watched_s"].get(fault, 0.0)
        self.result["watched_s"][fault] = round(passed + time.monotonic() - begin, 1)

    def kill(self, fault: str, cluster) -> None:
        time.sleep(self.part.drawn.uniform(0.5, 1.5))
        cut = cluster.nodes[1:3] if fault == "one-way cut" else ()
        able = [node for node in cluster.victims() if node not in cut] or list(cluster.victims())
        node = self.part.drawn.choice(able)
        if fault == "host off":
            self.network.isolate(node)
        begin = cluster.kill(node)
        took = cluster.detected(node, begin, DETECT_LIMIT)
        self.count_wrong(fault, cluster, begin, node)
        self.result["kills"].append({"fault": fault, "node": node, "took_s": rounded(took)})
        self.network.heal()
        cluster.back(node)
        apply_fault(self.network, fault, cluster)

    def stops(self, cluster) -> None:
        for _ in range(self.options.stops):
            if self.part.out_of_time() or self.system == "etcd-lease":
                return
            node = self.part.drawn.choice(cluster.victims())
            begin = time.monotonic()
            cluster.stop(node, 2.0)
            time.sleep(4)
            self.count_wrong(STOPS, cluster, begin, None)


def row_of(fault: str, system: str, runs: list) -> dict:
    kills = [kill for run in runs for kill in run["kills"] if kill["fault"] == fault]
    times = [kill["took_s"] for kill in kills if kill["took_s"] is not None]
    return {"fault": fault, "system": system, "nodes": runs[0].get("nodes"), "kills": len(kills), "missed": len(kills) - len(times),
            "p50_s": quantile(times, 0.5), "p99_s": quantile(times, 0.99),
            "wrong": sum(1 for run in runs for each in run["wrong"] if each["fault"] == fault),
            "watched_s": round(sum(run["watched_s"].get(fault, 0.0) for run in runs))}


def table(runs: list) -> list:
    """With the p99 of each by that of serf's local profile under the same fault."""
    rows = []
    for fault in (*FAULTS, STOPS):
        of = {system: [run for run in runs if run["system"] == system] for system in SYSTEMS}
        lines = [row_of(fault, system, own) for system, own in of.items() if own]
        yard = next((row["p99_s"] for row in lines if row["system"] == "serf-local"), None)
        for row in lines:
            both = yard is not None and row["p99_s"] is not None
            row["by_serf_local"] = rounded(row["p99_s"] / yard, 3) if both else None
        rows += [row for row in lines if row["kills"] or row["watched_s"]]
    return rows


def missing(wanted: list) -> list:
    """Those whose programs are not installed."""
    serf = shutil.which("serf") is not None
    there = {"gcoord": True, "serf-local": serf, "serf-lan": serf, "etcd-lease": etcd_lease.is_there(),
             "zookeeper": zookeeper_ephemeral.is_there()}
    return [system for system in wanted if not there[system]]


def measure(part: Part, network: Network) -> dict:
    lacking = missing(part.options.systems)
    for system in lacking:
        print(f"  {system} is left out: its programs are not installed", file=sys.stderr)
    systems = [system for system in part.options.systems if system not in lacking]
    runs = []
    for _ in range(part.options.rounds):
        for system in systems:
            if not part.out_of_time():
                runs.append(Run(system, network, part).measure())
    rows = table(runs)
    for row in rows:
        if row["system"] == "gcoord" and row["wrong"] + row["missed"] > 0:
            part.failures.append(f"gcoord, {row['fault']}: {row['wrong']} wrong, {row['missed']} missed")
    versions = {run["system"]: run.get("version", "") for run in runs}
    return part.finished(METHOD, rows, versions=versions, runs=runs)
