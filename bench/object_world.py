"""Worlds with ground truth for objects: rooms of things, and what a detector on a patrolling robot reports of them.

Things of equal label stand half a metre apart. Detections are noisy, some are missed, some are false; the robot's own
error drifts slowly and shifts all that it sees at one time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Point = tuple[float, float, float]
LABELS = ("chair", "mug", "bottle", "plant", "box")
ROOM = 6.0
"""Metres, the side of a square room."""
SECOND = 1_000_000_000
START = 1_760_000_000 * SECOND


@dataclass(frozen=True)
class Settings:
    """What a world is like; lengths in metres."""

    rooms: int = 6
    rows_per_room: int = 4
    """Rows of equal things, half a metre from one to the next."""
    things_per_row: int = 3
    patrols: int = 12
    views_per_room: int = 5
    noise: float = 0.08
    missed: float = 0.15
    """Share of the things in view that a message does not hold."""
    false: float = 0.02
    """Share of detections that are of nothing."""
    drift: float = 0.05
    """Standard deviation of the error that all detections of a time share."""
    covariances: bool = False


class Thing(NamedTuple):
    """One thing that is really there."""

    label: str
    position: Point


class Detection(NamedTuple):
    """What the detector says; `thing` is the index of what it is of, None for nothing."""

    label: str
    position: Point
    confidence: float
    thing: int | None


class Message(NamedTuple):
    """All that is detected at one time."""

    stamp: int
    """Nanoseconds since the epoch."""
    detections: tuple[Detection, ...]


class World(NamedTuple):
    """What is there, and what is reported."""

    things: tuple[Thing, ...]
    messages: tuple[Message, ...]


def make_world(seed: int, settings: Settings) -> World:
    """The world of a seed."""
    dice = random.Random(seed)
    things = tuple(_things(dice, settings))
    return World(things, tuple(_messages(dice, things, settings)))


def _things(dice: random.Random, settings: Settings) -> Iterator[Thing]:
    for room in range(settings.rooms):
        for row in range(settings.rows_per_room):
            label = dice.choice(LABELS)
            x = room * ROOM + dice.uniform(0.5, ROOM - 0.5 - 0.5 * settings.things_per_row)
            y = (row + 0.5) * ROOM / settings.rows_per_room
            for place in range(settings.things_per_row):
                yield Thing(label, (x + 0.5 * place, y, 0.4))


def _messages(dice: random.Random, things: tuple[Thing, ...], settings: Settings) -> Iterator[Message]:
    stamp = START
    shift = [0.0, 0.0]
    keep = 0.9
    for _ in range(settings.patrols):
        for room in range(settings.rooms):
            for _ in range(settings.views_per_room):
                stamp += SECOND
                fresh = settings.drift * math.sqrt(1 - keep * keep)
                shift = [keep * part + dice.gauss(0, fresh) for part in shift]
                yield Message(stamp, tuple(_detections(dice, things, settings, room, (shift[0], shift[1]))))


def _detections(
    dice: random.Random, things: tuple[Thing, ...], settings: Settings, room: int, shift: tuple[float, float]
) -> Iterator[Detection]:
    in_room = [index for index, thing in enumerate(things) if room * ROOM <= thing.position[0] < (room + 1) * ROOM]
    dice.shuffle(in_room)
    for index in in_room:
        if dice.random() >= settings.missed:
            x, y, z = (part + dice.gauss(0, settings.noise) for part in things[index].position)
            yield Detection(things[index].label, (x + shift[0], y + shift[1], z), dice.uniform(0.4, 1.0), index)
        if dice.random() < settings.false:
            place = (room * ROOM + dice.uniform(0, ROOM), dice.uniform(0, ROOM), dice.uniform(0, 1))
            yield Detection(dice.choice(LABELS), place, dice.uniform(0.2, 0.7), None)
