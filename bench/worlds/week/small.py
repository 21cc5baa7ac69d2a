"""Make small worlds, in each of which one thing happens that a memory of last sightings gets wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.worlds.objects import Point

from . import World
from .house import FLOOR, House, furnish
from .life import DAY, HOUR, MINUTE, MONDAY, Being, Stay
from .robot import LABELS, Settings, Slip, drive
from .truth import NEAR

_START, _END = MONDAY + 8 * HOUR, MONDAY + 2 * DAY
_EVERY = 30 * MINUTE
"""From one drive to the next."""
_MUG_PLACES = 28
_OFFSET = 1.1 + 0.8j
"""Metres by which the robot is lost."""


class SmallWorld(NamedTuple):
    """A world of some drives, and what is asked at its end."""

    world: World
    labels: frozenset[str] = frozenset(LABELS)
    """What is asked for."""
    near: float = NEAR
    """Metres from a place to the true one, at most."""


@dataclass(frozen=True)
class _Making:
    """What the small worlds of a seed have in common."""

    dice: random.Random
    house: House
    is_empty: bool = False
    """Whether no furniture stands there."""

    def world(self, beings: Sequence[Being], drives: int, settings: Settings) -> World:
        """Furnish, and let the robot drive."""
        furniture = [Being(thing.label, (Stay(thing.position, MONDAY, _END),), True) for thing in self.house.furniture]
        everything = (*beings, *([] if self.is_empty else furniture))
        starts = [_START + number * _EVERY for number in range(drives)]
        messages = tuple(drive(self.dice, self.house, everything, starts, settings))
        return World(self.house, everything, messages, settings, 1)

    def somewhere(self, height: float) -> Point:
        """Return a place where nothing stands."""
        centre = self.dice.choice(list(self.house.centres.values()))
        x, y = (self.dice.uniform(-0.4, 0.4) * (side - 1) for side in FLOOR.room)
        return centre.real + x, centre.imag + y, height


def make_small_world(name: str, seed: int) -> SmallWorld:
    """Make the small world of a name and a seed."""
    dice = random.Random(f"{name} {seed}")
    return SMALL_WORLDS[name](_Making(dice, furnish(dice)))


def _people_leave(making: _Making, settings: Settings) -> SmallWorld:
    leave = _START + 6 * _EVERY - MINUTE
    people = [Being(label, tuple(_walk(making, leave))) for label in ("person", "person", "robot")]
    return SmallWorld(making.world(people, 7, settings), frozenset({"person", "robot"}))


def _walk(making: _Making, end: int) -> Iterator[Stay]:
    time = _START
    while time < end:
        until = min(time + round(making.dice.uniform(2, 20) * MINUTE), end)
        yield Stay(making.somewhere(0.9), time, until)
        time = until


def _swapped(making: _Making) -> SmallWorld:
    spots = making.house.spots[making.dice.choice(list(making.house.spots))]
    middle = _START + round(5.9 * _EVERY)
    # The last spot of a room is on the table of the first.
    places = [(spots[0], spots[-1]), (spots[-1], spots[0])]
    things = [
        Being(label, (Stay(before, MONDAY, middle), Stay(after, middle + MINUTE, _END)))
        for label, (before, after) in zip(("bottle", "phone"), places, strict=True)
    ]
    return SmallWorld(making.world(things, 12, Settings()), frozenset({"bottle", "phone"}), 0.22)


def _carried_mug(making: _Making) -> SmallWorld:
    spots = [spot for room in making.house.spots.values() for spot in room[:-1]]
    times = [_START + number * _EVERY - MINUTE for number in range(_MUG_PLACES)]
    stays = [
        Stay(spot, time, time + _EVERY - 2 * MINUTE)
        for spot, time in zip(making.dice.sample(spots, _MUG_PLACES), times, strict=True)
    ]
    mug = Being("mug", (*stays[:-1], stays[-1]._replace(end=_END)))
    return SmallWorld(making.world([mug], _MUG_PLACES, Settings(view=0.0)), frozenset({"mug"}))


def _still(making: _Making, settings: Settings, *slips: Slip) -> SmallWorld:
    return SmallWorld(making.world([], 8, replace(settings, slips=slips)))


def _jump(making: _Making) -> SmallWorld:
    start = _START + 4 * _EVERY + MINUTE
    return _still(making, Settings(), Slip(start, start + 3 * MINUTE, _OFFSET))


def _drift(making: _Making) -> SmallWorld:
    # The loop closes between the last drive but one and the last.
    start = _START + 6 * _EVERY
    return _still(making, Settings(view=0.0), Slip(start, start + 7 * MINUTE, _OFFSET, is_drift=True))


SMALL_WORLDS: dict[str, Callable[[_Making], SmallWorld]] = {
    "people-leave": lambda making: _people_leave(making, Settings()),
    "people-leave-no-view": lambda making: _people_leave(making, Settings(view=0.0)),
    "swapped": _swapped,
    "carried-mug": _carried_mug,
    "lonely-mug": lambda making: _carried_mug(replace(making, is_empty=True)),
    "still": lambda making: _still(making, Settings()),
    "jump": _jump,
    "still-no-view": lambda making: _still(making, Settings(view=0.0)),
    "drift": _drift,
}
