"""Kill -9 of a member of a group: when the others are shown the view without it, the first of them and the last."""

from pathlib import Path

from gcoord_cluster import GcoordCluster
from gcoord_group import Group
from network import Network
from part import Part, Scratch, quantile, rounded

METHOD = """\
Three nodes in namespaces. Each member is a gcoordctl that joins a group, and one that prints its views; they are spread over the
nodes. One member is killed with SIGKILL. Detected is the first of the others' watchers that shows a view without it: the
session's end was committed then, at most a TTL and an election time after the last renewal. All is the last of them. The ratio is
all / detected, both from the kill."""


def measure(part: Part, network: Network) -> dict:
    options = part.options
    runs = []
    version = ""
    try:
        with Scratch() as directory, GcoordCluster(network, 3, directory, Path(options.bin).resolve(),
                                                   extra=options.node_option) as cluster:
            version = cluster.version()
            group = Group(cluster, options.members, options.ttl)
            try:
                while len(runs) < options.tries and not part.out_of_time():
                    dead = [part.drawn.choice(group.members)]
                    runs.append(group.kill(dead, 60 + options.ttl))
                    group.revive(dead)
            finally:
                group.end()
    except (TimeoutError, RuntimeError) as failure:
        part.failed(str(failure))
    ratios = [run["last_s"] / run["first_s"] for run in runs]
    rows = [{"members": options.members, "ttl_s": options.ttl, "kills": len(runs),
             "detected_p50_s": quantile([run["first_s"] for run in runs], 0.5),
             "all_p50_s": quantile([run["last_s"] for run in runs], 0.5), "all_max_s": quantile([run["last_s"] for run in runs], 1),
             "ratio_p50": rounded(quantile(ratios, 0.5)), "ratio_max": rounded(quantile(ratios, 1))}]
    return part.finished(METHOD, rows, versions={"gcoord": version}, runs=runs)
