"""Ask for the nearest object of a label after patrols through a house: is it there, a false alarm, or a wrong label?

- true: the nearest thing of the label is named, or one hardly farther away
- farther: another thing of the label is named
- ghost: there is no thing of the label where one is named
- none: no object of the label is named
- confirmed: objects that recall returns, per thing

Asked is for things that the detector reported at least three times by their label where they are at the end.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bench.internals.database import NewMemory
from bench.table import show
from bench.worlds.objects import Point, Thing
from bench.worlds.patrol import Patrol, Settings, make_patrol
from robotmem_ros.memory import FieldOfView, RobotMemory

from .objects import sightings

_QUERIES = 300
_MAX_DISTANCE = 0.6
"""Metres from an object to its thing, at most."""
_MARGIN = 0.5
"""Metres by which the nearest thing may be nearer than the one that is named."""
_MIN_REPORTS = 3
_SETTINGS = {
    "false 2 %": Settings(),
    "false 10 %": Settings(false=0.1),
    "wrong 8 %": Settings(wrong=0.08),
    "8 moved": Settings(moved_count=8),
    "wrong 8 %, false 6 %, 8 moved": Settings(wrong=0.08, false=0.06, moved_count=8),
    "wrong 15 %, false 10 %, 8 moved, drift 0.10 m": Settings(wrong=0.15, false=0.1, moved_count=8, drift=0.1),
}
_HEAD = ("world", "field of view", "true", "farther", "ghost", "none", "confirmed", "per s")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=10, help="worlds of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")


def run(options: argparse.Namespace) -> None:
    show(_HEAD, _rows(range(options.first, options.first + options.seeds)))


def _rows(seeds: range) -> Iterator[tuple[str, ...]]:
    for name, settings in _SETTINGS.items():
        for has_view in (False, True):
            reports = [measure(make_patrol(seed, settings), seed, has_view=has_view) for seed in seeds]
            counts = sum((report.answers for report in reports), Counter[str]())
            yield (
                name, "yes" if has_view else "no",
                *(f"{counts[answer] / len(reports):.1f}" for answer in ("true", "farther", "ghost", "none")),
                f"{sum(report.confirmed_count for report in reports) / len(reports):.3f}",
                f"{sum(report.rate for report in reports) / len(reports):.0f}",
            )  # fmt: skip


class Report(NamedTuple):
    """Answers by their kind, confirmed objects per thing, and sightings a second."""

    answers: Counter[str]
    confirmed_count: float
    rate: float


def measure(patrol: Patrol, seed: int, *, has_view: bool) -> Report:
    """Store all messages of a patrol, and ask for the nearest object of a label from many places."""
    dice = random.Random(f"queries {seed}")
    with RobotMemory(":memory:", embedding_model="") as memory:
        start = time.perf_counter()
        futures = [
            memory.store_sightings(new, field_of_view=_view(patrol, index) if has_view else None)
            for index, new in enumerate(map(_from_camera, map(sightings, patrol.messages)))
            if new or has_view
        ]
        count = sum(len(future.result()) for future in futures)
        rate = count / (time.perf_counter() - start)
        things = _reported_things(patrol)
        answers = Counter(_answer(memory, patrol, things, dice) for _ in range(_QUERIES))
        confirmed_count = sum(
            seen_object.confirmed and seen_object.confidence >= 0.3 for seen_object in memory.objects()
        )
    return Report(answers, confirmed_count / len(patrol.things), rate)


def _from_camera(new: list[NewMemory]) -> list[NewMemory]:
    for memory in new:
        object.__setattr__(memory, "stream", "/camera")
    return new


def _view(patrol: Patrol, index: int) -> FieldOfView:
    origin, direction = patrol.views[index]
    settings = patrol.settings
    return FieldOfView(
        origin, direction, patrol.messages[index].stamp, max_range=0.5 * settings.reach,
        horizontal=settings.opening, vertical=math.radians(60), stream="/camera",
    )  # fmt: skip


def _reported_things(patrol: Patrol) -> list[Thing]:
    counts = Counter(
        detection.thing
        for message in patrol.messages
        for detection in message.detections
        if detection.thing is not None
        and detection.label == patrol.things[detection.thing].label
        and math.dist(detection.position, patrol.things[detection.thing].position) <= _MAX_DISTANCE
    )
    return [thing for index, thing in enumerate(patrol.things) if counts[index] >= _MIN_REPORTS]


def _answer(memory: RobotMemory, patrol: Patrol, things: list[Thing], dice: random.Random) -> str:
    place: Point = (dice.uniform(0, 15), dice.uniform(0, 12), 0.0)
    label = dice.choice(things).label
    result = memory.recall(
        n=1, context_filter={"label": label}, spatial_sort={"field": "position", "target": place[:2]}
    ).memories
    if not result:
        return "none"
    assert result[0].pose is not None
    named = result[0].pose[:3]
    real = [thing.position for thing in patrol.things if thing.label == label]
    nearest = min(math.dist(place[:2], thing.position[:2]) for thing in things if thing.label == label)
    if min(math.dist(named, position) for position in real) > _MAX_DISTANCE:
        return "ghost"
    return "true" if math.dist(place[:2], named[:2]) <= nearest + _MARGIN else "farther"
