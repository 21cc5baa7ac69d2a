"""Furnish a house of twelve rooms: what stands where for ever, where things can be put, and what hides them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from bench.worlds.floor import Floor
from bench.worlds.objects import Point, Thing

FLOOR = Floor(4, 3)
_FURNITURE = {
    "kitchen": ("fridge", "oven", "sink", "table", "chair", "microwave"),
    "living room": ("sofa", "armchair", "tv", "lamp", "plant", "clock"),
    "dining room": ("table", "chair", "stool", "cabinet", "plant"),
    "office": ("desk", "chair", "monitor", "shelf", "printer"),
    "study": ("desk", "chair", "lamp", "shelf", "picture"),
    "hall": ("bench", "mirror", "cabinet", "plant", "picture"),
    "bedroom": ("bed", "lamp", "wardrobe", "chair", "picture"),
    "nursery": ("bed", "shelf", "lamp", "box", "armchair"),
    "guest room": ("bed", "wardrobe", "lamp", "table", "clock"),
    "bathroom": ("toilet", "sink", "mirror", "basket", "cabinet"),
    "laundry": ("washing machine", "dryer", "basket", "shelf", "sink"),
    "workshop": ("table", "shelf", "stool", "box", "lamp", "toolbox", "vacuum cleaner"),
}
ROOMS = tuple(_FURNITURE)
"""Rooms of each house, in another order on the floor in each."""
_TALL = {"fridge", "shelf", "wardrobe", "cabinet"}
_APART = 0.8
"""Metres between two pieces of furniture, at least."""
_SPOTS = 6
"""Spots in a room."""
_SPOT_DISTANCE = 1.0
"""Metres between two spots of a room, but the last is on the table of the first."""
_ON_ONE_TABLE = 0.45
_WALL = 0.35
"""Metres from a wall to what stands along it."""
_HALF_WIDTH = 0.25
"""Metres from the middle of what hides to a ray that it hides; up to twice as far it hides a part."""


@dataclass(frozen=True)
class House:
    """One house; heights are part of the points."""

    furniture: tuple[Thing, ...]
    centres: dict[str, complex]
    """The middle of each room, in the order of a drive through all."""
    spots: dict[str, tuple[Point, ...]]
    """Places in each room where things are put."""

    @property
    def tall(self) -> list[complex]:
        """Return where something stands that hides what is behind it."""
        return [complex(*thing.position[:2]) for thing in self.furniture if thing.label in _TALL]


def furnish(dice: random.Random) -> House:
    """Make a house."""
    names = list(ROOMS)
    dice.shuffle(names)
    centres = dict(zip(names, FLOOR.way(), strict=True))
    furniture, spots = [], {}
    for name, centre in centres.items():
        places: list[Point] = []
        for label in _FURNITURE[name]:
            places.append(_along_a_wall(dice, centre, places))
            furniture.append(Thing(label, places[-1]))
        spots[name] = _make_spots(dice, centre, [complex(*place[:2]) for place in places])
    return House(tuple(furniture), centres, spots)


def hidden_share(start: complex, end: complex, blockers: list[complex]) -> float:
    """Return how much of a thing is hidden from a place: 0 if nothing, 0.5 if a part, 1 if all."""
    ray = end - start
    length = abs(ray)
    hidden = 0.0
    for blocker in blockers:
        offset = (blocker - start) * ray.conjugate() / length
        # What stands right beside a thing, or is the thing, does not hide it.
        if 0.2 < offset.real < length - _HALF_WIDTH and abs(offset.imag) < 2 * _HALF_WIDTH:
            hidden = max(hidden, 1.0 if abs(offset.imag) < _HALF_WIDTH else 0.5)
    return hidden


def _along_a_wall(dice: random.Random, centre: complex, others: list[Point]) -> Point:
    half = complex(FLOOR.room[0] / 2 - _WALL, FLOOR.room[1] / 2 - _WALL)
    while True:
        x, y = dice.uniform(-half.real, half.real), dice.uniform(-half.imag, half.imag)
        if dice.random() < 0.5:
            x = math.copysign(half.real, x)
        else:
            y = math.copysign(half.imag, y)
        # The ways through the doors stay free.
        if min(abs(x), abs(y)) < 0.7 * FLOOR.door:
            continue
        place = (centre.real + x, centre.imag + y, dice.uniform(0.4, 1.3))
        if all(math.dist(place[:2], other[:2]) >= _APART for other in others):
            return place


def _make_spots(dice: random.Random, centre: complex, furniture: list[complex]) -> tuple[Point, ...]:
    half = complex(FLOOR.room[0] / 2 - _WALL, FLOOR.room[1] / 2 - _WALL)
    spots: list[complex] = []
    while len(spots) < _SPOTS - 1:
        place = complex(dice.uniform(-half.real, half.real), dice.uniform(-half.imag, half.imag))
        if min(abs(place.real), abs(place.imag)) < 0.5:
            continue
        far_from_spots = all(abs(centre + place - spot) >= _SPOT_DISTANCE for spot in spots)
        if far_from_spots and all(abs(centre + place - other) >= 0.3 for other in furniture):
            spots.append(centre + place)
    towards = centre - spots[0]
    spots.append(spots[0] + _ON_ONE_TABLE * towards / abs(towards))
    return tuple((spot.real, spot.imag, dice.uniform(0.5, 1.1)) for spot in spots)
