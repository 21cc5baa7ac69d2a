"""Make weeks of a service robot in a house in which people live, with the truth about them.

Written without sight of the model that is measured on it. Tune on seeds 0 to 9 alone: those from 100 on are held out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from .house import House, furnish
from .life import DAY, HOUR, MINUTE, MONDAY, SECOND, Being, Stay, live
from .robot import Detector, Message, Settings, Slip, drive, patrol_times

__all__ = [
    "DAY",
    "HOUR",
    "MINUTE",
    "MONDAY",
    "SECOND",
    "Being",
    "Detector",
    "House",
    "Message",
    "Settings",
    "Slip",
    "Stay",
    "World",
    "make_week",
    "stream",
]


@dataclass(frozen=True)
class World:
    """A house, all that is or was in it, and the messages about them in the order in which they arrive."""

    house: House
    beings: tuple[Being, ...]
    messages: tuple[Message, ...]
    settings: Settings
    days: int = 7


def make_week(seed: int, settings: Settings, days: int = 7) -> World:
    """Make the week of a seed. The life in it is the same whatever the settings."""
    house, beings, messages = _begin(seed, settings, days)
    return World(house, beings, tuple(sorted(messages, key=lambda message: message.arrived)), settings, days)


def stream(seed: int, settings: Settings, days: int) -> Iterator[list[Message]]:
    """Yield the messages of each day in the order of their stamps, for what is too long to be held."""
    _, _, messages = _begin(seed, settings, days)
    for _, of_day in groupby(messages, key=lambda message: (message.stamp - MONDAY) // DAY):
        yield list(of_day)


def _begin(seed: int, settings: Settings, days: int) -> tuple[House, tuple[Being, ...], Iterator[Message]]:
    life, robot = (random.Random(f"{name} {seed}") for name in ("life", "robot"))
    house = furnish(life)
    beings = live(life, house, days)
    return house, beings, drive(robot, house, beings, patrol_times(robot, days), settings)
