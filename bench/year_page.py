"""The simulated year as a table in Markdown, and as a plot."""

from __future__ import annotations

import platform
import sqlite3
import statistics
from pathlib import Path
from typing import Any

from bench.year_account import Year

_EVERY = 4


def page(kept: Year, reference: Year | None, *, budget: int, about: str) -> str:
    """The table, every fourth week, and what was asked at the end."""
    head = ["day", "memories", "file, MB", "recall p50, ms", "p95, ms", "found, %", "retention, s a day"]
    head += ["without a budget: memories", "file, MB", "recall p50, ms"] if reference else []
    rows = []
    for index, week in enumerate(kept.weeks):
        if (index + 1) % _EVERY and index + 1 < len(kept.weeks):
            continue
        row = [
            str(week.day), str(week.memories), f"{week.size / 1e6:.1f}", f"{week.recall:.1f}",
            f"{week.slow_recall:.1f}", f"{100 * week.found:.0f}", f"{week.retention / 7:.2f}",
        ]  # fmt: skip
        if reference:
            other = reference.weeks[index]
            row += [str(other.memories), f"{other.size / 1e6:.1f}", f"{other.recall:.1f}"]
        rows.append(row)
    largest = max(week.size for week in kept.weeks) / 1e6
    machine = f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    ends = [f"{_asked(kept)}"] + ([f"without a budget {_asked(reference)}"] if reference else [])
    notes = [
        (
            f"Largest file, with its write-ahead log, after any day: {largest:.1f} MB of {budget / 1e6:g} MB. "
            f"Retention removed {kept.removed} memories."
        ),
        f"Found at the end among the first five answers: {'; '.join(ends)}.",
        (
            "Every day 200 memories (three of four are perceptions with a pose) and ten questions for lessons; found: "
            "share of the week's questions whose lesson was among the first five. Recall: 30 questions at the end of a "
            "week, in process, the shortest of three times each, a third with a text alone, with a filter and with a "
            "distance. Vectors are made of words, not by the model."
        ),
        _beside(kept),
    ]
    lines = [
        f"# A simulated year within {budget / 1e6:g} MB",
        "",
        f"{about}; {machine}, `python3 bench/year.py`.",
        "",
        *_markdown(head, rows),
        "",
        *(f"- {note}" for note in notes),
        "",
    ]
    return "\n".join(lines)


def plot(kept: Year, reference: Year | None, *, budget: int, file: Path) -> bool:
    """Draws size, time and what was found over the days; whether it could."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (size, recall, found) = plt.subplots(3, 1, figsize=(8, 9), sharex=True, layout="constrained")
    runs = [("with the budget", kept, "tab:blue")]
    runs += [("without a budget", reference, "tab:gray")] if reference else []
    for name, year, colour in runs:
        days = [week.day for week in year.weeks]
        size.plot(days, [week.size / 1e6 for week in year.weeks], color=colour, label=name)
        recall.plot(days, [week.recall for week in year.weeks], color=colour, label=f"median, {name}")
        recall.plot(days, [week.slow_recall for week in year.weeks], color=colour, alpha=0.4, linestyle=":")
        found.plot(days, [100 * week.found for week in year.weeks], color=colour, label=name)
    size.axhline(budget / 1e6, color="tab:red", linestyle="--", label="budget")
    size.set_ylabel("file and log, MB")
    recall.set_ylabel("recall, ms (dotted: p95)")
    found.set_ylabel("useful lessons found, %")
    found.set_xlabel("day")
    for axes in (size, recall, found):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left" if axes is recall else "lower right")
    figure.suptitle(f"A simulated year, 200 memories a day, {budget / 1e6:g} MB")
    _save(figure, file)
    return True


def _save(figure: Any, file: Path) -> None:
    figure.savefig(file, dpi=110)


def _asked(year: Year) -> str:
    return (
        f"{_percent(year.useful)} of the lessons that were asked for in the year, {_percent(year.constraints)} of the "
        f"constraints, {_percent(year.unused)} of the lessons that nobody asked for"
    )


def _beside(year: Year) -> str:
    if not year.beside:
        return "Retention never had so much to remove that a recall fell into it."
    more = statistics.median(there - before for before, there in zip(year.alone, year.beside, strict=True))
    beside = f"{statistics.median(year.beside):.1f} ms (median of {len(year.beside)})"
    return (
        f"While retention removes, a recall takes {beside}, "
        f"the same questions just before it {statistics.median(year.alone):.1f} ms; by pairs {more:+.1f} ms."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _markdown(head: list[str], body: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    lines = ["| " + " | ".join(map(str.rjust, row, widths)) + " |" for row in (head, *body)]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return lines
