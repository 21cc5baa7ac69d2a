"""Make weeks of a service robot in a house in which people live, with the truth about them.

Written without sight of the model that is measured on it. Tune on seeds 0 to 9 alone: those from 100 on are held out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

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
    life = random.Random(f"life {seed}")
    house = furnish(life)
    beings = live(life, house, days)
    robot = random.Random(f"robot {seed}")
    messages = drive(robot, house, beings, patrol_times(robot, days), settings)
    return World(house, beings, tuple(sorted(messages, key=lambda message: message.arrived)), settings, days)
