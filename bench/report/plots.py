#!/usr/bin/env python3
"""Draws docs/plots/*.svg from the newest raw results in bench/results.

Usage: bench/report/plots.py [RESULTS_DIR [PLOTS_DIR]]. Needs matplotlib (Debian: python3-matplotlib).
A plot shows what a file holds and the figure that was aimed at; the same results give the same bytes.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

OURS, OTHER, AIM, INK = "#1b6ca8", "#b0b4ba", "#c0392b", "#30343a"

matplotlib.rcParams.update({
    "svg.hashsalt": "gcoord", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.titlelocation": "left", "axes.titlesize": 11,
    "legend.frameon": False, "figure.constrained_layout.use": True,
})


def newest(results, name, part=None):
    """The newest result whose file name is `name`-DATE.json, and that has `part`; None if there is none."""
    for file in sorted(results.glob(f"{name}-????-??-??.json"), key=lambda file: file.stem[-10:], reverse=True):
        data = json.loads(file.read_text())
        if part is None or part in data:
            return data, file.name
    return None


def save(figure, plots, name, source):
    figure.get_layout_engine().set(rect=(0, 0.06, 1, 0.94))
    figure.text(0.995, 0.005, f"bench/results/{source}", ha="right", va="bottom", fontsize=7, color="#7a7f87")
    figure.savefig(plots / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def plain_numbers(axis):
    """Numbers instead of powers of ten on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def aim(axes, value, text):
    axes.axhline(value, color=AIM, linewidth=1, linestyle="--", label=text)


def percentiles(axes, place, measured):
    """A row of a latency plot: from p50 to p99, in microseconds; the first row names the marks."""
    low, high = measured["p50_ns"] / 1e3, measured["p99_ns"] / 1e3
    axes.plot([low, high], [place, place], "-", color=OTHER, linewidth=3, zorder=1)
    axes.plot(low, place, "o", color=OURS, label="p50" if place == 0 else None)
    axes.plot(high, place, "|", color=INK, markersize=12, label="p99" if place == 0 else None)


def plot_vs_etcd(results, plots):
    found = newest(results, "vs-etcd")
    if not found:
        return
    data, source = found
    runs = data["runs"]
    figure, (rate, latency) = plt.subplots(1, 2, figsize=(9, 3.4))
    places = range(len(runs))
    for shift, who, color in ((-0.2, "gcoord", OURS), (0.2, "etcd", OTHER)):
        at = [place + shift for place in places]
        rate.bar(at, [run[who]["many"]["pairs_per_s"] for run in runs], 0.38, color=color, label=who)
        latency.bar(at, [run[who]["one"]["pair_p50_ms"] for run in runs], 0.38, color=color, label=who)
    rate.set(title=f"Lock and unlock pairs per second, {data['clients']} clients", ylabel="pairs/s")
    latency.set(title="Median of a pair, one client", ylabel="ms")
    for axes in (rate, latency):
        axes.set(xlabel="alternating run", xticks=list(places), xticklabels=[str(place + 1) for place in places])
        axes.set_ylim(0, axes.get_ylim()[1] * 1.2)
        axes.legend(loc="upper left", ncols=2)
    rate.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    save(figure, plots, "vs_etcd", source)


def plot_failover(results, plots):
    found = newest(results, "failover")
    if not found:
        return
    data, source = found
    times = sorted(run["failover_ms"] for run in data["runs"])
    figure, axes = plt.subplots(figsize=(6, 2.8))
    axes.plot(range(1, len(times) + 1), times, "o", color=OURS, label="one kill -9")
    aim(axes, data["election_ms"] + 200, "aim: election timeout and 200 ms")
    axes.axhline(data["election_ms"], color=OTHER, linewidth=1, label="election timeout")
    axes.set(title=f"All of {data['shards']:,} shards led again", xlabel="run, fastest first", ylabel="ms", ylim=(0, None))
    axes.legend(loc="lower right")
    save(figure, plots, "failover", source)


