"""Changes of nodes under load: from three nodes to five, and a new node for a dead one."""

import sys
import time
from pathlib import Path

from gcoord_cluster import GcoordCluster, Load
from network import Network
from part import Part, Scratch, rounded
from watched import wait_until

LOOK_S = 0.5  # Seldom enough that looks take little of the processors.
LONGEST_S = 300.0
SAMPLED = 8  # Shards that are looked at, in turn.

GROW_METHOD = """\
Three durable nodes in namespaces, all shards led, and one gcoordctl that locks and unlocks names in an open loop, 50 sessions and
a deadline of 5 s, first without a change, then while nodes 4 and 5 are added and started. Seconds are from the first
`member add` until the leaders of all shards say that their configuration is that of the newest view (`moves` of a change
with --dry-run), looked at twice a second; then sampled shards are asked for their voters. p99 is of all calls, from when each was due. Unfinished
are calls that were due or under way when the load was stopped: with a max below 5 s all of them still had time."""

REPLACE_METHOD = """\
As in the part "grow", of three nodes. Node 3, or 2 if 3 leads shard 0, is killed with SIGKILL under load; once the view says
suspect and all shards are led again, `member replace` and a new, empty node take its place, under another load. Seconds are from
`member replace` until all shards have the new configuration and the old node is removed. Tolerance is the least number of
further live votes that sampled shards could lose, in both halves of a joint configuration; 0 is what three nodes with a dead one
have. Failed are calls of both loads; p99 is that of the second."""


def all_settled(moves: dict) -> bool:
    """The leaders of all shards have spoken of the view, and each shard has the configuration that it wants."""
    return moves.get("led") == moves.get("settled") == moves.get("shards")


def agrees(view: dict, epoch: str, active: tuple, removed: tuple) -> bool:
    """It is the newest view, and these are active and those are removed in it."""
    states = {row["node"]: row["state"] for row in view.get("members", [])}
    return (view.get("view") == epoch and all(states.get(node) == "active" for node in active)
            and all(states.get(node) == "removed" for node in removed))


