"""Put a simulated year into a table, with notes on how to read it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from bench.plot import Panel
from bench.suites.year.life import Week, Year
from bench.table import markdown

_HEAD = ["day", "memories", "file, MB", "recall p50, ms", "p95, ms", "found, %", "retention, s a day"]
_REFERENCE_HEAD = ["without a budget: memories", "file, MB", "recall p50, ms"]
_STRIDE = 4


def table(year: Year, reference: Year | None) -> str:
    """Return the table, every fourth week and the last one."""
    rows = []
    for index, week in enumerate(year.weeks):
        if (index + 1) % _STRIDE and index + 1 < len(year.weeks):
            continue
        row = [
            str(week.day), str(week.memories), f"{week.size / 1e6:.1f}", f"{week.recall:.1f}",
            f"{week.slow_recall:.1f}", f"{100 * week.hit_rate:.0f}", f"{week.retention / 7:.2f}",
        ]  # fmt: skip
        if reference:
            reference_week = reference.weeks[index]
            row += [str(reference_week.memories), f"{reference_week.size / 1e6:.1f}", f"{reference_week.recall:.1f}"]
        rows.append(row)
    return markdown([*_HEAD, *(_REFERENCE_HEAD if reference else [])], rows)


def notes(year: Year, reference: Year | None, budget: int) -> list[str]:
    """Return how to read the table, and what was found at the end."""
    largest = max(week.size for week in year.weeks) / 1e6
    ends = [_hits_text(year)] + ([f"without a budget {_hits_text(reference)}"] if reference else [])
    return [
        (
            f"Largest file, with its write-ahead log, after any day: {largest:.1f} MB of {budget / 1e6:g} MB. "
            f"Retention deleted {year.removed_count} memories."
        ),
        f"Found at the end among the first five results: {'; '.join(ends)}.",
        (
            "Every day 200 memories (three of four are perceptions with a pose) and ten queries for facts; found: "
            "share of the week's queries whose fact was among the first five. Recall: 30 queries at the end of a "
            "week, in process, the shortest of three times each, a third with a text alone, with a filter and with a "
            "distance. Vectors are made of words, not by the model."
        ),
        _beside(year),
    ]


def panels(year: Year, reference: Year | None, budget: int) -> list[Panel]:
    """Return the panels of the plot: size, times and what was found over the days."""
    years = [("with the budget", year, "C0"), *([("without a budget", reference, "C7")] if reference else [])]

    def lines(value: Callable[[Week], float], suffix: str = "", **style: Any) -> list[dict[str, Any]]:
        return [
            {
                "x": [week.day for week in year.weeks], "y": [value(week) for week in year.weeks],
                "label": f"{suffix}{name}", "color": colour, **style,
            }
            for name, year, colour in years
        ]  # fmt: skip

    axes = {"xlabel": "day", "ylim": [0, None]}
    limit = {"x": [0, year.weeks[-1].day], "y": [budget / 1e6] * 2, "label": "budget", "color": "C3"}
    times = lines(lambda week: week.recall, "median, ") + lines(lambda week: week.slow_recall, "p95, ", linestyle=":")
    return [
        Panel([*lines(lambda week: week.size / 1e6), limit], {"ylabel": "file and log, MB", **axes}),
        Panel(times, {"ylabel": "recall, ms", **axes}),
        Panel(lines(lambda week: 100 * week.hit_rate), {"ylabel": "useful facts found, %", **axes}),
    ]


def _hits_text(year: Year) -> str:
    return (
        f"{_percent(year.useful)} of the facts that were queried in the year, {_percent(year.constraints)} of the "
        f"constraints, {_percent(year.unused)} of the facts that were never queried"
    )


def _beside(year: Year) -> str:
    if not year.beside:
        return "Retention never had so much to delete that a recall fell into it."
    excess = statistics.median(beside - before for before, beside in zip(year.alone, year.beside, strict=True))
    beside = f"{statistics.median(year.beside):.1f} ms (median of {len(year.beside)})"
    return (
        f"While retention deletes, a recall takes {beside}, "
        f"the same queries just before it {statistics.median(year.alone):.1f} ms; by pairs {excess:+.1f} ms."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