def plot_leases(results, plots):
    found, beside = newest(results, "leases", "steady"), newest(results, "etcd-leases")
    if not found or not beside:
        return
    (data, source), (etcd, etcd_source) = found, beside
    figure, (ends, failover) = plt.subplots(1, 2, figsize=(9, 3.4))
    for level, color in zip(etcd["etcd_levels"], ("#dfe1e4", "#c8cbd0", OTHER, "#7a7f87")):
        series, count = level["left_by_ms"], level["left_by_ms"][0][1]
        ends.plot([at / 1000 for at, _ in series], [100 * left / count for _, left in series], "-", color=color,
                  label=f"etcd, {count:,}")
    series = data["steady"][-1]["storm"]["left_by_ms"]
    ends.plot([at / 1000 for at, _ in series], [100 * left / data["leases"] for _, left in series], "-", color=OURS,
              linewidth=2, label=f"gcoord, {data['leases']:,}")
    ends.axvline(2, color=AIM, linewidth=1, linestyle="--", label="aim: a second after the last")
    ends.set(title="Leases that end in the same second", xlabel="s after the first was due", ylabel="% left",
             xlim=(-0.5, 21))
    runs = data["failovers"]
    failover.plot([run["leases"] for run in runs], [run["led_again_ms"] for run in runs], "o-", color=OURS)
    failover.axhline(data["failovers"][0]["election_ms"], color=OTHER, linewidth=1, label="election timeout")
    failover.set(title="All shards led again after a kill -9", xlabel="live leases", ylabel="ms", xscale="log",
                 ylim=(0, None))
    ends.legend(loc="upper right", fontsize=8)
    failover.legend(loc="lower right")
    save(figure, plots, "leases", f"{source}, {etcd_source}")


