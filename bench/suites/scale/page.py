"""Put the results of all sizes into a table for each world, and into points for the plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.plot import Panel
from bench.table import markdown
from bench.worlds.site import VARIED
from bench.worlds.site_queries import NEAREST

Result = dict[str, Any]
_OWN = "ours"
BUSY = 8
"""Busy programs beside the systems."""
_LOADS = {"quiet": "p50 / p95, ms", "loaded": "a core taken", "crowded": f"{BUSY} busy programs beside"}

NOTES = (
    (
        "Each system runs in a process. All are queried in turns, ten queries each: quiet, with a program beside them "
        f"that computes without a pause on one core, and with {BUSY} of these. Ours embeds the queries itself. To the "
        "time of the others that of embedding the same query by the same model is added, which the suite measures just "
        "before."
    ),
    (
        "zvec, Qdrant Edge and LanceDB search words and vectors in one query, and fuse the ranks; eMEM, Chroma and "
        "sqlite-vec search vectors alone. All have indexes of the conditions but eMEM, which applies them to what it "
        "has found by meaning, and sqlite-vec, which compares all vectors. zvec has int8 vectors and the parameters of "
        "the example in its documentation, LanceDB an ef of 300; all else is as they come. They return ids alone, and "
        "ours whole memories with evidence."
    ),
    "ours / best: the median beside that of the quickest other system.",
    (
        "Varied: scenes with remarks of the whole words of the model's vocabulary in natural (Zipf) "
        "frequencies, nearly every text another; the vector of a memory is the unit sum of the model's vectors of its "
        "two parts, since a million texts would take the model an hour. Few words: 300 texts, vectors of the model. "
        'Templated: "a red mug stood in room 12 beside thing 4711", queried by "mug in room 12" and "red mug" with '
        "other things, rooms and colours. Queries are embedded by the model, and no text comes twice."
    ),
    (
        "A year: the varied memories spread over 365 days. With a decay of 1 % a day those of the last 109 days are "
        "above the minimum confidence, with 90 % none; beside that memory without decay."
    ),
    (
        "recall@10: the share of the ten nearest vectors, by float32 and numpy over all of them, that the vector "
        "search alone finds, of all systems."
    ),
    (
        "True results: the nearest is found by a scan of all memories; with a text it has the label and the colour. "
        "The others order by distance the 50 best under the label; eMEM those within five metres. In the templated "
        "world it is the share of the first ten whose text has the thing and the room, or the colour and the thing."
    ),
    "A rare filter keeps 1 memory in 100,000 (at least one), the window 10 minutes of the patrol (1,800 memories).",
    (
        "Filled a second: rows with vectors, with all indexes built; ours: repeated descriptions into a copy of the "
        "database of that size, on disk when counted. New descriptions: until their vectors are stored too, beside the "
        "model's own rate for batches of as many texts."
    ),
    (
        "Storm: the p95 of recall while another thread saves 1,000 perceptions a second. Start-up: opening the "
        "database, loading the model, the first result; then the words are read into RAM in the background, and the "
        "queries run when they are there. RSS: of the whole process after a sort of queries, that of ours with the "
        "model."
    ),
)


def title(results: list[Result]) -> str:
    """Return the title of the page."""
    sizes = sorted({result["size"] for result in results})
    return f"From {sizes[0]:,} memories to {sizes[-1]:,}"


def tables(results: list[Result]) -> str:
    """Return the tables, one for each world."""
    worlds = dict.fromkeys(result["world"] for result in results)
    return "\n\n".join(
        f"## {world.capitalize()}\n\n{_table([result for result in results if result['world'] == world])}"
        for world in worlds
    )


def panels(results: list[Result]) -> list[Panel]:
    """Return the panels of the plot: for each sort of the varied world the quiet medians over the sizes."""
    varied = [result for result in results if result["world"] == VARIED]
    return [
        Panel(
            [
                {"x": x, "y": y, "label": name, "color": f"C{index}", "marker": "o"}
                for index, name in enumerate(_names(varied))
                if (points := [
                    (result["size"], _percentile(measures, 50))
                    for result in varied
                    if (measures := _of_sort(result, name, sort))
                ])
                for x, y in [tuple(zip(*points, strict=True))]
            ],
            {"title": sort, "xscale": "log", "yscale": "log", "xlabel": "memories", "ylabel": "p50, ms"},
        )
        for sort in _sorts(varied)
        if sort != NEAREST
    ]  # fmt: skip


def _table(results: list[Result]) -> str:
    names = _names(results)
    rows = []
    for sort in _sorts(results):
        for result in results:
            of_names = [_of_sort(result, name, sort) for name in names]
            size = f"{result['size']:,}"
            for load, name in _LOADS.items():
                times = [_times(measures, load) for measures in of_names]
                rows.append([f"{sort}, {name}", size, *times, _ratio(names, of_names, load)])
            for share, name in (("recall", "recall@10"), ("right", "true results")):
                shares = [_share(measures, share) for measures in of_names]
                if any(shares):
                    rows.append([f"{sort}, {name}", size, *shares, ""])
    cells_by_result = [[_other_cells(result, name) for name in names] for result in results]
    for row in dict.fromkeys(row for cells in cells_by_result for of_name in cells for row in of_name):
        for result, cells in zip(results, cells_by_result, strict=True):
            rows.append([row, f"{result['size']:,}", *(of_name.get(row, "") for of_name in cells), ""])
    has_peers = any(name.partition(",")[0] != _OWN for name in names)
    head = ["", "memories", *names, "ours / best"]
    return markdown(head, rows) if has_peers else markdown(head[:-1], [row[:-1] for row in rows])


def _names(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(name for result in results for name in result["systems"]))


def _sorts(results: list[Result]) -> list[str]:
    systems = [measures for result in results for measures in result["systems"].values()]
    return list(dict.fromkeys(sort for measures in systems for sort in measures.get("sorts", {})))


def _of_sort(result: Result, name: str, sort: str) -> Result | None:
    of_sort: Result | None = result["systems"].get(name, {}).get("sorts", {}).get(sort)
    return of_sort


def _times(measures: Result | None, load: str) -> str:
    if measures is None:
        return "has none"
    return " / ".join(f"{_percentile(measures, percent, load):.1f}" for percent in (50, 95))


def _ratio(names: list[str], of_names: list[Result | None], load: str) -> str:
    medians = {
        name: _percentile(measures, 50, load)
        for name, measures in zip(names, of_names, strict=True)
        if measures is not None
    }
    own = medians.pop(_OWN, None)
    return f"{own / min(medians.values()):.1f}" if own and medians else ""


def _share(measures: Result | None, name: str) -> str:
    return "" if measures is None or measures[name] is None else f"{measures[name]:.3f}"


def _percentile(measures: Result, percent: float, load: str = "quiet") -> float:
    return float(np.percentile(measures[load], percent)) * 1000


def _other_cells(result: Result, name: str) -> dict[str, str]:
    measures, size = result["systems"].get(name, {}), result["size"]
    cells = {"filled a second": measures["cut_off"]} if "cut_off" in measures else {}
    if "saved" in measures:
        cells["filled a second"] = f"{measures['saved']:,.0f}"
    if "saved_new" in measures:
        idle, storm = 1000 * measures["p95_idle"], 1000 * measures["p95_storm"]
        cells |= {
            "new saved a second / the model's rate": f"{measures['saved_new']:.0f} / {measures['model_rate']:.0f}",
            "recall p95, idle / save storm, ms": f"{idle:.1f} / {storm:.1f}",
        }
    if "start_up" in measures:
        cells["start-up / all words in RAM, s"] = f"{measures['start_up']:.1f} / {measures['in_ram']:.1f}"
    if "sorts" in measures:
        rss = max(of_sort["rss"] for of_sort in measures["sorts"].values())
        cells |= {"RSS, MB": f"{rss / 1e6:,.0f}", "bytes of RSS a memory": f"{rss / size:,.0f}"}
    if "disk" in measures:
        cells["bytes on disk a memory"] = f"{measures['disk'] / size:,.0f}"
    return cells
