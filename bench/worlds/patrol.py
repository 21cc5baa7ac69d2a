"""Make a house of things, and what a detector on a patrolling robot reports of them, with the truth about both.

The robot drives through rooms with walls between them and sees what its camera shows: near enough, within the opening
angle, not behind a wall, a person or a piece of furniture. Some things are hard to detect. Wrong labels are mostly
those of a similar class, and some things get them more often than others. False alarms last a few pictures, many come
back at the same places, and their confidences overlap with those of true detections. Some things are moved half way.
"""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .floor import Floor
from .objects import Detection, Message, Point, Thing

_CLASSES = (
    "chair", "stool", "armchair", "sofa", "pillow", "blanket", "table", "desk", "shelf", "cabinet", "plant", "vase",
    "lamp", "mug", "cup", "glass", "bottle", "bowl", "plate", "kettle", "book", "box", "basket", "laptop", "monitor",
    "keyboard", "phone", "remote", "backpack", "shoe", "clock", "picture",
)  # fmt: skip
"""A wrong label is mostly that of a class beside it."""
_FLOOR = Floor(3, 3)
_ROOM = _FLOOR.room
_STEP = 0.25
"""Metres from one picture to the next."""
_SECOND = 1_000_000_000
_PERIOD = _SECOND // 2
_TURN = 10
"""Pictures of a full turn."""
_START = 1_760_000_000 * _SECOND
_HEIGHT = 1.0
"""Of the camera, in metres."""


@dataclass(frozen=True)
class Settings:
    """Properties of a world; lengths in metres."""

    things: int = 120
    patrols: int = 6
    wrong: float = 0.0
    """Share of detections with a wrong label."""
    false: float = 0.02
    """Share of pictures with a false alarm."""
    moved_count: int = 0
    """Things that are moved to another place half way."""
    drift: float = 0.05
    """Standard deviation of the error of the robot's position."""
    reach: float = 4.0
    opening: float = math.radians(75)


class View(NamedTuple):
    """Where the camera believes to be, and where it looks."""

    origin: Point
    direction: Point


@dataclass(frozen=True)
class Patrol:
    """The things at the end, and the messages with their views."""

    settings: Settings
    things: tuple[Thing, ...]
    messages: tuple[Message, ...]
    views: tuple[View, ...]


@dataclass
class _PlacedThing:
    """A thing, what makes it hard to detect, and the directions in which furniture hides it."""

    label: str
    position: Point
    ease: float
    mistaken: float
    """How often its label is wrong, relative to others."""
    occlusions: tuple[tuple[float, float], ...] = ()
    """Sectors: direction from the thing, and half the width, in radians."""
    is_blind: bool = field(default=False)
    """Whether something in front of it, such as a person, hides it for a while."""


def make_patrol(seed: int, settings: Settings) -> Patrol:
    """Make the world of a seed."""
    dice = random.Random(seed)
    things = _furnished(dice, settings)
    spots = [(_somewhere(dice), dice.choice(_CLASSES)) for _ in range(12)]
    messages, views = [], []
    stamp, error = _START, 0j
    for patrol in range(settings.patrols):
        if patrol == settings.patrols // 2:
            for thing in dice.sample(things, settings.moved_count):
                thing.position = _free_place(dice, things, _is_small(thing.label))
                thing.occlusions = _occlusions(dice)
        alarms = _Alarms(dice, settings, spots)
        for robot, heading in _way(dice):
            stamp += _PERIOD
            error = 0.95 * error + complex(*(dice.gauss(0, settings.drift * 0.31) for _ in range(2)))
            camera = _Camera(robot, heading, settings)
            detections = [*_detections(dice, things, camera, settings), *alarms.of(camera)]
            dice.shuffle(detections)
            messages.append(Message(stamp, tuple(_move(detection, error) for detection in detections)))
            believed = robot + error
            look = cmath.rect(1, heading)
            views.append(View((believed.real, believed.imag, _HEIGHT), (look.real, look.imag, 0.0)))
        stamp += 600 * _SECOND
    return Patrol(
        settings, tuple(Thing(thing.label, thing.position) for thing in things), tuple(messages), tuple(views)
    )


