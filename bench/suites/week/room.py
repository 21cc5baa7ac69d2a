"""Tell a memory the looks at landmarks of a real room, and ask between them which are there.

The file is one of the Perpetua room: for each landmark `N_obs` (1 seen, 0 not) at `N_obs_t`, and the truth `N_gt_obs`
at `N_gt_t`, seconds. A look at a landmark is a message whose view has that landmark alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.worlds.objects import Detection, Point
from bench.worlds.week import MONDAY, SECOND, Message, Settings
from bench.worlds.week.robot import Camera

from .answers import MemoryAnswers

HEAD = ("landmarks of the room", "right", "error", "ms")
_APART, _AWAY = 4.0, 1.0
"""Metres between landmarks, and from a landmark to the camera that looks at it."""
_ASKED_EVERY = 10 * SECOND
_SETTINGS = Settings(view=2.0, view_opening=math.radians(60), has_map=False)


class _Look(NamedTuple):
    time: int
    landmark: int
    is_seen: bool


def rows(file: Path) -> Iterator[tuple[str, ...]]:
    """Yield how much of what is believed of the landmarks is right, and the mean absolute error of its probability."""
    with np.load(file) as arrays:
        count = sum(name.endswith("_gt_t") for name in arrays)
        looks = sorted(
            _Look(_time(at), number, bool(seen))
            for number in range(count)
            for at, seen in zip(arrays[f"{number}_obs_t"], arrays[f"{number}_obs"], strict=True)
        )
        truth = [
            {_time(at): bool(seen) for at, seen in zip(arrays[f"{n}_gt_t"], arrays[f"{n}_gt_obs"], strict=True)}
            for n in range(count)
        ]
    answers, last = MemoryAnswers(_SETTINGS), dict.fromkeys(range(count), 0.0)
    errors: dict[str, list[float]] = {"memory": [], "last look": []}
    end = max(truth[0])
    with answers.memory:
        position = 0
        for now in range(MONDAY + _ASKED_EVERY, end, _ASKED_EVERY):
            begin = position
            while position < len(looks) and looks[position].time <= now:
                last[looks[position].landmark] = float(looks[position].is_seen)
                position += 1
            answers.tell([_message(look) for look in looks[begin:position]], now)
            beliefs = {belief.label: belief.probability for belief in answers.beliefs()}
            for number in range(count):
                is_there = truth[number][now]
                errors["memory"].append(abs(is_there - beliefs.get(_label(number), 0.0)))
                errors["last look"].append(abs(is_there - last[number]))
    for name, values in errors.items():
        right = sum(value < 0.5 for value in values) / len(values)
        cpu = f"{1000 * answers.cpu / len(looks):.2f}" if name == "memory" else ""
        yield name, f"{right:.3f}", f"{sum(values) / len(values):.3f}", cpu


def _time(seconds: float) -> int:
    return MONDAY + round(2 * seconds) * SECOND // 2


def _label(number: int) -> str:
    return f"landmark {number}"


def _message(look: _Look) -> Message:
    place: Point = (_APART * look.landmark, 0.0, 1.0)
    camera = Camera(look.time, complex(place[0], -_AWAY), math.pi / 2)
    detections = (Detection(_label(look.landmark), place, 0.9, look.landmark),) if look.is_seen else ()
    return Message(look.time, look.time, "/camera", detections, (place[0], -_AWAY, 1.0), (0.0, 1.0, 0.0), camera, False)