def tolerance(replicas: list, live: set):
    """Votes of live nodes that a shard may lose and still decide, by its leader's configuration; None: nobody says that he leads."""
    leader = next((row for row in replicas if row.get("role") == "leader"), None)
    if leader is None:
        return None
    members = leader["configuration"]["members"]
    spare = []
    for half in ("voter", "outgoing"):
        votes = {each["node"]: each["weight"] for each in members if each[half]}
        if votes:
            spare.append(sum(weight for node, weight in votes.items() if node in live) - (sum(votes.values()) // 2 + 1))
    return min(spare)


class Change:
    """One change of one cluster, with a load beside it."""

    def __init__(self, part: Part, cluster: GcoordCluster):
        self.part, self.cluster = part, cluster
        self.seen = []  # (seconds, view, led, settled, ready)
        self.least = None
        self.idle_cores = 0.0  # That the nodes use under the load alone.

    def prepare(self) -> dict:
        """The load without a change."""
        wait_until("a leader of every shard", self.cluster.led, 300, 0.5)
        time.sleep(2)
        load = Load(self.cluster, self.part.options.rate)
        time.sleep(1)
        used, begin = self.cluster.processor_seconds(), time.monotonic()
        time.sleep(self.part.options.seconds)
        self.idle_cores = (self.cluster.processor_seconds() - used) / (time.monotonic() - begin)
        return load.stop()

    def await_settled(self, active: tuple, removed: tuple, live: set) -> float:
        """Seconds, from now."""
        begin = time.monotonic()
        while True:
            # Every verb that changes says how far the shards are, and with --dry-run it changes nothing.
            moves = self.cluster.ctl("member", "drain", "1", "--dry-run").get("moves") or {}
            passed = time.monotonic() - begin
            self.seen.append([round(passed, 2), *(moves.get(key) for key in ("view", "led", "settled", "ready"))])
            if moves and all_settled(moves) and agrees(self.cluster.view(), moves["view"], active, removed):
                return passed
            if passed > LONGEST_S:
                raise TimeoutError(f"the change has not come about after {passed:.0f} s: {self.seen[-1]}")
            if len(self.seen) % 2 == 0:
                self.sample((len(self.seen) // 2 * self.cluster.shards // SAMPLED) % self.cluster.shards, live)
            time.sleep(LOOK_S)

    def sample(self, shard: int, live: set) -> None:
        spare = tolerance(self.cluster.ctl("shard", "show", str(shard)).get("replicas", []), live)
        if spare is not None:
            self.least = spare if self.least is None else min(self.least, spare)

    def check_voters(self, voters: set) -> None:
        for k in range(SAMPLED):
            shard = k * (self.cluster.shards // SAMPLED)
            try:
                wait_until(f"a leader of shard {shard} that shows its members", lambda: self.members_of(shard), 20)
            except TimeoutError as failure:
                self.part.failed(str(failure))
                continue
            members = self.members_of(shard)
            found = {each["node"] for each in members if each["voter"]}
            if members and (found != voters or any(each["outgoing"] for each in members)):
                self.part.failed(f"shard {shard} has the voters {sorted(found)}, and not {sorted(voters)}")

    def members_of(self, shard: int) -> list:
        rows = self.cluster.ctl("shard", "show", str(shard)).get("replicas", [])
        return next((row["configuration"]["members"] for row in rows if row.get("role") == "leader"), [])

    def result(self, took: float, used: float, without: dict, beside: dict) -> dict:
        return {"took_s": round(took, 2), "processor_s": round(used, 1), "processor_s_without": round(self.idle_cores * took, 1),
                "load_without": without, "load_with": beside, "least_tolerance": self.least, "seen": self.seen}


def grow_once(part: Part, cluster: GcoordCluster) -> dict:
    change = Change(part, cluster)
    without = change.prepare()
    load = Load(cluster, part.options.rate)
    time.sleep(1)
    used, begin = cluster.processor_seconds(), time.monotonic()
    try:
        for node in (4, 5):
            cluster.add(node)
        took = time.monotonic() - begin + change.await_settled((1, 2, 3, 4, 5), (), {1, 2, 3, 4, 5})
        used = cluster.processor_seconds() - used
        time.sleep(1)
    finally:
        beside = load.stop()
    change.check_voters({1, 2, 3, 4, 5})
    return change.result(took, used, without, beside)


def die(part: Part, cluster: GcoordCluster, node: int) -> dict:
    """Kills a node under load; until the view says suspect and all shards are led again."""
    load = Load(cluster, part.options.rate)
    time.sleep(1)
    try:
        killed = cluster.kill(node)
        detected = cluster.detected(node, killed, 60)
        wait_until("a leader of every shard", cluster.led, 60, 0.1)
        led = time.monotonic() - killed
        time.sleep(2)
    finally:
        beside = load.stop()
    return {"detected_s": rounded(detected), "led_s": round(led, 2), "load_at_death": beside}


def replace_once(part: Part, cluster: GcoordCluster) -> dict:
    change = Change(part, cluster)
    without = change.prepare()
    old = 3 if cluster.leader() != 3 else 2
    death = die(part, cluster, old)
    stay = tuple(node for node in (1, 2, 3) if node != old)
    load = Load(cluster, part.options.rate)
    time.sleep(1)
    try:
        used, begin = cluster.processor_seconds(), time.monotonic()
        cluster.add(4, verb=("replace", str(old)))
        took = time.monotonic() - begin + change.await_settled((*stay, 4), (old,), {*stay, 4})
        used = cluster.processor_seconds() - used
        time.sleep(1)
    finally:
        beside = load.stop()
    change.check_voters({*stay, 4})
    return {**death, **change.result(took, used, without, beside)}


def errors_of(run: dict) -> list:
    """Of all loads, by cause."""
    return [cause for key in ("load_at_death", "load_with") if key in run for cause in run[key]["causes"]]


def row_of(part: Part, nodes: str, run: dict) -> dict:
    without, beside = run["load_without"], run["load_with"]
    before, during = without["latency_ms"]["p99"], beside["latency_ms"]["p99"]
    return {"nodes": nodes, "shards": part.options.shards, "seconds": run["took_s"], "processor_s": run["processor_s"],
            "p99_without_ms": before, "p99_with_ms": during, "p99_times": rounded(during / before, 2),
            "max_with_ms": beside["latency_ms"]["max"], "calls": beside["due"],
            "failed": sum(int(cause["count"]) for cause in errors_of(run)), "unfinished": beside["unfinished"],
            "least_tolerance": run["least_tolerance"]}


def repeated(part: Part, network: Network, nodes: str, once, method: str) -> dict:
    options = part.options
    runs = []
    version = ""
    for _ in range(options.repeat):
        if part.out_of_time():
            break
        try:
            with Scratch() as directory, GcoordCluster(network, 3, directory, Path(options.bin).resolve(), options.shards,
                                                       options.node_option) as cluster:
                version = cluster.version()
                runs.append(once(part, cluster))
        except (TimeoutError, RuntimeError) as failure:
            part.failed(str(failure))
            continue
        if errors_of(runs[-1]):
            print(f"  failed calls: {errors_of(runs[-1])}", file=sys.stderr)
    rows = [row_of(part, nodes, run) for run in runs]
    return part.finished(method, rows, versions={"gcoord": version}, runs=runs)


def grow(part: Part, network: Network) -> dict:
    return repeated(part, network, "3 -> 5", grow_once, GROW_METHOD)


def replace(part: Part, network: Network) -> dict:
    return repeated(part, network, "1 of 3", replace_once, REPLACE_METHOD)
