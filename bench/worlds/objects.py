"""Make rooms of things, and what a detector on a patrolling robot reports of them, with the truth about both.

Things of equal label stand half a metre apart. Detections are noisy, some are missed, some are false. The robot's pose
error drifts slowly and shifts all detections of one time; it is either a plain drift, or that of an odometry which is
corrected now and then, as found in a recording (`Odometry`).
"""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Point = tuple[float, float, float]
_LABELS = ("chair", "mug", "bottle", "plant", "box")
_ROOM = 6.0
"""Metres, the side of a square room."""
_BETWEEN_VIEWS = 1.0
"""Metres between two views in one room."""
_KEEP = 0.9
"""Share of a plain drift that stays from one view to the next."""
_SECOND = 1_000_000_000
_START = 1_760_000_000 * _SECOND


@dataclass(frozen=True)
class Odometry:
    """The error of an odometry from one correction to the next: a random walk over the distance.

    The numbers are from a recorded TurtleBot with Nav2 (97 s, 34 m): its /odom against its /amcl_pose, from each of 134
    corrections to the next. Those were 0.26 m apart; the corrections had a root mean square of 25 mm and 0.0132 rad.
    They are uncorrelated (-0.02), and the turn grows with the root of the distance: 0.0185 rad after two steps, 0.041
    after ten, 0.061 after twenty.
    """

    slip: float = 0.05
    """Metres in the plane after one metre: 0.0254 / sqrt(0.257)."""
    turn: float = 0.026
    """Radians after one metre: 0.0132 / sqrt(0.257)."""
    corrected_every: float = 0.26
    """Metres."""


@dataclass(frozen=True)
class Settings:
    """Properties of a world; lengths in metres."""

    rooms: int = 6
    rows_per_room: int = 4
    """Rows of equal things, half a metre from one to the next."""
    things_per_row: int = 3
    patrols: int = 12
    views_per_room: int = 5
    noise: float = 0.08
    missed: float = 0.15
    """Share of the things in view that a message lacks."""
    false: float = 0.02
    """Share of detections that are of nothing."""
    drift: float = 0.05
    """Standard deviation of the error that all detections of a time share."""
    covariances: bool = False
    odometry: Odometry | None = None
    """In place of `drift`."""


class Thing(NamedTuple):
    """A thing that exists."""

    label: str
    position: Point


class Detection(NamedTuple):
    """One detection; `thing` is the index of the true thing, None if it is false."""

    label: str
    position: Point
    confidence: float
    thing: int | None


class Message(NamedTuple):
    """All detections of one time."""

    stamp: int
    """Nanoseconds since the epoch."""
    detections: tuple[Detection, ...]


class World(NamedTuple):
    """The true things, and the messages about them."""

    things: tuple[Thing, ...]
    messages: tuple[Message, ...]


def make_world(seed: int, settings: Settings) -> World:
    """Make the world of a seed."""
    dice = random.Random(seed)
    things = tuple(_things(dice, settings))
    return World(things, tuple(_messages(dice, things, settings)))


def _things(dice: random.Random, settings: Settings) -> Iterator[Thing]:
    for room in range(settings.rooms):
        for row in range(settings.rows_per_room):
            label = dice.choice(_LABELS)
            x = room * _ROOM + dice.uniform(0.5, _ROOM - 0.5 - 0.5 * settings.things_per_row)
            y = (row + 0.5) * _ROOM / settings.rows_per_room
            for place in range(settings.things_per_row):
                yield Thing(label, (x + 0.5 * place, y, 0.4))


def _messages(dice: random.Random, things: tuple[Thing, ...], settings: Settings) -> Iterator[Message]:
    stamp = _START
    drift = _Drift(dice, settings)
    for _ in range(settings.patrols):
        for room in range(settings.rooms):
            for view in range(settings.views_per_room):
                stamp += _SECOND
                error = drift.after(_BETWEEN_VIEWS if view else _ROOM)
                yield Message(stamp, tuple(_detections(dice, things, settings, room, error)))


class _Drift:
    """The pose error of the robot as it moves."""

    def __init__(self, dice: random.Random, settings: Settings) -> None:
        self._dice, self._settings = dice, settings
        self._error = _Error(0j, 0.0)
        self._since = 0.0
        """Metres since the last correction."""

    def after(self, metres: float) -> _Error:
        """Move the robot and return its error."""
        shift, turn = self._error
        gauss, odometry = self._dice.gauss, self._settings.odometry
        if odometry is None:
            fresh = self._settings.drift * math.sqrt(1 - _KEEP * _KEEP)
            self._error = _Error(_KEEP * shift + complex(gauss(0, fresh), gauss(0, fresh)), 0.0)
            return self._error
        way = self._since + metres
        if way >= odometry.corrected_every:
            # Somewhere between two corrections: their phase to the views is not fixed.
            shift, turn = 0j, 0.0
            way = metres = self._dice.uniform(0, odometry.corrected_every)
        self._since = way
        slip, turned = (part * math.sqrt(metres) for part in (odometry.slip / math.sqrt(2), odometry.turn))
        self._error = _Error(shift + complex(gauss(0, slip), gauss(0, slip)), turn + gauss(0, turned))
        return self._error


class _Error(NamedTuple):
    """The pose error of the robot: metres in the plane (x + y j), and radians about its own position."""

    shift: complex
    turn: float

    def move(self, place: Point, robot: complex) -> Point:
        """Return where the robot believes a place to be."""
        believed = robot + cmath.rect(1, self.turn) * (complex(*place[:2]) - robot) + self.shift
        return believed.real, believed.imag, place[2]


def _detections(
    dice: random.Random, things: tuple[Thing, ...], settings: Settings, room: int, error: _Error
) -> Iterator[Detection]:
    robot = complex((room + 0.5) * _ROOM, _ROOM / 2)
    in_room = [index for index, thing in enumerate(things) if room * _ROOM <= thing.position[0] < (room + 1) * _ROOM]
    dice.shuffle(in_room)
    for index in in_room:
        if dice.random() >= settings.missed:
            x, y, z = (part + dice.gauss(0, settings.noise) for part in things[index].position)
            yield Detection(things[index].label, error.move((x, y, z), robot), dice.uniform(0.4, 1.0), index)
        if dice.random() < settings.false:
            place = (room * _ROOM + dice.uniform(0, _ROOM), dice.uniform(0, _ROOM), dice.uniform(0, 1))
            yield Detection(dice.choice(_LABELS), place, dice.uniform(0.2, 0.7), None)
