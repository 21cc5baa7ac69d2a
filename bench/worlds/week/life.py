"""Let people live in a house for some days: who and what is where, from when until when.

Things have habits: they are put to a place of the house, or taken out of it, at about an hour of some days. Now and
then somebody forgets it, or leaves a thing where it never was. People and the dog go from room to room.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bench.worlds.objects import Point

from .house import FLOOR, House

SECOND = 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 24 * 3600 * SECOND
MONDAY = 1_760_313_600 * SECOND
"""Midnight of 13 October 2025, UTC; hours of the day are in UTC."""
LIVING = ("person", "dog")
"""Labels of those who walk by themselves."""
_WORKDAYS, _EVERY_DAY, _WEEKEND = range(5), range(7), range(5, 7)
_OUT = ""
"""The name of no room."""
_HABITS = {
    "mug": (
        (7.2, "dining room", _EVERY_DAY), (8.3, "office", _WORKDAYS), (11.2, "kitchen", _EVERY_DAY),
        (13.4, "study", _EVERY_DAY), (16.6, "kitchen", _EVERY_DAY), (19.8, "living room", _EVERY_DAY),
    ),
    "laptop": ((8.2, "office", _WORKDAYS), (16.8, "living room", _WORKDAYS), (10.2, "study", _WEEKEND)),
    "keys": ((7.6, _OUT, _WORKDAYS), (17.0, "hall", _EVERY_DAY), (10.5, _OUT, (5,))),
    "wallet": ((7.6, _OUT, _WORKDAYS), (17.0, "bedroom", _EVERY_DAY)),
    "backpack": ((7.6, _OUT, _WORKDAYS), (16.4, "nursery", _EVERY_DAY)),
    "phone": (
        (8.0, "kitchen", _EVERY_DAY), (13.5, "office", _EVERY_DAY), (19.2, "living room", _EVERY_DAY),
        (22.8, "bedroom", _EVERY_DAY),
    ),
    "umbrella": ((7.6, _OUT, (1, 3)), (17.0, "hall", _EVERY_DAY)),
    "cup": ((7.4, "dining room", _EVERY_DAY), (10.4, "kitchen", _EVERY_DAY), (15.2, "living room", _EVERY_DAY)),
}  # fmt: skip
"""Hour, room and days of each habit; other things have one to three of their own."""
_THINGS = (
    "mug", "mug", "mug", "cup", "cup", "laptop", "keys", "wallet", "backpack", "phone", "umbrella", "book", "book",
    "book", "glasses", "headphones", "remote", "ball", "tablet", "bottle", "notebook", "scissors", "teddy", "hammer",
)  # fmt: skip
_HOURS = (7.4, 10.4, 13.6, 15.2, 19.6)
"""Hours of other habits."""
_KEPT, _STRAY = 0.9, 0.15
"""Chances that a habit is kept, and that a thing goes astray on a day."""
_SCATTER = 0.08
"""Standard deviation of where a thing is put, in metres."""
_PEOPLE = 4


class Stay(NamedTuple):
    """Where something was, in `[start, end)`, nanoseconds since the epoch."""

    position: Point
    start: int
    end: int


@dataclass(frozen=True)
class Being:
    """A thing, a person or the dog: its label, and its stays in their order; between them it is nowhere to be seen."""

    label: str
    stays: tuple[Stay, ...]
    is_furniture: bool = False

    @cached_property
    def _starts(self) -> list[int]:
        return [stay.start for stay in self.stays]

    def stay(self, time: int) -> Stay | None:
        """Return the stay at a time."""
        index = bisect.bisect_right(self._starts, time) - 1
        return self.stays[index] if index >= 0 and time < self.stays[index].end else None

    def last_stay(self, time: int) -> Stay | None:
        """Return the stay at a time, or the one before it."""
        index = bisect.bisect_right(self._starts, time) - 1
        return self.stays[index] if index >= 0 else None

    def place(self, time: int) -> Point | None:
        """Return where it is at a time."""
        stay = self.stay(time)
        return stay and stay.position


def live(dice: random.Random, house: House, days: int) -> tuple[Being, ...]:
    """Return all that is in the house for some days, furniture first."""
    end = MONDAY + days * DAY
    furniture = (Being(thing.label, (Stay(thing.position, MONDAY, end),), True) for thing in house.furniture)
    taken: set[tuple[str, Point]] = set()
    things = [_thing(dice, label, house, days, taken) for label in _THINGS]
    people = [Being("person", tuple(_person(dice, house, days, works=number % 2 == 0))) for number in range(_PEOPLE)]
    return (*furniture, *things, *people, Being("dog", tuple(_dog(dice, house, days))))


class _Habit(NamedTuple):
    hour: float
    spot: Point | None
    """None for out of the house."""
    days: Iterable[int]


def _thing(dice: random.Random, label: str, house: House, days: int, taken: set[tuple[str, Point]]) -> Being:
    habits = list(_habits(dice, label, house, taken))
    home = next(habit.spot for habit in reversed(habits) if habit.spot is not None)
    moves: list[tuple[int, Point | None]] = []
    for day in range(days):
        for hour, spot, on_days in habits:
            if day % 7 in on_days and dice.random() < _KEPT:
                moves.append((_at(dice, day, hour), spot))
        if dice.random() < _STRAY:
            moves.append((_at(dice, day, dice.uniform(8, 20)), _free_spot(dice, label, house, taken)))
    moves.sort(key=lambda move: move[0])
    return Being(label, tuple(_stays(dice, home, moves, MONDAY + days * DAY)))


def _habits(dice: random.Random, label: str, house: House, taken: set[tuple[str, Point]]) -> Iterator[_Habit]:
    if label in _HABITS:
        for hour, room, on_days in _HABITS[label]:
            yield _Habit(hour, _free_spot(dice, label, house, taken, room) if room else None, on_days)
    else:
        # What rarely moves has habits of single days.
        on_days = dice.choice((_EVERY_DAY, _EVERY_DAY, _WORKDAYS, (0, 3), (2, 5)))
        for hour in sorted(dice.sample(_HOURS, dice.randint(1, 3))):
            yield _Habit(hour, _free_spot(dice, label, house, taken), on_days)
        yield _Habit(20.2, _free_spot(dice, label, house, taken), on_days)


def _free_spot(dice: random.Random, label: str, house: House, taken: set[tuple[str, Point]], room: str = "") -> Point:
    """Return a spot where no other thing of the label is ever put; once there is none left, all are free again."""

    def free(spots: Iterable[Point]) -> list[Point]:
        return [spot for spot in spots if all(label != other or math.dist(spot, place) > 0.8 for other, place in taken)]

    if not any(map(free, house.spots.values())):
        taken.difference_update([entry for entry in taken if entry[0] == label])
    while not (spots := free(house.spots[room or dice.choice(list(house.spots))])):
        room = ""
    spot = dice.choice(spots)
    taken.add((label, spot))
    return spot


def _at(dice: random.Random, day: int, hour: float) -> int:
    return MONDAY + day * DAY + round((hour + min(max(dice.gauss(0, 0.15), -0.4), 0.4)) * HOUR)


def _stays(dice: random.Random, home: Point, moves: list[tuple[int, Point | None]], end: int) -> Iterator[Stay]:
    spot: Point | None = home
    place, since = _near(dice, home), MONDAY
    for time, goal in moves:
        if goal == spot or time <= since:
            continue
        if spot is not None:
            yield Stay(place, since, time)
        # It is carried for some minutes.
        spot, since = goal, time + round(dice.uniform(1, 4) * MINUTE)
        if spot is not None:
            place = _near(dice, spot)
    if spot is not None and since < end:
        yield Stay(place, since, end)


def _near(dice: random.Random, spot: Point) -> Point:
    return spot[0] + dice.gauss(0, _SCATTER), spot[1] + dice.gauss(0, _SCATTER), spot[2]


def _person(dice: random.Random, house: House, days: int, *, works: bool) -> Iterator[Stay]:
    centre = dice.choice([house.centres[room] for room in ("bedroom", "guest room", "nursery")])
    bed = _standing(dice, centre, 0.5)
    time = MONDAY
    for day in range(days):
        midnight = MONDAY + day * DAY
        up, down = (_at(dice, day, hour) for hour in (6.8, 22.9))
        yield Stay(bed, time, up)
        time = up + MINUTE
        leaves, comes = (_at(dice, day, hour) for hour in (7.7, 17.2))
        while time < down:
            is_out = works and day % 7 in _WORKDAYS and leaves < time < comes
            until = comes if is_out else min(time + _while(dice, 9), down)
            if not is_out:
                yield Stay(_standing(dice, dice.choice(list(house.centres.values())), 0.9), time, until)
            time = until + round(dice.uniform(5, 30) * SECOND)
        time = max(time, midnight + round(22.9 * HOUR))
    yield Stay(bed, time, MONDAY + days * DAY)


def _dog(dice: random.Random, house: House, days: int) -> Iterator[Stay]:
    time = MONDAY
    while time < MONDAY + days * DAY:
        until = time + _while(dice, 6)
        yield Stay(_standing(dice, dice.choice(list(house.centres.values())), 0.3), time, until)
        time = until + round(dice.uniform(5, 20) * SECOND)


def _while(dice: random.Random, minutes: float) -> int:
    return round(min(max(dice.lognormvariate(math.log(minutes), 1.0), 0.5), 120) * MINUTE)


def _standing(dice: random.Random, centre: complex, height: float) -> Point:
    x, y = (dice.uniform(-0.5, 0.5) * (side - 1) for side in FLOOR.room)
    return centre.real + x, centre.imag + y, height
