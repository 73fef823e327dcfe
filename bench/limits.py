#!/usr/bin/env python3
"""What one client at many times its rate costs the others: three nodes on this host, others alone and beside it.

Prints one JSON object: the others' p99 of an acquire in milliseconds in both, their ratio, and how many requests of the
greedy client were refused a second. The greedy one has --greedy-clients times --greedy-pipeline requests in flight; each is sent
again when a node says that there is room, as client libraries do.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from three_nodes import Cluster, wait_for  # noqa: E402


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/cpu/bin", help="where gcoordd and gcoordctl are")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=16, help="of the others")
    parser.add_argument("--rate", type=int, default=100, help="requests a second of the greedy client, at each node")
    parser.add_argument("--greedy-clients", type=int, default=64)
    parser.add_argument("--greedy-pipeline", type=int, default=64)
    return parser.parse_args()


def prepare(cluster: Cluster, password: Path, rate: int) -> None:
    def limit_set() -> bool:
        answer = cluster.ctl("limit", "set", "--principal", "greedy", "--rate", str(rate), "--burst", str(rate))
        return "epoch" in answer

    def user_added() -> bool:
        answer = cluster.ctl("user", "add", "greedy", "--password-file", str(password))
        return "epoch" in answer or answer.get("error", {}).get("code") == "GC6502"

    wait_for("a limit", limit_set, step=0.5)
    wait_for("a user", user_added, step=0.5)


def greedy(cluster: Cluster, password: Path, options: argparse.Namespace) -> subprocess.Popen:
    return subprocess.Popen(
        [str(cluster.bin / "gcoordctl"), "--endpoints", cluster.endpoints(), "--user", "greedy", "--password-file", str(password),
         "-o", "json", "bench", "lock", "--seconds", str(options.seconds + 4), "--clients", str(options.greedy_clients),
         "--pipeline", str(options.greedy_pipeline)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def p99_ms(cluster: Cluster, options: argparse.Namespace) -> float:
    out, _ = cluster.load(options.seconds, options.clients).communicate()
    return float(json.loads(out)["acquire_p99_ms"])


def refused(cluster: Cluster) -> float:
    return sum(cluster.total("gcoord_server_requests_limited_total").values())


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        secret, password = Path(folder) / "secret", Path(folder) / "password"
        subprocess.run([str(Path(options.bin) / "gcoordctl"), "cluster", "secret", "new", str(secret)], check=True,
                       stdout=subprocess.DEVNULL)
        descriptor = os.open(password, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, b"a password\n")
        os.close(descriptor)
        cluster = Cluster(options.bin, Path(folder), shards=64, extra=("--cluster-secret", str(secret)))
        try:
            prepare(cluster, password, options.rate)
            alone = p99_ms(cluster, options)
            process = greedy(cluster, password, options)
            wait_for("a refusal", lambda: refused(cluster) > 0)
            before, begin = refused(cluster), time.monotonic()
            beside = p99_ms(cluster, options)
            rate = (refused(cluster) - before) / (time.monotonic() - begin)
            process.terminate()
            process.wait()
        finally:
            cluster.end()
    print(json.dumps({"alone_p99_ms": alone, "beside_p99_ms": beside, "ratio": beside / alone, "refused_per_s": rate,
                      "rate_per_node": options.rate}))


if __name__ == "__main__":
    main()
