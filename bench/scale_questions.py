"""Questions to a world of any size, by sort, and their true answers, found by going through all memories."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.scale_world import AREA, FEW_WORDS, PERIOD, ROBOTS, START, Parts, holding, memories
from bench.world import COLOURS, ROOMS, THINGS

HYBRID, FEW_PERCENT, RARE, WINDOW = "hybrid recall", "with a 5 % filter", "with a 1-in-100,000 filter", "time window"
NEAREST_TEXT, NEAREST, TEXT_ONLY = "nearest object with label and text", "nearest object without text", "text only"
SORTS = (HYBRID, FEW_PERCENT, RARE, NEAREST_TEXT, NEAREST, WINDOW, TEXT_ONLY)
WINDOW_SECONDS = 600.0
_FORMS = (
    "where is the {} {} in the {}", "what happened with the {} {} in the {}", "{} {} near the door of the {}",
    "did you see a {} {} when you were in the {}", "the {} {} that was in the {}", "which {} {} stood in the {}",
)  # fmt: skip
_TAILS = (
    "",
    "yesterday",
    "this morning",
    "before lunch",
    "after the patrol",
    "while it rained",
    "last time",
    "at night",
)


@dataclass(frozen=True)
class ScaleQuestion:
    """One question; conditions that are None are not asked for. Times in seconds."""

    sort: str
    query: str = ""
    robot: str | None = None
    task: str | None = None
    label: str | None = None
    after: float | None = None
    before: float | None = None
    target: tuple[float, float] | None = None
    colour: str | None = None
    """What the nearest one must be, beside its label; part of the query's words."""

    def json(self) -> dict[str, Any]:
        """As it goes to another process."""
        return asdict(self)

    def recall(self) -> dict[str, Any]:
        """As arguments of RobotMemory.recall()."""
        given = {"robot.id": self.robot, "task.id": self.task, "label": self.label}
        conditions = {path: value for path, value in given.items() if value is not None}
        return {
            "query": self.query,
            "n": 10,
            "context_filter": conditions or None,
            "spatial_sort": {"field": "position", "target": list(self.target)} if self.target else None,
            "after": None if self.after is None else int(self.after * 1e9),
            "before": None if self.before is None else int(self.before * 1e9),
        }


def questions(world: str, count: int, size: int, seed: int) -> dict[str, list[ScaleQuestion]]:
    """So many questions of each sort to a world of a size. No text comes twice, so that every one is embedded."""
    dice = random.Random(seed)
    texts = _texts(world, dice)
    things, colours = (THINGS[:10], COLOURS[:5]) if world == FEW_WORDS else (THINGS, COLOURS)
    tasks = -(-size // max(1, size // 100_000))
    asked: dict[str, list[ScaleQuestion]] = {sort: [] for sort in SORTS}
    for _ in range(count):
        after = START + dice.uniform(0, max(1.0, size * PERIOD - WINDOW_SECONDS))
        thing, colour = dice.choice(things), dice.choice(colours)
        asked[HYBRID].append(ScaleQuestion(HYBRID, next(texts)))
        asked[FEW_PERCENT].append(ScaleQuestion(FEW_PERCENT, next(texts), robot=f"r{dice.randrange(ROBOTS)}"))
        asked[RARE].append(ScaleQuestion(RARE, next(texts), task=f"t{dice.randrange(tasks)}"))
        asked[WINDOW].append(ScaleQuestion(WINDOW, next(texts), after=after, before=after + WINDOW_SECONDS))
        asked[TEXT_ONLY].append(ScaleQuestion(TEXT_ONLY, next(texts)))
        asked[NEAREST].append(ScaleQuestion(NEAREST, target=_place(dice)))
        asked[NEAREST_TEXT].append(
            ScaleQuestion(NEAREST_TEXT, f"{colour} {thing}", label=thing, colour=colour, target=_place(dice))
        )
    return asked


class Columns(NamedTuple):
    """A world as columns, to be gone through by numpy; row i is the memory i."""

    labels: npt.NDArray[np.str_]
    colours: dict[str, npt.NDArray[np.bool_]]
    """Of each colour the rows whose texts name it; a remark may name another one than the scene."""
    places: npt.NDArray[np.float64]
    stamps: npt.NDArray[np.float64]
    robots: npt.NDArray[np.int32]
    tasks: npt.NDArray[np.int32]


def columns(pieces: Parts, size: int) -> Columns:
    """The columns of a world of a size."""
    rows = list(memories(pieces, size))
    return Columns(
        np.array([row.label for row in rows]),
        {colour: holding(pieces, size, colour) for colour in COLOURS},
        np.array([row.position for row in rows]),
        np.array([row.stamp for row in rows]),
        np.array([int(row.robot[1:]) for row in rows], np.int32),
        np.array([int(row.task[1:]) for row in rows], np.int32),
    )


def fitting(world: Columns, question: ScaleQuestion) -> npt.NDArray[np.int64]:
    """The rows that satisfy the conditions of a question, and name its colour if it has one."""
    kept = np.ones(len(world.labels), bool)
    if question.robot is not None:
        kept &= world.robots == int(question.robot[1:])
    if question.task is not None:
        kept &= world.tasks == int(question.task[1:])
    if question.label is not None:
        kept &= world.labels == question.label
    if question.colour is not None:
        kept &= world.colours[question.colour]
    if question.after is not None and question.before is not None:
        kept &= (world.stamps >= question.after) & (world.stamps < question.before)
    return np.flatnonzero(kept)


def nearest_row(world: Columns, question: ScaleQuestion) -> int:
    """The row that is the true answer to a question for the nearest."""
    rows = fitting(world, question)
    assert question.target is not None
    away = world.places[rows] - np.array(question.target)
    return int(rows[np.argmin(np.einsum("ij,ij->i", away, away))])


def _place(dice: random.Random) -> tuple[float, float]:
    return round(dice.uniform(0, AREA[0]), 3), round(dice.uniform(0, AREA[1]), 3)


def _texts(world: str, dice: random.Random) -> Iterator[str]:
    things, colours, rooms = (THINGS[:10], COLOURS[:5], ROOMS[:6]) if world == FEW_WORDS else (THINGS, COLOURS, ROOMS)
    known: set[str] = set()
    while True:
        form, tail = dice.choice(_FORMS), dice.choice(_TAILS)
        text = f"{form.format(dice.choice(colours), dice.choice(things), dice.choice(rooms))} {tail}".strip()
        if text not in known:
            known.add(text)
            yield text
