"""Prometheus scrapes three nodes under load; promtool and the rules and dashboards that gcoord brings are held against it."""

import json
import re
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from three_nodes import Cluster, free_ports, wait_for

SUMMARY = "promtool on every page of metrics, rules tested, every query of every dashboard answered by a real Prometheus"
ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "prometheus"
DASHBOARDS = ROOT / "deploy" / "grafana"
LOAD_S = 25
# What a Grafana puts in place of its variables.
VARIABLES = {"$job": ".*", "$instance": ".*", "$__rate_interval": "5s", "$__range": "30s"}


def version_of(program: str) -> str:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return re.search(r"version (\S+)", told.stdout + told.stderr).group(1).rstrip(",")


def check_pages(cluster: Cluster, verdict) -> None:
    for node in cluster.nodes:
        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.metrics[node]}/metrics", timeout=30) as answer:
            page = answer.read()
        lint = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, check=False)
        said = (lint.stdout + lint.stderr).decode()
        verdict.expect(f"promtool is silent about the metrics of node {node}", lint.returncode == 0 and not said, said)


def check_rules(verdict) -> None:
    for what, *words in (("the rules are well formed", "check", "rules", "gcoord.rules.yml"),
                         ("each alert fires on what it is for", "test", "rules", "gcoord.rules.test.yml")):
        done = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, text=True, check=False)
        verdict.expect(what, done.returncode == 0, done.stdout + done.stderr)


class Prometheus:
    def __init__(self, cluster: Cluster, directory: Path):
        self.port = free_ports(1)[0]
        targets = ", ".join(f"'127.0.0.1:{port}'" for port in cluster.metrics.values())
        config = directory / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                          f"rule_files: ['{RULES / 'gcoord.rules.yml'}']\n"
                          f"scrape_configs: [{{job_name: gcoord, static_configs: [{{targets: [{targets}]}}]}}]\n",
                          encoding="utf-8")
        self.log = (directory / "prometheus.log").open("w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def ask(self, query: str) -> list:
        address = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


def queries_of(dashboard: Path) -> list:
    """(panel, query), with Grafana's variables filled in."""
    queries = []
    for panel in json.loads(dashboard.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            queries.append((panel["title"], query))
    return queries


def is_number(sample: dict) -> bool:
    return sample["value"][1] != "NaN"


def check_queries(prometheus: Prometheus, verdict) -> None:
    for dashboard in sorted(DASHBOARDS.glob("*.json")):
        for panel, query in queries_of(dashboard):
            found = prometheus.ask(query)
            verdict.expect(f"{dashboard.stem}: '{panel}' has values", any(is_number(each) for each in found), query)
    for line in (RULES / "gcoord.rules.yml").read_text(encoding="utf-8").splitlines():
        if "record:" in line:
            name = line.split("record:")[1].strip()
            verdict.expect(f"{name} has values", any(is_number(each) for each in prometheus.ask(name)), name)
    alerts = prometheus.ask("ALERTS")  # Those that wait to fire, too.
    verdict.expect("no alert fires, or is about to, on a healthy cluster", not alerts, json.dumps(alerts))


def end_sessions(cluster: Cluster) -> None:
    """Sessions that run out, so that their lateness is a figure."""
    for _ in range(4):
        cluster.ctl("session", "open", "--ttl", "300ms")


def judge(programs: Path, verdict) -> None:
    verdict.programs = {"prometheus": version_of("prometheus"), "promtool": version_of("promtool")}
    check_rules(verdict)
    with tempfile.TemporaryDirectory() as directory:
        cluster = Cluster(programs, Path(directory), shards=64)
        prometheus = Prometheus(cluster, Path(directory))
        try:
            wait_for("the cluster", lambda: cluster.ctl("status").get("nodes"), 60)
            load = cluster.load(LOAD_S, clients=16)
            begin = time.monotonic()
            while time.monotonic() - begin < LOAD_S - 8:
                end_sessions(cluster)
                time.sleep(1)
            check_pages(cluster, verdict)
            up = prometheus.ask("sum(up)")
            verdict.expect("Prometheus reaches all three nodes", bool(up) and up[0]["value"][1] == "3", json.dumps(up))
            check_queries(prometheus, verdict)
            scraped = prometheus.ask("max(scrape_duration_seconds)")
            load.communicate(timeout=120)
            if scraped:
                series = prometheus.ask("max(scrape_samples_scraped)")[0]["value"][1]
                verdict.figures.append(f"a scrape of {series} samples takes {float(scraped[0]['value'][1]) * 1e3:.1f} ms under load")
        finally:
            prometheus.end()
            cluster.end()
