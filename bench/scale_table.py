"""The results of all sizes as one table in Markdown, and as points for the plot."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.markdown import markdown
from bench.scale_questions import FEW_PERCENT, HYBRID, NEAREST, NEAREST_TEXT, RARE, SORTS

Result = dict[str, Any]
Value = Callable[[Result], str]

NOTES = (
    (
        "Ours is asked in process, the model included. sqlite-vec, Chroma and LanceDB search vectors alone: to their "
        "time that of embedding the same question by the same model is added, measured in this process. robotmem "
        "embeds itself."
    ),
    (
        "Varied: scenes with remarks of the 21,000 whole words of the model's vocabulary in natural (Zipf) "
        "frequencies, nearly every text another; the vector of a memory is the unit sum of the model's vectors of its "
        "two parts, since a million texts would take the model an hour. Few words: 300 texts, vectors of the model. "
        "Questions are embedded by the model, and no text of a question comes twice."
    ),
    (
        "recall@10: the share of the ten nearest vectors, by float32 and numpy over all of them, that the vector "
        "search finds; of ours the vector stage alone, since recall fuses it with the text."
    ),
    (
        "Nearest: true is the one that a scan over all memories names; of label and colour, where there is a text. "
        "The peers order by distance the 50 nearest in meaning under the label."
    ),
    ("A rare filter keeps 1 memory in 100,000 (at least one), the window 10 minutes of the patrol (1,800 memories)."),
    (
        "Saved a second: repeated descriptions, without a wait for the model; ours into a copy of the database of "
        "that size, on disk when counted. New descriptions: until their vectors are kept too, beside the model's own "
        "rate for batches of as many texts. Of the peers the rate at which they were filled, vectors given."
    ),
    (
        "Storm: the p95 of hybrid recall while another thread saves 1,000 perceptions a second. Start-up: opening the "
        "database, loading the model, the first answer; then the words are read into RAM in the background, and the "
        "other questions are asked when they are there. RSS: of the whole process after all questions, the model and "
        "jieba included. Bytes: the database with its index."
    ),
)
_TIMES = ", p50 / p95 / p99, ms"


def page(run: Result) -> str:
    """The whole page."""
    head = f"{run['when']}, {os.cpu_count()} cores ({platform.machine()}), load average {run['load']}."
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, numpy {np.__version__}."
    lines = [
        f"# From {_sizes(run)[0]:,} memories to {_sizes(run)[-1]:,}",
        "",
        f"{head} {versions}",
        "",
        *_table(run),
        "",
    ]
    return "\n".join([*lines, *(f"- {note}" for note in NOTES), ""])


def points(run: Result) -> list[Result]:
    """For the plot: of each system, world, size and sort the median in ms."""
    return [
        {"system": system, "world": result["world"], "size": result["size"], "sort": sort, "p50": _percentile(told, 50)}
        for result in run["results"]
        for system, answers in result["systems"].items()
        for sort, told in answers["sorts"].items()
    ]


def _table(run: Result) -> list[str]:
    columns = [
        (world, system)
        for world in dict.fromkeys(result["world"] for result in run["results"])
        for system in dict.fromkeys(
            name for result in run["results"] if result["world"] == world for name in result["systems"]
        )
    ]
    heads = [f"{system}, {world}" if system == "ours" else system for world, system in columns]
    body = []
    for name, value in _measures():
        for size in _sizes(run):
            cells = [_cell(run, world, system, size, value) for world, system in columns]
            if any(cell not in ("", "not asked") for cell in cells):
                body.append([name, f"{size:,}", *cells])
        growth = [_growth(run, world, system, name) for world, system in columns]
        if any(growth):
            body.append([f"{name.removesuffix(_TIMES)}, growth", f"{_sizes(run)[-1]:,} / {_sizes(run)[0]:,}", *growth])
    return markdown(["", "memories", *heads], body)


def _measures() -> Iterator[tuple[str, Value]]:
    for sort in SORTS:
        yield f"{sort}{_TIMES}", lambda system, sort=sort: _times(system, sort)  # type: ignore[misc]
    for sort in (HYBRID, FEW_PERCENT, RARE):
        yield f"recall@10, {sort}", lambda system, sort=sort: _share(system, sort, "recall")  # type: ignore[misc]
    for sort in (NEAREST_TEXT, NEAREST):
        yield f"true answers, {sort}", lambda system, sort=sort: _share(system, sort, "right")  # type: ignore[misc]
    yield "saved a second, repeated", lambda system: _number(system, "saves_repeated", "{:,.0f}")
    yield "saved a second, new / the model's rate", _new_saves
    yield "hybrid recall p95, idle / save storm, ms", _storm
    yield "start-up to first answer, s", lambda system: _number(system, "start_up", "{:.1f}")
    yield "start-up until all words are in RAM, s", lambda system: _number(system, "in_ram", "{:.1f}")
    yield "RSS, MB", lambda system: _number(system, "rss", "{:,.0f}", 1e-6)
    yield "bytes on disk a memory", lambda system: _number(system, "disk_each", "{:,.0f}")
    yield "bytes of RSS a memory", lambda system: _number(system, "rss_each", "{:,.0f}")


def _cell(run: Result, world: str, system: str, size: int, value: Value) -> str:
    for result in run["results"]:
        if (result["world"], result["size"]) == (world, size):
            if system not in result["systems"]:
                return "not asked"
            told = result["systems"][system]
            each = {f"{name}_each": told[name] / size for name in ("disk", "rss") if name in told}
            return value({**told, **each})
    return ""


def _growth(run: Result, world: str, system: str, name: str) -> str:
    sort = name.partition(", p50")[0]
    sizes = _sizes(run)
    found = {
        result["size"]: _percentile(result["systems"][system]["sorts"][sort], 50)
        for result in run["results"]
        if result["world"] == world and sort in result["systems"].get(system, {"sorts": {}})["sorts"]
    }
    if len(sizes) < 2 or not {sizes[0], sizes[-1]} <= found.keys():
        return ""
    return f"{found[sizes[-1]] / found[sizes[0]]:.1f}"


def _times(system: Result, sort: str) -> str:
    if "cut_off" in system:
        return f"cut off: {system['cut_off']}"
    told = system["sorts"].get(sort)
    if told is None:
        return "has none"
    times = " / ".join(f"{_percentile(told, percent):.1f}" for percent in (50, 95, 99))
    return f"{times} (cut off: {told['cut_off']})" if "cut_off" in told else times


def _share(system: Result, sort: str, what: str) -> str:
    share = system["sorts"].get(sort, {}).get(what)
    return "" if share is None else f"{share:.3f}"


def _number(system: Result, name: str, form: str, factor: float = 1.0) -> str:
    return form.format(system[name] * factor) if name in system else ""


def _new_saves(system: Result) -> str:
    return f"{system['saves_new']:.0f} / {system['model_batch_rate']:.0f}" if "saves_new" in system else ""


def _storm(system: Result) -> str:
    if "p95_storm" not in system:
        return ""
    return f"{1000 * system['p95_idle']:.1f} / {1000 * system['p95_storm']:.1f}"


def _percentile(told: Result, percent: float) -> float:
    return float(np.percentile(told["seconds"], percent)) * 1000


def _sizes(run: Result) -> list[int]:
    return sorted({result["size"] for result in run["results"]})
