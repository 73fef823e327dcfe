#!/usr/bin/env python3
"""The page of all metrics, docs/reference/metrics.md, made of what nodes say of themselves.

Usage: metrics_reference.py --node GCOORDD [--write]

Starts a node of each kind (host turn, device, resident turn, in memory), reads their /metrics, and writes the page, or fails when
the page is not what it would write.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from three_nodes import free_ports  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "metrics.md"
KINDS = {"host": ["--listen-ledger", "127.0.0.1:0"], "device": ["--device", "twin"], "resident": ["--turn", "resident"], "memory": ["--durability", "memory"]}
STARTS = 5
PORT_TAKEN = "GC3004"
HEAD = """# Metrics

All metrics of `/metrics` (`--listen-metrics`), in Prometheus's text format. Times are in seconds, sizes in bytes; a
histogram's buckets are powers of two of a microsecond. Dashboards and alert rules for them are in
[monitor.md](../how-to/monitor.md). Nodes with a GPU show `gcoord_gpu_busy_ratio`, `gcoord_gpu_memory_used_bytes`,
`gcoord_gpu_memory_bytes`, `gcoord_gpu_power_watts`, `gcoord_gpu_energy_joules_total` and
`gcoord_gpu_temperature_celsius` of every GPU (label `gpu`, its UUID) besides, and where the GPU tells them
`gcoord_gpu_ecc_corrected_total`, `gcoord_gpu_ecc_uncorrected_total`, `gcoord_gpu_nvlink_replays_total`,
`gcoord_gpu_nvlink_recoveries_total`, `gcoord_gpu_nvlink_crc_errors_total`, `gcoord_gpu_throttle_reasons` (NVML's bits),
`gcoord_gpu_processes` (with contexts of their own, not through MPS) and `gcoord_gpu_xids_total`. They are read once a second
([gpu_health.md](../how-to/gpu_health.md)); `gcoord_gpu_sample_age_seconds` is their age, and values older than 30 s, as of a
driver that hangs, are left out. This page is generated from running nodes: run
`tests/judges/metrics_reference.py --write`; a test compares.

| metric | type | labels | meaning | nodes |
|---|---|---|---|---|
"""


def families_of(page: str) -> dict:
    """name -> (type, help, labels)"""
    helps, types, labels = {}, {}, {}
    for line in page.splitlines():
        if line.startswith("# HELP "):
            _, _, name, text = line.split(" ", 3)
            helps[name] = text
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
            types[name] = kind
        elif line and not line.startswith("#"):
            name = re.match(r"[a-zA-Z_:0-9]+", line).group(0)
            base = re.sub(r"_(bucket|sum|count)$", "", name) if name not in types else name
            found = re.findall(r'(\w+)="', line)
            labels.setdefault(base, set()).update(set(found) - {"le"})
    return {name: (types[name], helps[name], ", ".join(sorted(labels.get(name, ())))) for name in types}


def page_of(node: Path, options: list) -> str:
    """Of one node of three, whose peers never come; it serves, and is not ready."""
    for _ in range(STARTS):
        page, command, error = page_of_one_start(node, options)
        if page:
            return page
        if PORT_TAKEN not in error:  # A free port may be another's before the node listens on it.
            break
    sys.exit(f"{' '.join(command)} ended: {error}")


def page_of_one_start(node: Path, options: list) -> tuple:
    """The page, the command, and what the node said if it ended instead."""
    port, peer_port = free_ports(2)
    with tempfile.TemporaryDirectory() as directory:
        command = [str(node), "--node-id", "1", "--cluster-name", "metrics", "--shards", "16", "--data-dir", directory + "/disk",
                   "--listen-client", "127.0.0.1:0", "--listen-peer", f"127.0.0.1:{peer_port}", "--listen-metrics", f"127.0.0.1:{port}",
                   "--peer", "2=127.0.0.1:1", "--peer", "3=127.0.0.1:2", *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                while process.poll() is None:
                    try:
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                            return answer.read().decode(), command, ""
                    except OSError:
                        time.sleep(0.05)  # Not listening yet.
                return "", command, process.stderr.read()
            finally:
                process.terminate()
                process.communicate(timeout=60)


def whole_page(node: Path) -> str:
    families: dict = {}
    for kind, options in KINDS.items():
        for name, family in families_of(page_of(node, options)).items():
            families.setdefault(name, (family, []))[1].append(kind)
    rows = []
    for name, ((kind, text, labels), nodes) in sorted(families.items()):
        where = "all" if len(nodes) == len(KINDS) else ", ".join(nodes)
        rows.append(f"| `{name}` | {kind} | {labels or '-'} | {text.rstrip('.')} | {where} |")
    return HEAD + "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--node", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    made = whole_page(options.node.resolve())
    if options.write:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    before = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    changed = sorted(set(made.splitlines()) ^ set(before))
    for line in changed:
        print(("missing: " if line not in before else "gone: ") + line, file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
