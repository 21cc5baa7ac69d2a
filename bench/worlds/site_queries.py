"""Make queries on a site of any size, by sort, and find their true results by a scan of all memories."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.worlds.house import COLOURS, ROOMS, THINGS
from bench.worlds.site import (
    AREA,
    FEW_WORDS,
    NUMBERED_ROOMS,
    PERIOD,
    ROBOTS,
    START,
    TEMPLATED,
    VARIED,
    YEAR,
    Parts,
    SiteMemory,
    memories,
    naming,
)  # fmt: skip

HYBRID, FEW_PERCENT, RARE, WINDOW = "hybrid recall", "with a 5 % filter", "with a 1-in-100,000 filter", "time window"
NEAREST_TEXT, NEAREST = "nearest object with label and text", "nearest object without text"
IN_ROOM, COLOURED = '"mug in room 12"', '"red mug"'
_ALL = (HYBRID, FEW_PERCENT, RARE, WINDOW, NEAREST_TEXT, NEAREST)
SORTS = {VARIED: _ALL, FEW_WORDS: _ALL, TEMPLATED: (IN_ROOM, COLOURED), YEAR: (HYBRID, NEAREST)}
"""The sorts of each world."""
MEANING = (HYBRID, FEW_PERCENT, RARE, WINDOW, IN_ROOM, COLOURED)
"""The sorts whose ten nearest vectors are compared with the exact ones."""
WARM_UP = 10
"""The first queries of each sort, which do not count."""
SEED = 3
Columns = dict[str, npt.NDArray[Any]]
_WINDOW = 600.0
_FORMS = (
    "where is the {} {} in the {}", "what happened with the {} {} in the {}", "{} {} near the door of the {}",
    "did you see a {} {} when you were in the {}", "the {} {} that was in the {}", "which {} {} stood in the {}",
)  # fmt: skip
_TAILS = (
    "", "yesterday", "this morning", "before lunch", "after the patrol", "while it rained", "last time", "at night",
)  # fmt: skip


@dataclass(frozen=True)
class SiteQuery:
    """One query; None is no condition. Times in seconds."""

    sort: str
    text: str = ""
    robot: str | None = None
    task: str | None = None
    label: str | None = None
    after: float | None = None
    before: float | None = None
    target: tuple[float, float] | None = None
    colour: str | None = None
    """What the nearest one must be besides its label; one of the words of the text."""
    phrase: str = ""
    """Words that stand in the true results just so."""

    def json(self) -> dict[str, Any]:
        """Return the query for another process."""
        return asdict(self)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of RobotMemory.recall()."""
        fields = {"robot.id": self.robot, "task.id": self.task, "label": self.label}
        conditions = {path: value for path, value in fields.items() if value is not None}
        return {
            "query": self.text,
            "n": 10,
            "context_filter": conditions or None,
            "spatial_sort": {"field": "position", "target": list(self.target)} if self.target else None,
            "after": None if self.after is None else int(self.after * 1e9),
            "before": None if self.before is None else int(self.before * 1e9),
        }


def make_queries(world: str, count: int, size: int, seed: int) -> dict[str, list[SiteQuery]]:
    """Make queries of each sort of a world of a size. No text comes twice, so that every one is embedded."""
    dice = random.Random(seed)
    if world == TEMPLATED:
        return _templated_queries(count, dice)
    texts = _texts(world, dice)
    things, colours = (THINGS[:10], COLOURS[:5]) if world == FEW_WORDS else (THINGS, COLOURS)
    tasks = -(-size // max(1, size // 100_000))
    queries: dict[str, list[SiteQuery]] = {sort: [] for sort in _ALL}
    for _ in range(count):
        after = START + dice.uniform(0, max(1.0, size * PERIOD - _WINDOW))
        thing, colour = dice.choice(things), dice.choice(colours)
        queries[HYBRID].append(SiteQuery(HYBRID, next(texts)))
        queries[FEW_PERCENT].append(SiteQuery(FEW_PERCENT, next(texts), robot=f"r{dice.randrange(ROBOTS)}"))
        queries[RARE].append(SiteQuery(RARE, next(texts), task=f"t{dice.randrange(tasks)}"))
        queries[WINDOW].append(SiteQuery(WINDOW, next(texts), after=after, before=after + _WINDOW))
        queries[NEAREST].append(SiteQuery(NEAREST, target=_place(dice)))
        queries[NEAREST_TEXT].append(
            SiteQuery(NEAREST_TEXT, f"{colour} {thing}", label=thing, colour=colour, target=_place(dice))
        )
    return queries


def columns(parts: Parts, size: int) -> Columns:
    """Return a world of a size as columns for numpy, by name; row i is the memory i. A colour tells who names it."""
    rows = zip(*(memory[1:] for memory in memories(parts, size)), strict=True)
    table = {name: np.array(column) for name, column in zip(SiteMemory._fields[1:], rows, strict=True)}
    # A remark may name another colour than the scene.
    return table | {colour: naming(parts, size, colour) for colour in COLOURS}


def matching_rows(table: Columns, query: SiteQuery) -> npt.NDArray[np.int64]:
    """Return the rows that satisfy the conditions of a query, and name its colour if it has one."""
    mask = np.ones(len(table["stamp"]), bool)
    for name in ("robot", "task", "label"):
        if (value := getattr(query, name)) is not None:
            mask &= table[name] == value
    if query.colour is not None:
        mask &= table[query.colour]
    if query.after is not None and query.before is not None:
        mask &= (table["stamp"] >= query.after) & (table["stamp"] < query.before)
    return np.flatnonzero(mask)


def nearest_row(table: Columns, query: SiteQuery) -> int:
    """Return the row that is the true result of a query for the nearest."""
    rows = matching_rows(table, query)
    away = table["position"][rows] - np.array(query.target)
    return int(rows[np.argmin(np.einsum("ij,ij->i", away, away))])


def _templated_queries(count: int, dice: random.Random) -> dict[str, list[SiteQuery]]:
    rooms = [(thing, room) for thing in THINGS for room in NUMBERED_ROOMS]
    coloured = [(article, colour, thing) for article in ("", "a ", "the ") for colour in COLOURS for thing in THINGS]
    return {
        IN_ROOM: [
            SiteQuery(IN_ROOM, f"{thing} in room {room}", phrase=f" {thing} stood in room {room} ")
            for thing, room in dice.sample(rooms, count)
        ],
        COLOURED: [
            SiteQuery(COLOURED, f"{article}{colour} {thing}", phrase=f" {colour} {thing} ")
            for article, colour, thing in dice.sample(coloured, count)
        ],
    }


def _place(dice: random.Random) -> tuple[float, float]:
    return round(dice.uniform(0, AREA[0]), 3), round(dice.uniform(0, AREA[1]), 3)


def _texts(world: str, dice: random.Random) -> Iterator[str]:
    things, colours, rooms = (THINGS[:10], COLOURS[:5], ROOMS[:6]) if world == FEW_WORDS else (THINGS, COLOURS, ROOMS)
    texts: set[str] = set()
    while True:
        form, tail = dice.choice(_FORMS), dice.choice(_TAILS)
        text = f"{form.format(dice.choice(colours), dice.choice(things), dice.choice(rooms))} {tail}".strip()
        if text not in texts:
            texts.add(text)
            yield text
