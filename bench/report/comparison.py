#!/usr/bin/env python3
"""Makes docs/reference/comparison.md and its plot of the newest raw result of `./gcoord bench vs`.

Usage: comparison.py [--results DIR] [--page FILE] [--plot FILE] [--check]

The newest vs-DATE.json counts; where there is none, the newest vs-quick-DATE.json, and the page then says so at every figure.
--check writes nothing and exits with 1 when page or plot are not what the result gives.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS, OTHER, INK, PALE = "#1b6ca8", "#b0b4ba", "#30343a", "#7a7f87"  # As in plots.py.
BUSY = 0.1  # Others took more than this share of all cores, before the run or after it.


class Unreadable(Exception):
    """A raw result that lacks what the page needs."""


class Result:
    def __init__(self, file):
        self.source = file.name
        try:
            self.data = json.loads(file.read_text(encoding="utf-8"))
            self.names = [peer["name"] for peer in self.data["peers"]]
            self.label = label_of(self.data)
            for name in self.names:
                for shape, _ in self.shapes():
                    self.data["summary"][name][shape]["failed_runs"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{file}: no result of bench vs: {error!r}") from None

    def shapes(self):
        return (("one", "One client, one lock at a time"),
                ("many", f"{self.data['clients']:,} clients, each with a lock of its own"),
                ("pipelined", f"One client with {self.data['pipelined_names']:,} locks under way"))

    def figure(self, name, shape, figure):
        """{"median", "least", "most"}, or None when every run of the peer failed."""
        return self.data["summary"][name][shape].get(figure)


def label_of(data):
    """How the figures must be named where they stand; empty for a full run on a quiet machine."""
    words = ["quick"] if data["quick"] else []
    if max(data["busy_before"], data["busy_after"]) > BUSY:
        words.append("busy machine")
    return ", ".join(words)


def newest(results):
    for pattern in ("vs-????-??-??.json", "vs-quick-????-??-??.json"):
        files = sorted(results.glob(pattern))
        if files:
            return files[-1]
    raise Unreadable(f"{results} has no result of bench vs")


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def spread(figure):
    if figure is None:
        return "-"
    if figure["least"] == figure["most"]:
        return number(figure["median"])
    return f"{number(figure['median'])} ({number(figure['least'])} to {number(figure['most'])})"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(cell(each) for each in row)} |" for row in rows] + [""]


def ratio(result, name, shape):
    """Of the peer's figure to gcoord's: the median of a pair for one client, else the rate."""
    figure = "pair_p50_ms" if shape == "one" else "pairs_per_s"
    ours, theirs = result.figure("gcoord", shape, figure) if "gcoord" in result.names else None, result.figure(name, shape, figure)
    if name == "gcoord" or not ours or not theirs:
        return "-"
    share = theirs["median"] / ours["median"]
    return f"{share:.2f} of its p50" if shape == "one" else f"{share:.2f} of its rate"


def figures(result):
    note = f" ({result.label})" if result.label else ""
    lines = [f"## Figures{note}", ""]
    if result.label:
        lines += [f"**{result.label}: these figures show that everything runs. Do not quote them.** A full run on a quiet machine takes",
                  "their place.", ""]
    lines += [f"![pairs per second and medians of a pair of every peer{note}](../plots/comparison.svg)", "",
              "Medians of the rounds, in brackets the least and the most. A pair is a lock and its unlock, both acknowledged.", ""]
    for shape, title in result.shapes():
        lines += [f"### {title}{note}", ""]
        rows = []
        for name in result.names:
            failed = result.data["summary"][name][shape]["failed_runs"]
            rows.append([f"{name}, {failed} of {result.data['rounds']} runs failed" if failed else name,
                         spread(result.figure(name, shape, "pairs_per_s")), spread(result.figure(name, shape, "pair_p50_ms")),
                         spread(result.figure(name, shape, "pair_p99_ms")), spread(result.figure(name, shape, "lock_p50_ms")),
                         ratio(result, name, shape)])
        lines += table(["peer", "pairs/s", "pair p50, ms", "pair p99, ms", "lock p50, ms", "beside gcoord"], rows)
    return lines


def not_run(result):
    left_out = result.data["not_run"]
    if not left_out:
        return []
    return ["Not run:", ""] + [f"- {each['name']}: {each['reason']}" for each in left_out] + [""]


def promises(result):
    peers = result.data["peers"]
    lines = ["## What each promises", "",
             "A faster answer that promises less is another answer. Redis is here as the floor: one node, no replicas.", ""]
    rows = [["Acknowledged means", *(peer["acknowledged"] for peer in peers)],
            ["Nodes", *(peer["nodes"] for peer in peers)]]
    for what in peers[0]["promises"]:
        rows.append([what, *(peer["promises"].get(what, "-") for peer in peers)])
    return lines + table(["", *(f"{peer['name']} {peer['version']}" for peer in peers)], rows)


def seconds(milliseconds):
    return f"{milliseconds / 1000:g} s"


def method(result):
    data, machine = result.data, result.data["machine"]
    rounds = f"{data['rounds']} rounds" if data["rounds"] > 1 else "one round"
    lines = ["## Method", "",
             f"- Peers run in turn, {' '.join(result.names)}, {rounds}, each time in a fresh cluster on loopback.",
             "- All data lies on one disk. Servers and clients share the same cores"
             + (f" ({data['cores']})." if data["cores"] != "all" else ", all of the machine."),
             f"- Each fresh cluster first serves {seconds(data['settled_ms'])} of load that counts for nothing, so that Java has compiled",
             f"  itself. Each load then warms up for {seconds(data['warm_up_ms'])} and counts for {seconds(data['measured_ms'])}.",
             "- The client of every peer is asynchronous and one process, and the loop that drives it is the same, on one thread",
             "  (bench/load/closed_loop.h). What the client library costs counts, since it shares the cores.",
             f"- gcoord runs with its defaults, and nothing of it is tried. Each other peer is first driven for {seconds(data['tried_ms'])} in every way",
             "  below, for each shape of load, and the best one counts: the shortest median for one client, else the highest rate.",
             "- A run that fails is counted as failed, and its figures as none.", ""]
    lines += table(["machine", ""], [["cores", machine["cores"]], ["CPU", machine["cpu"]], ["memory", f"{machine['memory_gib']} GiB"],
                                     ["kernel", machine["kernel"]],
                                     ["one synced write of 4 KiB, median", f"{machine['synced_write_ms_p50']:.3f} ms"],
                                     ["share of all cores that others took before and after the run", f"{data['busy_before']:.0%}, {data['busy_after']:.0%}"], ["gcoord's commit", machine["commit"]]])
    return lines


def settings(result):
    lines = ["## Settings", ""]
    rows = [[peer["name"], peer["client"], ", ".join(f"`{each}`" for each in peer["settings"])] for peer in result.data["peers"]]
    return lines + table(["peer", "client", "settings"], rows)


def ways(result):
    lines = ["## Ways that were tried", "", "The best, which counts, is bold. Brief runs: they choose, and are no figures.", ""]
    for shape, title in result.shapes():
        figure, unit = ("pair_p50_ms", "pair p50, ms") if shape == "one" else ("pairs_per_s", "pairs/s")
        rows = []
        for peer in result.data["peers"]:
            chosen = peer["ways"][shape]["best"]
            for tried in peer["ways"][shape]["tried"]:
                text = f"**{tried['way']}**" if tried["way"] == chosen else tried["way"]
                rows.append([peer["name"], text, number(tried[figure]) if figure in tried else f"failed: {tried['failed']}"])
        lines += [f"### {title}: ways", ""] + table(["peer", "way", unit], rows)
    return lines


def page_of(result):
    lines = ["# gcoord beside others", "",
             f"<!-- Made by bench/report/comparison.py of bench/results/{result.source}; do not edit it by hand. -->", "",
             "Locks of gcoord, etcd, ZooKeeper and Redis on one machine, by `./gcoord bench vs`: the same loop of clients, the same disk, the",
             "same cores, in turn. The raw result has every run, every way that was tried, and the settings:",
             f"`bench/results/{result.source}`.", ""]
    lines += figures(result) + not_run(result) + promises(result) + method(result) + settings(result) + ways(result)
    lines += ["## Repeat it", "", "<!-- not run: takes over twenty minutes and needs a quiet machine -->", "```sh",
              "./gcoord bench vs --runs 5 --cores 0,1   # --quick: a minute or two; --peers gcoord,etcd-3.4", "bench/report/comparison.py",
              "```", "",
              "The first installs the packages of kind `bench` (deploy/debian-packages.txt) and fetches etcd 3.5 from Debian 13 into build/",
              "(deploy/etcd35.sh); `--etcd35 PATH` names another one."]
    return "\n".join(lines) + "\n"


# ---- the plot ---------------------------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, ROW, HEAD = 820, 130, 150, 22, 34


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label(at, text, size=11, color=INK, anchor="start"):
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}">{escaped(text)}</text>'


def bar(result, name, figure, top, most):
    """A bar to the median, and a line from the least to the most."""
    parts = [label((LEFT - 8, top + 15), name, anchor="end")]
    if figure is None:
        return parts + [label((LEFT, top + 15), "failed", color=PALE)]
    x = lambda value: LEFT + (WIDTH - LEFT - RIGHT) * value / most
    color = OURS if name == "gcoord" else OTHER
    parts.append(f'<rect x="{LEFT}" y="{top + 3}" width="{x(figure["median"]) - LEFT:.1f}" height="{ROW - 7}" fill="{color}"/>')
    if figure["least"] != figure["most"]:
        parts.append(f'<line x1="{x(figure["least"]):.1f}" x2="{x(figure["most"]):.1f}" y1="{top + 10.5}" y2="{top + 10.5}" stroke="{INK}"/>')
    return parts + [label((x(figure["most"]) + 6, top + 15), number(figure["median"]))]


def panel(result, top, shape, title):
    key, unit = ("pair_p50_ms", "median of a pair in ms, less is better") if shape == "one" else ("pairs_per_s", "pairs/s")
    note = f" ({result.label})" if result.label else ""
    parts = [label((10, top + 20), f"{title}: {unit}{note}", size=12)]
    measured = [result.figure(name, shape, key) for name in result.names]
    most = max((figure["most"] for figure in measured if figure), default=1) or 1
    for row, (name, figure) in enumerate(zip(result.names, measured)):
        parts += bar(result, name, figure, top + HEAD + row * ROW, most)
    return parts


def plot_of(result):
    each = HEAD + ROW * len(result.names) + 12
    height = each * 3 + 18
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    for place, (shape, title) in enumerate(result.shapes()):
        parts += panel(result, place * each, shape, title)
    parts.append(label((WIDTH - 5, height - 6), f"bench/results/{result.source}", size=8, color=PALE, anchor="end"))
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/reference/comparison.md")
    parser.add_argument("--plot", type=Path, default=ROOT / "docs/plots/comparison.svg")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when page or plot are out of date")
    options = parser.parse_args()
    try:
        result = Result(newest(options.results))
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 1
    status = 0
    for file, text in ((options.page, page_of(result)), (options.plot, plot_of(result))):
        if not options.check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{file} is not what {result.source} gives: run bench/report/comparison.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
