"""Several deaths at once: how many views they make, of the cluster and of a group."""

import time
from pathlib import Path

from gcoord_cluster import GcoordCluster
from gcoord_group import Group
from network import Network
from part import Part, Scratch, quantile
from watched import wait_until

NODES = 7
DEAD_NODES = (2, 3)
DEAD_MEMBERS = (2, 4, 8)

METHOD = """\
Nodes: of seven voters in namespaces two or three are killed with SIGKILL one right after the other, none of them shard 0's
leader; counted are the cluster views that node 1 prints until all of them are suspect. Members: of a group on the same cluster, as
in the part "group", two, four or eight processes are killed at once; counted are the group's views until none of them is there.
One view is the aim."""


def kill_nodes(part: Part, cluster: GcoordCluster, count: int) -> dict:
    dead = part.drawn.sample(cluster.victims(), count)
    begin = time.monotonic()
    for node in dead:
        cluster.processes[node].kill()
    wait_until("marks of all dead nodes", lambda: cluster.marked >= set(dead), 60, 0.005)
    views = [at - begin for at, _ in cluster.views if at >= begin]
    for node in dead:
        cluster.processes[node].wait(timeout=30)
        cluster.start(node)
    wait_until("all nodes back", cluster.whole)
    return {"what": "nodes", "killed": count, "views": len(views), "first_view_s": round(views[0], 4),
            "last_s": round(views[-1], 4)}


def kill_members(part: Part, group: Group, count: int) -> dict:
    dead = part.drawn.sample(group.members, count)
    run = group.kill(dead, 60)
    group.revive(dead)
    return {"what": "members", **run}


def try_all(part: Part, cluster: GcoordCluster, runs: list) -> None:
    options = part.options
    for count in DEAD_NODES:
        for _ in range(options.tries):
            if not part.out_of_time():
                runs.append(kill_nodes(part, cluster, count))
    group = Group(cluster, options.members, options.ttl)
    try:
        for count in DEAD_MEMBERS:
            for _ in range(options.tries if count < options.members else 0):
                if not part.out_of_time():
                    runs.append(kill_members(part, group, count))
    finally:
        group.end()


def measure(part: Part, network: Network) -> dict:
    runs = []
    version = ""
    try:
        with Scratch() as directory, GcoordCluster(network, NODES, directory, Path(part.options.bin).resolve(),
                                                   extra=part.options.node_option) as cluster:
            version = cluster.version()
            try_all(part, cluster, runs)
    except (TimeoutError, RuntimeError) as failure:
        part.failed(str(failure))
    rows = []
    for what, killed in [("nodes", count) for count in DEAD_NODES] + [("members", count) for count in DEAD_MEMBERS]:
        of = [run for run in runs if (run["what"], run["killed"]) == (what, killed)]
        views = [run["views"] for run in of]
        rows.append({"what": what, "killed": killed, "tries": len(of), "views_p50": quantile(views, 0.5), "views_max": quantile(views, 1),
                     "first_view_p50_s": quantile([run["first_view_s"] for run in of], 0.5),
                     "all_p50_s": quantile([run["last_s"] for run in of], 0.5)})
    return part.finished(METHOD, rows, versions={"gcoord": version}, runs=runs)
