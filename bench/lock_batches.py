"""Lock batches against three nodes of this host: pairs a second, and what a pair costs the nodes.

For each durability and size of a batch, in turn and several rounds: `gcoordctl bench lock --batch N`. Rounds alternate, so
that a change of the machine's load meets all sizes. Prints one JSON object, and keeps it where --results names a folder.

    python3 bench/lock_batches.py --bin build/cpu/bin --seconds 3 --rounds 3
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from three_nodes import Cluster, report, wait_for


def led(cluster: Cluster) -> bool:
    return sum(node.get("leaders", 0) for node in cluster.ctl("status").get("nodes", [])) == cluster.shards


def measured(cluster: Cluster, arguments) -> dict:
    def bench(*more: str) -> dict:
        return cluster.ctl("bench", "lock", "--seconds", str(arguments.seconds), "--clients", str(arguments.clients), *more)

    bench("--batch", "64")  # Leaders are known and memory is warm.
    rounds = [{size: bench("--batch", str(size)) for size in arguments.batches} for _ in range(arguments.rounds)]
    return {str(size): [each[size] for each in rounds] for size in arguments.batches}


def summary(runs: list) -> dict:
    rate = statistics.median(run["pairs_per_s"] for run in runs)
    costs = [run["node_cost"] for run in runs]
    return {"pairs_per_s": rate, "errors": sum(int(run["errors"]) for run in runs),
            **{name: statistics.median(cost[name] for cost in costs) for name in costs[0] if name != "requests"}}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True)
    options.add_argument("--seconds", type=float, default=3)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--clients", type=int, default=1)
    options.add_argument("--shards", type=int, default=1024)
    options.add_argument("--batches", type=lambda text: [int(each) for each in text.split(",")], default=[1, 16, 64])
    options.add_argument("--durabilities", type=lambda text: text.split(","), default=["memory", "durable"])
    options.add_argument("--io-threads", default="auto")
    options.add_argument("--results")
    arguments = options.parse_args()
    result = {"clients": arguments.clients, "shards": arguments.shards, "seconds": arguments.seconds,
              "io_threads": arguments.io_threads, "load_before": os.getloadavg()}
    for durability in arguments.durabilities:
        with tempfile.TemporaryDirectory() as directory:
            cluster = Cluster(arguments.bin, Path(directory), shards=arguments.shards, durability=durability,
                              extra=["--io-threads", arguments.io_threads])
            try:
                wait_for("a leader of each shard", lambda: led(cluster))
                runs = measured(cluster, arguments)
            finally:
                cluster.end()
        result[durability] = {"median": {size: summary(each) for size, each in runs.items()}, "runs": runs}
    result["load_after"] = os.getloadavg()
    report("lock-batches", result, arguments.results)


if __name__ == "__main__":
    main()
