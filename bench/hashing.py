#!/usr/bin/env python3
"""How near the trees' hashing on one core comes to `openssl speed` for the same messages.

Usage: hashing.py --bin DIR [--rounds N] [--core N] [--shards N]

Alternates `gcoord-bench merkle` with `openssl speed -evp sha256`, both on the same core. What the trees hash per leaf is one
message of 1 + record bytes (RFC 6962's prefix) and, for each node that the leaf completes, one of 65 bytes; openssl's time for
these is the sum of its times for messages of those sizes. The ratio is that time over the bench's. Prints one JSON object.
"""

import argparse
import json
import os
import re
import statistics
import subprocess

NODE_BYTES = 65


def openssl_rate(core: int, size: int) -> float:
    """Messages of that size per second."""
    run = subprocess.run(["taskset", "-c", str(core), "openssl", "speed", "-mr", "-evp", "sha256", "-seconds", "1", "-bytes", str(size)],
                         capture_output=True, text=True, check=True)
    done = re.search(r"\+R:(\d+):\S+:([0-9.]+)", run.stderr + run.stdout)
    assert done, run.stderr
    return int(done.group(1)) / float(done.group(2))


def bench(binary: str, core: int, shards: int) -> list:
    run = subprocess.run(["taskset", "-c", str(core), binary, "merkle", "--device", "cpu", "--shards", str(shards), "--json", "--no-keep"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout.strip().splitlines()[-1])["batches"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--shards", type=int, default=2048)
    options = parser.parse_args()
    rounds = []
    for _ in range(options.rounds):
        batches = bench(os.path.join(options.bin, "gcoord-bench"), options.core, options.shards)
        sizes = sorted({each["record_bytes"] + 1 for each in batches} | {NODE_BYTES})
        rates = {size: openssl_rate(options.core, size) for size in sizes}
        rows = []
        for each in batches:
            nodes = each["leaves_and_nodes_per_second"] / each["leaves_per_second"] - 1
            openssl_s = 1 / rates[each["record_bytes"] + 1] + nodes / rates[NODE_BYTES]
            rows.append({"record_bytes": each["record_bytes"], "leaves_per_shard_and_turn": each["leaves_per_shard_and_turn"],
                         "leaves_per_second": each["leaves_per_second"], "of_openssl": round(each["leaves_per_second"] * openssl_s, 3)})
        rounds.append({"openssl_messages_per_second": {str(size): round(rate) for size, rate in rates.items()}, "rows": rows,
                       "load_average": os.getloadavg()[0]})
    medians = [dict(row, of_openssl=statistics.median(each["rows"][k]["of_openssl"] for each in rounds),
                    leaves_per_second=statistics.median(each["rows"][k]["leaves_per_second"] for each in rounds))
               for k, row in enumerate(rounds[0]["rows"])]
    version = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True).stdout.strip()
    print(json.dumps({"name": "hashing", "openssl": version, "core": options.core, "shards": options.shards, "medians": medians,
                      "rounds": rounds}, indent=1))


if __name__ == "__main__":
    main()
