"""Make the memories of a robot that works in a house, each with its own text and a context.

All texts differ, since the published robotmem keeps a text only once. The words for things and colours occur nowhere
else, so that "red mug" has one meaning and the nearest red mug is a fact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

THINGS = (
    "mug", "bottle", "bowl", "plate", "kettle", "vase", "lamp", "book", "towel", "basket", "bucket", "hammer",
    "screwdriver", "ball", "shoe", "toy", "clock", "jar", "tray", "spoon",
)  # fmt: skip
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "orange", "purple")
MATERIALS = ("ceramic", "steel", "plastic", "wooden", "rubber", "copper", "cloth", "paper")
ROOMS = (
    "kitchen", "hallway", "bathroom", "bedroom", "office", "garage", "workshop", "nursery", "cellar", "pantry",
)  # fmt: skip
SPOTS = (
    "on the shelf", "under the table", "beside the sofa", "on the counter", "behind the door", "on the floor",
    "inside the cupboard", "on the windowsill", "on the bench", "in the drawer", "under the stairs", "on the chair",
)  # fmt: skip
ACTIONS = ("saw", "found", "grasped", "pushed", "lifted", "placed", "carried", "turned")
REMARKS = (
    "it slipped once", "it stood firm", "the grip held", "it was wet", "it was heavier than expected", "it was empty",
    "it was full", "the light was poor", "a person watched", "it took two attempts", "the surface was smooth",
    "it rolled away", "the gripper was warm", "the path was blocked", "everything went well", "it tilted slightly",
)  # fmt: skip
HOUSE = (40.0, 30.0, 2.0)
"""Size of the house in metres."""
_START = 1_760_000_000
_PERIOD = 0.33


@dataclass(frozen=True)
class HouseMemory:
    """One memory, with what is known of it besides its text."""

    content: str
    context: dict[str, Any]
    thing: str
    colour: str
    room: str
    position: tuple[float, float, float]
    stamp: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class World:
    """Memories to store first, and others of the same kind that come later."""

    memories: tuple[HouseMemory, ...]
    later: tuple[HouseMemory, ...]


def make_world(count: int, later: int, seed: int) -> World:
    """Make `count` memories, and `later` more whose texts are new too."""
    source = _memories(random.Random(seed))
    return World(tuple(next(source) for _ in range(count)), tuple(next(source) for _ in range(later)))


def _memories(dice: random.Random) -> Iterator[HouseMemory]:
    texts: set[str] = set()
    while True:
        thing, colour, room = dice.choice(THINGS), dice.choice(COLOURS), dice.choice(ROOMS)
        content = (
            f"{dice.choice(ACTIONS)} the {colour} {dice.choice(MATERIALS)} {thing} {dice.choice(SPOTS)} "
            f"in the {room}, {dice.choice(REMARKS)}"
        )
        if content in texts:
            continue
        texts.add(content)
        x, y, z = (round(dice.uniform(0, size), 3) for size in HOUSE)
        context = {
            "params": {"force": {"value": round(dice.uniform(2, 30), 2), "unit": "N"}},
            "spatial": {"object_position": [x, y, z]},
            "robot": {"type": dice.choice(("arm", "mobile", "humanoid"))},
            "task": {"success": dice.random() < 0.7, "attempts": dice.randint(1, 4)},
            "env": {"sim_or_real": dice.choice(("sim", "real"))},
        }
        stamp = _START + len(texts) * _PERIOD
        yield HouseMemory(content, context, thing, colour, room, (x, y, z), stamp)