def _move(detection: Detection, error: complex) -> Detection:
    x, y, z = detection.position
    return detection._replace(position=(x + error.real, y + error.imag, z))


class _Camera(NamedTuple):
    """Where the camera really is."""

    place: complex
    heading: float
    settings: Settings

    def shows(self, position: Point) -> bool:
        ray = complex(*position[:2]) - self.place
        if not 0.3 <= abs(ray) <= self.settings.reach:
            return False
        angle = cmath.phase(ray * cmath.rect(1, -self.heading))
        return abs(angle) <= self.settings.opening / 2 and not _FLOOR.wall_between(self.place, complex(*position[:2]))


def _furnished(dice: random.Random, settings: Settings) -> list[_PlacedThing]:
    things: list[_PlacedThing] = []
    while len(things) < settings.things:
        # Some classes are common: a house has more chairs than kettles.
        label = _CLASSES[min(int(dice.expovariate(1 / 9)), len(_CLASSES) - 1)]
        position = _free_place(dice, things, _is_small(label))
        ease, mistaken = dice.betavariate(6, 1.5), dice.gammavariate(1.5, 1 / 1.5)
        things.append(_PlacedThing(label, position, ease, mistaken, _occlusions(dice)))
    dice.shuffle(things)
    return things


def _is_small(label: str) -> bool:
    return _CLASSES.index(label) >= _CLASSES.index("plant") or label in {"pillow", "blanket"}


def _free_place(dice: random.Random, things: list[_PlacedThing], is_small: bool) -> Point:
    # Small things stand on and beside others: a pillow on a chair, a mug next to a laptop.
    while True:
        if is_small and things and dice.random() < 0.4:
            x, y, z = dice.choice(things).position
            place = (x + dice.gauss(0, 0.2), y + dice.gauss(0, 0.2), z + dice.uniform(0, 0.4))
        else:
            place = _somewhere(dice)
        if all(math.dist(place, thing.position) > (0.15 if is_small else 0.6) for thing in things) and _is_inside(
            place
        ):
            return place


def _somewhere(dice: random.Random) -> Point:
    # Along the walls, mostly.
    column, row = dice.randrange(_FLOOR.columns), dice.randrange(_FLOOR.rows)
    x, y = dice.uniform(0.2, _ROOM[0] - 0.2), dice.uniform(0.2, _ROOM[1] - 0.2)
    if dice.random() < 0.7:
        if dice.random() < 0.5:
            x = dice.choice((dice.uniform(0.15, 0.7), _ROOM[0] - dice.uniform(0.15, 0.7)))
        else:
            y = dice.choice((dice.uniform(0.15, 0.7), _ROOM[1] - dice.uniform(0.15, 0.7)))
    return (column * _ROOM[0] + x, row * _ROOM[1] + y, dice.uniform(0.0, 1.5))


def _is_inside(place: Point) -> bool:
    x, y = place[0] % _ROOM[0], place[1] % _ROOM[1]
    is_in_room = 0.1 <= x <= _ROOM[0] - 0.1 and 0.1 <= y <= _ROOM[1] - 0.1
    return is_in_room and 0 <= place[0] <= _FLOOR.size[0] and 0 <= place[1] <= _FLOOR.size[1]


def _occlusions(dice: random.Random) -> tuple[tuple[float, float], ...]:
    count = dice.choice((0, 0, 1, 1, 2))
    return tuple((dice.uniform(-math.pi, math.pi), dice.uniform(0.2, 0.7)) for _ in range(count))


