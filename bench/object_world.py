"""Worlds with ground truth for objects: rooms of things, and what a detector on a patrolling robot reports of them.

Things of equal label stand half a metre apart. Detections are noisy, some are missed, some are false; the robot's own
error drifts slowly and shifts all that it sees at one time. That drift is either a plain one, or the one of an odometry
that is corrected now and then, as it was found in a recording (`Odometry`).
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
_BETWEEN_VIEWS = 1.0
"""Metres that the robot goes between two views in one room."""
_KEEP = 0.9
"""Share of a plain drift that stays from one view to the next."""
SECOND = 1_000_000_000
START = 1_760_000_000 * SECOND


@dataclass(frozen=True)
class Odometry:
    """How wrong an odometry gets on its way from one correction to the next: a random walk over the distance.

    The numbers are of a recorded TurtleBot with Nav2 (97 s, 34 m): its /odom against its /amcl_pose, from each of 134
    corrections to the next. Those were 0.26 m apart; what was corrected had a root mean square of 25 mm and 0.0132 rad.
    From one correction to the next it is uncorrelated (-0.02), and the turn grows with the root of the distance: 0.0185
    rad after two steps, 0.041 after ten, 0.061 after twenty.
    """

    slip: float = 0.05
    """Metres in the plane after one metre: 0.0254 / sqrt(0.257)."""
    turn: float = 0.026
    """Radians after one metre: 0.0132 / sqrt(0.257)."""
    corrected_every: float = 0.26
    """Metres."""


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
    odometry: Odometry | None = None
    """In place of `drift`."""


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
    drift = _Drift(dice, settings)
    for _ in range(settings.patrols):
        for room in range(settings.rooms):
            for view in range(settings.views_per_room):
                stamp += SECOND
                error = drift.after(_BETWEEN_VIEWS if view else ROOM)
                yield Message(stamp, tuple(_detections(dice, things, settings, room, error)))


class _Drift:
    """The robot's own error, on its way."""

    def __init__(self, dice: random.Random, settings: Settings) -> None:
        self._dice = dice
        self._settings = settings
        self._error = _Error(0.0, 0.0, 0.0)
        self._since = 0.0
        """Metres since the last correction."""

    def after(self, metres: float) -> _Error:
        """The error after the robot went on."""
        x, y, turn = self._error
        odometry = self._settings.odometry
        if odometry is None:
            fresh = self._settings.drift * math.sqrt(1 - _KEEP * _KEEP)
            self._error = _Error(_KEEP * x + self._dice.gauss(0, fresh), _KEEP * y + self._dice.gauss(0, fresh), 0.0)
            return self._error
        way = self._since + metres
        if way >= odometry.corrected_every:
            # Somewhere between two corrections: their phase to the views is not fixed.
            x = y = turn = 0.0
            way = metres = self._dice.uniform(0, odometry.corrected_every)
        self._since = way
        slip, turned = (part * math.sqrt(metres) for part in (odometry.slip / math.sqrt(2), odometry.turn))
        gauss = self._dice.gauss
        self._error = _Error(x + gauss(0, slip), y + gauss(0, slip), turn + gauss(0, turned))
        return self._error


class _Error(NamedTuple):
    """By how much the robot is wrong about itself: metres, and radians about itself."""

    x: float
    y: float
    turn: float

    def moved(self, place: Point, robot: tuple[float, float]) -> Point:
        """Where it takes something to be."""
        x, y, z = place
        east, north = x - robot[0], y - robot[1]
        cosine, sine = math.cos(self.turn), math.sin(self.turn)
        return (
            robot[0] + cosine * east - sine * north + self.x,
            robot[1] + sine * east + cosine * north + self.y,
            z,
        )


def _detections(
    dice: random.Random, things: tuple[Thing, ...], settings: Settings, room: int, error: _Error
) -> Iterator[Detection]:
    robot = ((room + 0.5) * ROOM, ROOM / 2)
    in_room = [index for index, thing in enumerate(things) if room * ROOM <= thing.position[0] < (room + 1) * ROOM]
    dice.shuffle(in_room)
    for index in in_room:
        if dice.random() >= settings.missed:
            x, y, z = (part + dice.gauss(0, settings.noise) for part in things[index].position)
            yield Detection(things[index].label, error.moved((x, y, z), robot), dice.uniform(0.4, 1.0), index)
        if dice.random() < settings.false:
            place = (room * ROOM + dice.uniform(0, ROOM), dice.uniform(0, ROOM), dice.uniform(0, 1))
            yield Detection(dice.choice(LABELS), place, dice.uniform(0.2, 0.7), None)
