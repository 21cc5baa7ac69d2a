"""Simulate a year of a robot whose memory has a budget, beside the same year without one.

Each day of an accelerated clock brings 200 memories and ten queries; every week the time of a recall is measured, with
a text, with a filter and with a distance, and every day while retention deletes. At the end everything is queried that
was needed in the year, the constraints, and what was never needed. Writes a table, and a plot if matplotlib is
installed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.options import add_results
from bench.plot import plot
from bench.report import Report
from bench.suites.year import page
from bench.suites.year.life import live
from bench.worlds.year import make_year

_SEED = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=365, help="days to simulate")
    parser.add_argument("--megabytes", type=float, default=100.0, help="the budget")
    parser.add_argument("--no-reference", action="store_true", help="leave out the year without a budget")
    add_results(parser)


def run(options: argparse.Namespace) -> None:
    report = Report(options.results, "year")
    days = make_year(options.days, _SEED)
    budget = round(options.megabytes * 1e6)
    with tempfile.TemporaryDirectory(prefix="robotmem-year-") as folder:
        print(f"a year within {options.megabytes:g} MB", flush=True)
        budgeted = live(days, Path(folder) / "budget.db", budget)
        reference = None
        if not options.no_reference:
            print("the same without a budget", flush=True)
            reference = live(days, Path(folder) / "reference.db", 0)
    title = f"A simulated year within {options.megabytes:g} MB"
    report.write(title, page.table(budgeted, reference), page.notes(budgeted, reference, budget))
    if not plot(page.panels(budgeted, reference, budget), 1, report.file(".png")):
        print("no plot: matplotlib is not installed")