def plot_channel(results, plots):
    found = newest(results, "channel")
    if not found:
        return
    data, source = found
    links = [link for link in data["links"] if len(link.get("slots", [])) > 1]
    figure, (slots, payload) = plt.subplots(1, 2, figsize=(9, 3.4))
    for link, color, mark in zip(links, (OURS, OTHER), "os"):
        label = link["link"].split(",")[0]
        slots.plot([s["lanes"] for s in link["slots"]], [s["slots_per_s"] / 1e9 for s in link["slots"]],
                   mark + "-", color=color, label=label)
        payload.plot([p["lanes"] for p in link["payloads"]], [p["payload_gb_per_s"] for p in link["payloads"]],
                     mark + "-", color=color, label=label)
    aim(slots, 1, "aim over NVLink")
    aim(payload, 300, "aim over NVLink")
    slots.set(title="64-byte slots, GPU to GPU", ylabel="G slots/s")
    payload.set(title="4 KiB payloads, GPU to GPU", ylabel="GB/s")
    for axes in (slots, payload):
        axes.set(xlabel="lanes (warps at each end)", xscale="log", yscale="log")
        axes.xaxis.set_major_locator(FixedLocator([1, 132, 264, 528, 1056]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=8)
        axes.legend(loc="lower right")
    save(figure, plots, "channel", source)


def plot_round_trips(results, plots):
    found = newest(results, "channel")
    if not found:
        return
    data, source = found
    figure, axes = plt.subplots(figsize=(8, 2.8))
    names = []
    for place, link in enumerate(data["links"]):
        names.append(link["link"].replace(", ", "\n", 1))
        percentiles(axes, place, link["round_trip"])
    axes.axvline(5, color=AIM, linewidth=1, linestyle="--", label="aim over NVLink")
    axes.set(title="One slot there and back", xlabel="us", xscale="log", yticks=range(len(names)))
    axes.set_yticklabels(names, fontsize=8)
    plain_numbers(axes.xaxis)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.legend(loc="upper right")
    save(figure, plots, "round_trips", source)


def plot_device_step(results, plots):
    found = newest(results, "step-cuda-h200-plain")
    if not found:
        return
    data, source = found
    figure, (turn, rate) = plt.subplots(1, 2, figsize=(9, 3.4))
    labels = [f"{run['idle']['rows'] / 1e6:.1f} M" for run in data["runs"]]
    places = list(range(len(labels)))
    turn.bar([p - 0.2 for p in places], [run["idle"]["turn_us"] for run in data["runs"]], 0.38, color=OTHER, label="idle")
    turn.bar([p + 0.2 for p in places], [run["busy"][0]["turn_us"] for run in data["runs"]], 0.38, color=OURS,
             label="every leader sends, every follower answers")
    aim(turn, 300, "aim, busy, 1 M rows")
    turn.set(title="A turn on one GPU", ylabel="us", yscale="log", xlabel="rows", xticks=places, xticklabels=labels)
    for run, color in zip(data["runs"], (OTHER, "#6fa8d6", OURS)):
        per_turn = [busy["commands_per_shard_and_turn"] for busy in run["busy"]]
        rate.plot(per_turn, [busy["commands_per_s"] / 1e6 for busy in run["busy"]], "o-", color=color,
                  label=f"{run['idle']['shards']:,} shards")
    aim(rate, 300, "aim")
    rate.set(title="Committed commands, three replicas", ylabel="million/s", yscale="log", xscale="log",
             xlabel="commands per shard and turn", xticks=[1, 4, 16], xticklabels=["1", "4", "16"])
    for axes in (turn, rate):
        axes.set_ylim(axes.get_ylim()[0], axes.get_ylim()[1] * (3 if axes is turn else 1.2))
        axes.legend(fontsize=8)
        plain_numbers(axes.yaxis)
    rate.xaxis.set_minor_locator(NullLocator())
    save(figure, plots, "device_step", source)


def plot_device_turn(results, plots):
    found = [newest(results, name) for name in ("turn-h?00", "turn-two-h?00", "turn-three-h?00")]
    if None in found:
        return
    figure, (rate, latency) = plt.subplots(1, 2, figsize=(9, 3.4))
    gpus = ("one GPU", "two GPUs", "three GPUs")
    for (data, source), color, label in zip(found, (OTHER, "#6fa8d6", OURS), gpus):
        runs = [run for run in data["rates"] if run["shards"] == 100_000]
        rate.plot([run["batch_size"] for run in runs], [run["commands_per_s"] / 1e6 for run in runs], "o-", color=color,
                  label=f"{label}, {source[-20:-16].upper()}, {source[-15:-5]}")
    aim(rate, 300, "aim, three GPUs")
    rate.set(title="Committed commands, 100,000 busy shards", ylabel="million/s", xlabel="commands per shard and turn",
             xscale="log", xticks=[1, 4, 16], xticklabels=["1", "4", "16"], ylim=(0, None))
    rate.xaxis.set_minor_locator(NullLocator())
    names = []
    for place, ((data, _), what) in enumerate((pair, what) for pair in found
                                              for what in ("commit_one_at_a_time", "host_client")):
        names.append(("commit, " if what.startswith("commit") else "host client, ") + gpus[place // 2])
        percentiles(latency, place, data[what])
    latency.axvline(10, color=AIM, linewidth=1, linestyle="--", label="aim, commit over NVLink")
    latency.set(title="One command at a time", xlabel="us", xlim=(0, None), yticks=range(len(names)),
                yticklabels=names, ylim=(len(names) - 0.5, -2.2))
    rate.legend(fontsize=8, loc="upper left")
    latency.legend(fontsize=8, loc="upper right")
    save(figure, plots, "device_turn", ", ".join(source for _, source in found))


def plot_device_locks(results, plots):
    found = newest(results, "locks-turn-h200")
    if not found:
        return
    data, source = found
    figure, axes = plt.subplots(figsize=(6, 3))
    for skew, color, reach in (("uniform", OURS, 100), ("zipf", OTHER, 20)):
        runs = data[skew]["runs"]
        axes.plot([run["commands_per_batch"] / 2**20 for run in runs],
                  [run["commands_per_s"] / 1e6 for run in runs], "o-", color=color, label=f"{skew}, aim {reach}")
        axes.axhline(reach, color=color, linewidth=1, linestyle="--")
    axes.set(title="Lock commands applied, 10 M names, one GPU", ylabel="million/s", yscale="log", xscale="log",
             xlabel="Mi commands per batch", xticks=[0.25, 1, 4], xticklabels=["1/4", "1", "4"])
    axes.xaxis.set_minor_locator(NullLocator())
    plain_numbers(axes.yaxis)
    axes.legend(fontsize=8, loc=(0.02, 0.12))
    save(figure, plots, "device_locks", source)


def plot_ledger_disk(results, plots):
    found = newest(results, "ledger-disk")
    if not found:
        return
    data, source = found
    figure, rows = plt.subplots(2, 2, figsize=(9, 5), sharex=True)
    seconds = [look["second"] for look in data["looks"]]
    for axes, kind in zip(rows.flat, ("wal", "history", "checkpoint", "publication")):
        for place, color in enumerate((OURS, OTHER, AIM)):
            axes.plot(seconds, [look["nodes"][place][kind] / 1e6 for look in data["looks"]], color=color, linewidth=1,
                      label=f"node {place + 1}")
        axes.set(title=kind, ylabel="MB", ylim=(0, None))
    for axes in rows[1]:
        axes.set(xlabel="seconds of load")
    rows[0][0].legend(fontsize=8)
    save(figure, plots, "ledger_disk", source)


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    results = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "bench/results"
    plots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "docs/plots"
    plots.mkdir(parents=True, exist_ok=True)
    for plot in (plot_vs_etcd, plot_failover, plot_leases, plot_channel, plot_round_trips, plot_device_step,
                 plot_device_turn, plot_device_locks, plot_ledger_disk):
        plot(results, plots)


if __name__ == "__main__":
    main()
