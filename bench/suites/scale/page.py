"""Put the results of all sizes into one table, and into points for the plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.plot import Panel
from bench.table import markdown
from bench.worlds.site_queries import MEANING, NEAREST, NEAREST_TEXT, SORTS, TEXT_ONLY

Result = dict[str, Any]
_Column = tuple[str, str]
"""World and system."""

NOTES = (
    (
        "Ours is measured in process, the model included. sqlite-vec, Chroma, LanceDB and eMEM search vectors alone: "
        "to their time that of embedding the same query by the same model is added, measured in this process. "
        "robotmem embeds itself."
    ),
    (
        "Varied: scenes with remarks of the 21,000 whole words of the model's vocabulary in natural (Zipf) "
        "frequencies, nearly every text another; the vector of a memory is the unit sum of the model's vectors of its "
        "two parts, since a million texts would take the model an hour. Few words: 300 texts, vectors of the model. "
        "Queries are embedded by the model, and no text comes twice."
    ),
    (
        "recall@10: the share of the ten nearest vectors, by float32 and numpy over all of them, that the vector "
        "search finds; of ours the vector search alone, since recall fuses it with the text search."
    ),
    (
        "Nearest: the true one is found by a scan of all memories; with a text it has the label and the colour. "
        "The peers order by distance the 50 nearest in meaning under the label; eMEM those within five metres, and it "
        "applies its conditions to what it has found by meaning."
    ),
    ("A rare filter keeps 1 memory in 100,000 (at least one), the window 10 minutes of the patrol (1,800 memories)."),
    (
        "Saved a second: repeated descriptions, without a wait for the model; ours into a copy of the database of "
        "that size, on disk when counted. New descriptions: until their vectors are stored too, beside the model's own "
        "rate for batches of as many texts. For the peers: the rate at which they were filled, vectors given."
    ),
    (
        "Storm: the p95 of hybrid recall while another thread saves 1,000 perceptions a second. Start-up: opening the "
        "database, loading the model, the first result; then the words are read into RAM in the background, and the "
        "other queries run when they are there. RSS: of the whole process after all queries, the model and jieba "
        "included. Bytes: the database with its index."
    ),
)
_TIMES = ", p50 / p95 / p99, ms"


def title(results: list[Result]) -> str:
    """Return the title of the page."""
    sizes = _sizes(results)
    return f"From {sizes[0]:,} memories to {sizes[-1]:,}"


def table(results: list[Result]) -> str:
    """Return the table."""
    results_by_system = _by_system(results)
    sizes = _sizes(results)
    columns = list(dict.fromkeys(column for column, _ in results_by_system))
    cells = {key: _cells(outcome, key[1]) for key, outcome in results_by_system.items()}
    rows = []
    for name in dict.fromkeys(name for row in cells.values() for name in row):
        for size in sizes:
            row = [cells[column, size].get(name, "") if (column, size) in cells else None for column in columns]
            if any(row):
                rows.append([name, f"{size:,}", *("not measured" if cell is None else cell for cell in row)])
        sort = name.removesuffix(_TIMES)
        growth = [_growth([results_by_system.get((column, size)) for size in sizes], sort) for column in columns]
        if any(growth):
            rows.append([f"{sort}, growth", f"{sizes[-1]:,} / {sizes[0]:,}", *growth])
    return markdown(["", "memories", *map(_label, columns)], rows)


def panels(results: list[Result]) -> list[Panel]:
    """Return the panels of the plot: for each sort the medians in ms of each system over the sizes."""
    results_by_system = _by_system(results)
    columns = sorted(dict.fromkeys(column for column, _ in results_by_system), key=lambda column: column[1] != "ours")
    return [
        Panel(
            [
                {"x": x, "y": y, "label": _label(column), "color": f"C{index}", "marker": "o"}
                for index, column in enumerate(columns)
                if (points := [
                    (size, _percentile(outcome["sorts"][sort], 50))
                    for (of, size), outcome in results_by_system.items()
                    if of == column and sort in outcome["sorts"]
                ])
                for x, y in [tuple(zip(*points, strict=True))]
            ],
            {"title": sort, "xscale": "log", "yscale": "log", "xlabel": "memories", "ylabel": "p50, ms"},
        )
        for sort in SORTS
        if sort != TEXT_ONLY
    ]  # fmt: skip


def _by_system(results: list[Result]) -> dict[tuple[_Column, int], Result]:
    return {
        ((result["world"], system), result["size"]): outcome
        for result in results
        for system, outcome in result["systems"].items()
    }


def _label(column: _Column) -> str:
    world, system = column
    return f"{system}, {world}" if system == "ours" else system


def _cells(outcome: Result, size: int) -> dict[str, str]:
    sorts = outcome["sorts"]
    cells = {f"{sort}{_TIMES}": _times(outcome, sort) for sort in SORTS}
    for sort, share, name in [
        *((sort, "recall", f"recall@10, {sort}") for sort in MEANING),
        *((sort, "right", f"true results, {sort}") for sort in (NEAREST_TEXT, NEAREST)),
    ]:
        if share in sorts.get(sort, {}):
            cells[name] = f"{sorts[sort][share]:.3f}"
    if "saves_repeated" in outcome:
        cells["saved a second, repeated"] = f"{outcome['saves_repeated']:,.0f}"
    if "saves_new" in outcome:
        idle, storm = 1000 * outcome["p95_idle"], 1000 * outcome["p95_storm"]
        cells |= {
            "saved a second, new / the model's rate": f"{outcome['saves_new']:.0f} / {outcome['model_batch_rate']:.0f}",
            "hybrid recall p95, idle / save storm, ms": f"{idle:.1f} / {storm:.1f}",
            "start-up to first result, s": f"{outcome['start_up']:.1f}",
            "start-up until all words are in RAM, s": f"{outcome['in_ram']:.1f}",
        }
    rss = {"RSS, MB": outcome["rss"] / 1e6} if "rss" in outcome else {}
    disk = {"bytes on disk a memory": outcome["disk"] / size} if "disk" in outcome else {}
    bytes_each = {"bytes of RSS a memory": outcome["rss"] / size} if rss else {}
    return cells | {name: f"{value:,.0f}" for name, value in (rss | disk | bytes_each).items()}


def _growth(of_sizes: list[Result | None], sort: str) -> str:
    first, last = (outcome["sorts"].get(sort) if outcome else None for outcome in (of_sizes[0], of_sizes[-1]))
    if len(of_sizes) < 2 or not (first and last):
        return ""
    return f"{_percentile(last, 50) / _percentile(first, 50):.1f}"


def _times(outcome: Result, sort: str) -> str:
    if "cut_off" in outcome:
        return f"cut off: {outcome['cut_off']}"
    if sort not in outcome["sorts"]:
        return "has none"
    of_sort = outcome["sorts"][sort]
    times = " / ".join(f"{_percentile(of_sort, percent):.1f}" for percent in (50, 95, 99))
    return f"{times} (cut off: {of_sort['cut_off']})" if "cut_off" in of_sort else times


def _percentile(of_sort: Result, percent: float) -> float:
    return float(np.percentile(of_sort["seconds"], percent)) * 1000


def _sizes(results: list[Result]) -> list[int]:
    return sorted({result["size"] for result in results})
