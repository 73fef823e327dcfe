#!/usr/bin/env python3
"""Writes Grafana's dashboards for gcoord, with Grafana's own library (requirements.txt).

Usage: dashboards.py [--check]

Each dashboard is a table here: rows of panels, a panel of queries. --check writes nothing and fails when a file in this
folder is not what this program makes. `./gcoord judge prometheus` asks a real Prometheus each query of each panel.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard as models

FOLDER = Path(__file__).resolve().parent
OF = 'job=~"$job",instance=~"$instance"'  # What the variables at the top choose.
WIDTH, HEIGHT, ACROSS = 8, 7, 24


@dataclass
class Panel:
    title: str
    unit: str
    queries: list  # (expression, legend)
    help: str
    single: bool = False


def rate(name: str, by: str = "instance", more: str = "") -> str:
    return f"sum by ({by}) (rate({name}{{{OF}{more}}}[$__rate_interval]))"


def quantile(q: float, name: str, by: str = "instance") -> str:
    return f"histogram_quantile({q}, sum by ({by}, le) (rate({name}_bucket{{{OF}}}[$__rate_interval])))"


def quantiles(name: str) -> list:
    return [(quantile(0.5, name), "p50 {{instance}}"), (quantile(0.99, name), "p99 {{instance}}")]


OVERVIEW = ("gcoord-overview", "gcoord: cluster", [
    ("Is it well?", [
        Panel("Nodes up", "none", [(f"sum(up{{{OF}}})", "")], "Nodes that Prometheus reaches.", True),
        Panel("Shards without a leader", "none",
              [(f"max(gcoord_server_shards{{{OF}}}) - sum(gcoord_server_leaders{{{OF}}})", "")],
              "Locks of such shards can be neither taken nor renewed. Above 0 for an election's time after a node is lost.", True),
        Panel("Locks held", "none", [(f"max(gcoord_server_locks{{{OF}}})", "")], "Every node counts all locks that it knows of.", True),
        Panel("Requests", "reqps", [(rate("gcoord_server_requests_total"), "{{instance}}")], "Requests of clients that a node took."),
        Panel("Time of a write", "s", quantiles("gcoord_server_command_duration_seconds"),
              "From request to answer of what goes through the log: taking, renewing and releasing locks."),
        Panel("Requests answered with an error", "reqps", [(rate("gcoord_server_requests_failed_total"), "{{instance}}")],
              "Refusals of taken locks count too."),
    ]),
    ("Locks and sessions", [
        Panel("Grants", "ops", [(rate("gcoord_server_grants_total"), "{{instance}}")], "Locks that a node granted as leader."),
        Panel("Waiting", "none", [(f"gcoord_server_waits{{{OF}}}", "{{instance}}")], "Acquires that wait at a leader."),
        Panel("Expiries", "ops", [(rate("gcoord_server_session_expiries_total"), "{{instance}}")], "Sessions that ran out."),
        Panel("How late expiries are", "s", quantiles("gcoord_server_session_expiry_lateness_seconds"),
              "From the end of a session's time to the proposal of its expiry. Late, never early."),
        Panel("Watches", "none", [(f"gcoord_server_watches{{{OF}}}", "{{instance}}")], "Watches of clients."),
        Panel("Connections", "none", [(f"gcoord_server_connections{{{OF}}}", "{{instance}}")], "Client connections that are open."),
    ]),
    ("Leaders", [
        Panel("Shards led", "none", [(f"gcoord_server_leaders{{{OF}}}", "{{instance}}")], "They spread evenly by themselves."),
        Panel("Elections won", "ops", [(rate("gcoord_server_elections_won_total"), "{{instance}}")], "Above 0 only after a loss or a transfer."),
        Panel("Suspicion of peers", "none", [(f"gcoord_server_peer_phi{{{OF}}}", "{{instance}} of node {{peer}}")],
              "-log10 of the chance that the peer's next heartbeat is still to come; above 8 it is as good as lost."),
    ]),
])

NODE = ("gcoord-node", "gcoord: nodes", [
    ("Process", [
        Panel("Processors", "none", [(rate("process_cpu_seconds_total"), "{{instance}}")], "Processors in use."),
        Panel("Memory", "bytes", [(f"process_resident_memory_bytes{{{OF}}}", "{{instance}}")], "Resident memory."),
        Panel("Descriptors", "none", [(f"process_open_fds{{{OF}}}", "{{instance}}"), (f"process_max_fds{{{OF}}}", "most, {{instance}}")],
              "Sockets and files."),
        Panel("Time of a turn", "s", quantiles("gcoord_server_turn_duration_seconds"), "One pass of the node's loop that did something."),
        Panel("Stalls of the loop", "none", [(f"increase(gcoord_server_loop_gaps_total{{{OF}}}[$__range])", "{{instance}}")],
              "The process got no processor, or a disk held it up."),
        Panel("Up since", "dateTimeAsIso", [(f"process_start_time_seconds{{{OF}}} * 1000", "{{instance}}")], "Start of the process.", True),
    ]),
    ("Log and checkpoints", [
        Panel("Time to persist a record", "s", quantiles("gcoord_ledger_wal_sync_seconds"), "Every write waits for the disks of a majority."),
        Panel("Bytes logged", "Bps", [(rate("gcoord_ledger_wal_bytes_total"), "{{instance}}")], "Written to the log of record."),
        Panel("Entries a record", "none", [(f'{rate("gcoord_ledger_wal_items_total")} / {rate("gcoord_ledger_wal_records_total")}', "{{instance}}")],
              "Items that share one sync."),
        Panel("Checkpoints", "ops", [(rate("gcoord_server_checkpoints_total"), "{{instance}}")], "Completed checkpoints."),
        Panel("Entries applied", "ops", [(rate("gcoord_server_entries_applied_total"), "{{instance}}")], "By every node, not only the leader."),
        Panel("Memory of log entries", "bytes", [(f"gcoord_server_entry_bytes{{{OF}}}", "{{instance}}")], "Not in a checkpoint yet."),
    ]),
    ("Network", [
        Panel("Frames between nodes", "pps", [(rate("gcoord_netcore_frames_out_total"), "out {{instance}}"), (rate("gcoord_netcore_frames_in_total"), "in {{instance}}")],
              "Frames of peers."),
        Panel("Bytes between nodes", "Bps", [(rate("gcoord_netcore_bytes_out_total"), "out {{instance}}"), (rate("gcoord_netcore_bytes_in_total"), "in {{instance}}")],
              "Payload and headers."),
        Panel("Dropped", "ops", [(rate("gcoord_netcore_dropped_total"), "{{instance}}")], "Frames and links of peers that were not accepted."),
    ]),
])

LEDGER = ("gcoord-ledger", "gcoord: ledger", [
    ("Publication", [
        Panel("Published size", "none", [(f"gcoord_server_publication_published_size{{{OF}}}", "{{instance}}")], "Leaves of the cluster log that a majority has signed."),
        Panel("From entry to signatures", "s", quantiles("gcoord_server_publication_duration_seconds"), "Rounds of the publisher."),
        Panel("Signing", "none", [(f"gcoord_server_publication_signing{{{OF}}}", "{{instance}}")], "0 while a node refuses to sign.", True),
        Panel("Heads compared", "ops", [(rate("gcoord_server_publication_heads_compared_total"), "{{instance}}")], "With this node's own trees."),
        Panel("Alarms", "none", [(f"gcoord_server_history_alarms_total{{{OF}}}", "{{instance}}")], "Histories that differ from the majority's."),
    ]),
    ("History", [
        Panel("Entries hashed", "ops", [(rate("gcoord_ledger_history_entries_total"), "{{instance}}")], "Into the shards' trees."),
        Panel("Entries not hashed yet", "none", [(f"gcoord_ledger_history_lag_entries{{{OF}}}", "{{instance}}")], "Proofs of them wait."),
        Panel("Free on the disk", "bytes", [(f"gcoord_ledger_disk_free_bytes{{{OF}}}", "{{instance}}")], "Of the file system of the data directory."),
        Panel("Disk of the history", "bytes", [(f"gcoord_ledger_history_disk_bytes{{{OF}}}", "{{instance}}")], "--ledger-keep bounds it."),
        Panel("Entries pruned", "ops", [(rate("gcoord_ledger_history_pruned_total"), "{{instance}}")], "The oldest ones."),
    ]),
])

DASHBOARDS = (OVERVIEW, NODE, LEDGER)


def source() -> models.DataSourceRef:
    return models.DataSourceRef(type_val="prometheus", uid="$source")


def builder_of(panel: Panel, number: int, at: models.GridPos):
    built = (stat.Panel() if panel.single else timeseries.Panel()).title(panel.title).description(panel.help)
    built.datasource(source()).unit(panel.unit).grid_pos(at).id(number)
    for index, (expression, legend) in enumerate(panel.queries):
        built.with_target(prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + index)))
    if not panel.single:
        built.min(0).fill_opacity(8).legend(common_builders.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST))
    return built


def choice(name: str, label: str, expression: str) -> dashboards.QueryVariable:
    return (dashboards.QueryVariable(name).label(label).query(expression).datasource(source())
            .multi(True).include_all(True).refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED))


def dashboard_of(uid: str, title: str, rows: list) -> dashboards.Dashboard:
    built = dashboards.Dashboard(title).uid(uid).tags(["gcoord"]).readonly().refresh("10s").time("now-30m", "now")
    built.with_variable(dashboards.DatasourceVariable("source").label("Prometheus").type("prometheus"))
    built.with_variable(choice("job", "Job", "label_values(gcoord_build_info, job)"))
    built.with_variable(choice("instance", "Node", 'label_values(gcoord_build_info{job=~"$job"}, instance)'))
    number, y = 0, 0
    for row_title, panels in rows:
        number += 1
        built.with_row(dashboards.Row(row_title).grid_pos(models.GridPos(h=1, w=ACROSS, x=0, y=y)).id(number))
        y += 1
        for index, panel in enumerate(panels):
            number += 1
            column = index % (ACROSS // WIDTH)
            built.with_panel(builder_of(panel, number, models.GridPos(h=HEIGHT, w=WIDTH, x=column * WIDTH, y=y)))
            if column == ACROSS // WIDTH - 1 or index == len(panels) - 1:
                y += HEIGHT
    return built


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for uid, title, rows in DASHBOARDS:
        text = JSONEncoder(sort_keys=True, indent=1).encode(dashboard_of(uid, title, rows).build()) + "\n"
        path = FOLDER / f"{uid}.json"
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    for name in stale:
        print(f"{name} is not what dashboards.py makes: run it", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
