#!/usr/bin/env python3
"""The page that bench/report/comparison.py makes of a raw result, held to a recorded one; and the page of the tree.

Usage: comparison_page_test.py [--write]     --write records what the script gives now.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPT = ROOT / "bench/report/comparison.py"
RECORDED = HERE / "vs"


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)


class ComparisonPage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.results = Path(self.folder.name)
        (source,) = RECORDED.glob("*.json")
        self.name = source.name
        self.data = json.loads(source.read_text(encoding="utf-8"))

    def tearDown(self):
        self.folder.cleanup()

    def page(self, name, data):
        (self.results / name).write_text(json.dumps(data), encoding="utf-8")
        made = run("--results", self.results, "--page", self.results / "page", "--plot", self.results / "plot")
        self.assertEqual(made.returncode, 0, made.stderr)
        return (self.results / "page").read_text(encoding="utf-8")

    def test_the_recorded_result_gives_the_recorded_page_and_plot(self):
        checked = run("--check", "--results", RECORDED, "--page", RECORDED / "page.golden", "--plot", RECORDED / "plot.golden")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_page_of_the_tree_is_what_its_newest_result_gives(self):
        checked = run("--check")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_a_page_that_somebody_edited_is_found(self):
        edited = self.results / "page"
        edited.write_text((RECORDED / "page.golden").read_text(encoding="utf-8") + "faster\n", encoding="utf-8")
        checked = run("--check", "--results", RECORDED, "--page", edited, "--plot", RECORDED / "plot.golden")
        self.assertEqual(checked.returncode, 1)

    def test_every_figure_of_a_quick_run_on_a_busy_machine_says_so(self):
        page = self.page(self.name, {**self.data, "busy_before": 0.9})
        headings = [line for line in page.splitlines() if line.startswith("### ") and not line.endswith("ways")]
        self.assertEqual(len(headings), 3)
        for heading in headings:
            self.assertIn("(quick, busy machine)", heading)
        self.assertIn("(quick, busy machine)", (self.results / "plot").read_text(encoding="utf-8"))

    def test_a_full_run_on_a_quiet_machine_takes_its_place_without_a_label(self):
        self.page(self.name, self.data)
        page = self.page("vs-2026-11-01.json", {**self.data, "quick": False, "busy_before": 0.01, "busy_after": 0.02})
        self.assertIn("bench/results/vs-2026-11-01.json", page)
        self.assertNotIn("quick", page.split("## Repeat it")[0])
        self.assertNotIn("busy machine", page)

    def test_a_peer_that_did_not_run_is_named_with_its_reason(self):
        page = self.page(self.name, {**self.data, "not_run": [{"name": "etcd-3.5", "reason": "no program was given"}]})
        self.assertIn("- etcd-3.5: no program was given", page)

    def test_runs_that_failed_are_counted_and_have_no_figures(self):
        self.data["summary"]["zookeeper"]["many"] = {"failed_runs": 1}
        page = self.page(self.name, self.data)
        self.assertIn("| zookeeper, 1 of 1 runs failed | - | - | - | - | - |", page)

    def test_a_result_of_something_else_is_refused(self):
        for text in ("", "{}", "[]", '{"peers": [{"name": "a"}], "quick": true}'):
            (self.results / self.name).write_text(text, encoding="utf-8")
            made = run("--results", self.results, "--page", self.results / "page", "--plot", self.results / "plot")
            self.assertEqual(made.returncode, 1, text)
            self.assertIn("no result of bench vs", made.stderr)
            self.assertFalse((self.results / "page").exists())

    def test_without_results_nothing_is_made(self):
        self.assertEqual(run("--results", self.results).returncode, 1)


def main():
    if sys.argv[1:] == ["--write"]:
        return run("--results", RECORDED, "--page", RECORDED / "page.golden", "--plot", RECORDED / "plot.golden").returncode
    return unittest.main()


if __name__ == "__main__":
    sys.exit(main())