def _way(dice: random.Random) -> Iterator[tuple[complex, float]]:
    """Drive through all rooms in a winding line, look around in each, and back another way; yield poses."""
    rooms = _FLOOR.way()
    if dice.random() < 0.5:
        rooms.reverse()
    place = rooms[0]
    heading = dice.uniform(-math.pi, math.pi)
    for centre in rooms:
        corners = [centre + complex(dice.uniform(-1.5, 1.5), dice.uniform(-1, 1)) for _ in range(2)]
        for goal in (centre, *corners, centre):
            while abs(goal - place) > _STEP:
                heading = cmath.phase(goal - place)
                place += cmath.rect(_STEP, heading)
                yield place, heading
            for _ in range(dice.choice((0, _TURN))):
                heading += 2 * math.pi / _TURN
                yield place, heading


def _detections(
    dice: random.Random, things: list[_PlacedThing], camera: _Camera, settings: Settings
) -> Iterator[Detection]:
    for index, thing in enumerate(things):
        # Who stands in front of a thing stays for a while.
        thing.is_blind = dice.random() < (0.7 if thing.is_blind else 0.01)
        if not camera.shows(thing.position) or thing.is_blind:
            continue
        ray = camera.place - complex(*thing.position[:2])
        if any(abs(cmath.phase(ray * cmath.rect(1, -side))) < half for side, half in thing.occlusions):
            continue
        distance = abs(ray)
        if dice.random() > thing.ease * (1 - 0.5 * (distance / settings.reach) ** 3):
            continue
        label = thing.label
        if dice.random() < settings.wrong * thing.mistaken:
            label = _wrong(dice, label)
        confidence = min(max(dice.gauss(0.8 - 0.05 * distance, 0.13), 0.3), 0.99)
        yield Detection(label, _noisy(dice, thing.position, 0.03 + 0.015 * distance), confidence, index)


def _wrong(dice: random.Random, label: str) -> str:
    index = _CLASSES.index(label)
    if dice.random() < 0.7:
        return _CLASSES[index ^ 1]
    return _CLASSES[(index + dice.randrange(1, len(_CLASSES))) % len(_CLASSES)]


def _noisy(dice: random.Random, position: Point, noise: float) -> Point:
    x, y, z = (part + dice.gauss(0, noise) for part in position)
    return (x, y, z)


class _Alarms:
    """False alarms: at some places again and again, elsewhere once; each may last for some pictures."""

    def __init__(self, dice: random.Random, settings: Settings, spots: list[tuple[Point, str]]) -> None:
        self._dice, self._settings, self._spots = dice, settings, spots
        self._lasting: tuple[Point, str] | None = None

    def of(self, camera: _Camera) -> Iterator[Detection]:
        """Yield the false alarm of a picture, if there is one."""
        dice = self._dice
        if self._lasting is not None and (dice.random() < 0.5 or not camera.shows(self._lasting[0])):
            self._lasting = None
        # One lasts two pictures in the mean, so half as many begin.
        if self._lasting is None and dice.random() < self._settings.false / 1.5:
            visible = [spot for spot in self._spots if camera.shows(spot[0])]
            if visible and dice.random() < 0.5:
                place, label = dice.choice(visible)
                self._lasting = (_noisy(dice, place, 0.25), label)
            else:
                self._lasting = (self._in_view(camera), dice.choice(_CLASSES))
        if self._lasting is not None:
            place, label = self._lasting
            confidence = min(max(dice.gauss(0.55, 0.15), 0.3), 0.95)
            yield Detection(label, _noisy(dice, place, 0.06), confidence, None)

    def _in_view(self, camera: _Camera) -> Point:
        half = camera.settings.opening / 2
        while True:
            angle = camera.heading + self._dice.uniform(-half, half)
            place = camera.place + cmath.rect(self._dice.uniform(0.5, camera.settings.reach), angle)
            point = (place.real, place.imag, self._dice.uniform(0, 1.5))
            if camera.shows(point):
                return point
