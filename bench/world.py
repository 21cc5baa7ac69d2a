"""The memories of a robot that works in a house: made from a seed, each with a text of its own and a context.

The texts differ all, since the published system keeps a text only once. The words of things and colours occur for
nothing else, so that "red mug" has one meaning, and which mug is the nearest is a fact and no matter of taste.
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
class WorldMemory:
    """One memory, and what is known of it beside its text."""

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
    """Memories to be stored, and others of the same kind that come later."""

    memories: tuple[WorldMemory, ...]
    later: tuple[WorldMemory, ...]


def make_world(count: int, later: int, seed: int) -> World:
    """The world of a seed: `count` memories, and `later` more whose texts are new too."""
    source = _memories(random.Random(seed))
    return World(tuple(next(source) for _ in range(count)), tuple(next(source) for _ in range(later)))


def _memories(dice: random.Random) -> Iterator[WorldMemory]:
    known: set[str] = set()
    while True:
        thing, colour, room = dice.choice(THINGS), dice.choice(COLOURS), dice.choice(ROOMS)
        content = (
            f"{dice.choice(ACTIONS)} the {colour} {dice.choice(MATERIALS)} {thing} {dice.choice(SPOTS)} "
            f"in the {room}, {dice.choice(REMARKS)}"
        )
        if content in known:
            continue
        known.add(content)
        x, y, z = (round(dice.uniform(0, size), 3) for size in HOUSE)
        context = {
            "params": {"force": {"value": round(dice.uniform(2, 30), 2), "unit": "N"}},
            "spatial": {"object_position": [x, y, z]},
            "robot": {"type": dice.choice(("arm", "mobile", "humanoid"))},
            "task": {"success": dice.random() < 0.7, "attempts": dice.randint(1, 4)},
            "env": {"sim_or_real": dice.choice(("sim", "real"))},
        }
        stamp = _START + len(known) * _PERIOD
        yield WorldMemory(content, context, thing, colour, room, (x, y, z), stamp)
