"""Drive a robot through a house in which people live, and tell what its detector reports, with the truth beside it.

The robot drives through all rooms ten times a day, looks around in each, and sees what its camera shows: near enough,
within its opening, not behind a wall, a tall piece of furniture or a person. The detector misses some labels more than
others, what is far away and what is hidden in part; a share of its labels is wrong, mostly a similar one. Positions are
noisy, the more the farther away; now and then it is blind for some seconds, and rarely it reports what is not there.
"""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.worlds.objects import Detection, Point

from .house import FLOOR, House, hidden_share
from .life import DAY, MINUTE, MONDAY, SECOND, Being

LABELS = (
    "mug", "cup", "book", "notebook", "laptop", "tablet", "keys", "wallet", "phone", "remote", "backpack", "teddy",
    "bottle", "glasses", "umbrella", "hammer", "headphones", "scissors", "ball", "lamp", "person", "mirror", "dog",
    "box", "chair", "stool", "armchair", "sofa", "table", "desk", "shelf", "cabinet", "fridge", "wardrobe", "oven",
    "microwave", "sink", "toilet", "tv", "monitor", "plant", "basket", "clock", "picture", "printer", "toolbox", "bed",
    "bench", "washing machine", "dryer", "vacuum cleaner", "robot",
)  # fmt: skip
"""Labels of the detector; a wrong label is mostly that of the class beside it."""
PATROLS = (7.25, 8.75, 10.25, 11.75, 13.25, 14.75, 16.25, 17.75, 19.25, 21.25)
"""Hours at which it drives."""
_SPEED = 0.4
"""Metres a second."""
_TURN = 8
"""Pictures of a full turn."""
_EVERY = 3
"""Seconds between two pictures on the way."""
_HEIGHT = 1.0
"""Of the camera, in metres."""
_VERTICAL = math.radians(70)


class Detector(NamedTuple):
    """One detector: its stream, and its share of wrong labels at even and odd places of `LABELS`."""

    stream: str = "/camera"
    wrong: tuple[float, float] = (0.1, 0.1)


class Slip(NamedTuple):
    """A time in which the robot is localised wrongly: from one moment on at once, or more and more until it ends."""

    start: int
    end: int
    offset: complex
    """Metres; of a drift, at its end."""
    is_drift: bool = False

    def at(self, time: int) -> complex:
        """Return the error at a time."""
        if not self.start <= time < self.end:
            return 0j
        return self.offset * ((time - self.start) / (self.end - self.start) if self.is_drift else 1)


@dataclass(frozen=True)
class Settings:
    """Properties of a robot; lengths in metres."""

    detectors: tuple[Detector, ...] = (Detector(),)
    """They take turns."""
    misses: float = 1.0
    """How much is missed, relative to the first world."""
    false: float = 0.005
    """Share of pictures with a false alarm."""
    blind: float = 0.4
    """Chance that the detector is blind for some seconds of a drive."""
    localisation: float = 0.03
    """Standard deviation of the error of the robot's position."""
    slips: tuple[Slip, ...] = ()
    reach: float = 4.5
    """Distance up to which it detects anything."""
    opening: float = math.radians(90)
    view: float = 2.5
    """Distance that it tells with each message as that up to which it surely detects; 0 if it tells none."""
    view_opening: float = math.radians(80)
    delay: float = 0.0
    """Greatest delay of a message, in seconds; later ones may come before earlier ones."""
    has_map: bool = True
    """Whether the memory has the occupancy grid of the house."""


class Camera(NamedTuple):
    """Where the camera really is, and where it looks."""

    time: int
    place: complex
    heading: float

    def shows(self, position: Point, reach: float, opening: float) -> bool:
        """Tell whether a position is near enough and within the opening, with no wall between."""
        ray = complex(*position[:2]) - self.place
        distance = abs(ray)
        if not 0.3 <= distance <= reach or abs(math.atan2(position[2] - _HEIGHT, distance)) > _VERTICAL / 2:
            return False
        angle = cmath.phase(ray * cmath.rect(1, -self.heading))
        return abs(angle) <= opening / 2 and not FLOOR.wall_between(self.place, complex(*position[:2]))


class Message(NamedTuple):
    """All detections of one picture, which may be none. Positions are as the robot believes them."""

    stamp: int
    """Nanoseconds since the epoch."""
    arrived: int
    """When the memory gets it."""
    stream: str
    detections: tuple[Detection, ...]
    """Their `thing` is the index of the being, None for a false alarm."""
    origin: Point
    direction: Point
    camera: Camera
    """The truth, which no memory gets to know."""
    is_blind: bool


def patrol_times(dice: random.Random, days: int) -> list[int]:
    """Return when the drives of some days begin."""
    return [
        MONDAY + day * DAY + round(hour * 60 * MINUTE + dice.gauss(0, 3) * MINUTE)
        for day in range(days)
        for hour in PATROLS
    ]


def drive(
    dice: random.Random, house: House, beings: Sequence[Being], starts: Sequence[int], settings: Settings
) -> Iterator[Message]:
    """Yield the messages of drives that begin at some times, in the order of their stamps."""
    detect = _Detecting(dice, house, beings, settings)
    error = 0j
    for number, start in enumerate(starts):
        blind = start + round(dice.uniform(0, 300) * SECOND) if dice.random() < settings.blind else 0
        blind_end = blind + round(dice.uniform(4, 15) * SECOND)
        for index, camera in enumerate(_way(dice, house, start, backwards=number % 2 == 1)):
            error = 0.95 * error + complex(*(dice.gauss(0, settings.localisation * 0.31) for _ in range(2)))
            shift = error + sum(slip.at(camera.time) for slip in settings.slips)
            detector = settings.detectors[index % len(settings.detectors)]
            is_blind = blind <= camera.time < blind_end
            detections = () if is_blind else tuple(_moved(found, shift) for found in detect(camera, detector))
            believed, look = camera.place + shift, cmath.rect(1, camera.heading)
            yield Message(
                camera.time, camera.time + round(dice.uniform(0, settings.delay) * SECOND), detector.stream,
                detections, (believed.real, believed.imag, _HEIGHT), (look.real, look.imag, 0.0), camera, is_blind,
            )  # fmt: skip


def _moved(detection: Detection, shift: complex) -> Detection:
    x, y, z = detection.position
    return detection._replace(position=(x + shift.real, y + shift.imag, z))


def _way(dice: random.Random, house: House, start: int, *, backwards: bool) -> Iterator[Camera]:
    """Drive through all rooms, in each to a corner and back, and look around in its middle."""
    centres = list(house.centres.values())
    if backwards:
        centres.reverse()
    place, heading, time = centres[0], dice.uniform(-math.pi, math.pi), start
    for centre in centres:
        corner = centre + complex(dice.choice((-1, 1)) * 1.2, dice.choice((-1, 1)) * 0.8)
        for goal in (centre, corner, centre):
            while abs(goal - place) > _SPEED:
                heading = cmath.phase(goal - place)
                place += cmath.rect(_SPEED, heading)
                time += SECOND
                if time // SECOND % _EVERY == 0:
                    yield Camera(time, place, heading)
        for _ in range(_TURN):
            heading += 2 * math.pi / _TURN
            time += SECOND
            yield Camera(time, place, heading)


class _Detecting:
    """A detector in a house, with what makes each label easy or hard to detect."""

    def __init__(self, dice: random.Random, house: House, beings: Sequence[Being], settings: Settings) -> None:
        self._dice, self._tall, self._beings, self._settings = dice, house.tall, beings, settings
        self._ease = {label: min(max(dice.betavariate(10, 2), 0.5), 0.95) for label in LABELS}

    def __call__(self, camera: Camera, detector: Detector) -> Iterator[Detection]:
        dice, settings = self._dice, self._settings
        near = [
            (index, being, place)
            for index, being in enumerate(self._beings)
            if (place := being.place(camera.time)) is not None
            and abs(place[0] - camera.place.real) <= settings.reach
            and abs(place[1] - camera.place.imag) <= settings.reach
        ]
        people = [complex(*place[:2]) for _, being, place in near if being.label == "person"]
        order = [entry for entry in near if camera.shows(entry[2], settings.reach, settings.opening)]
        dice.shuffle(order)
        for index, being, place in order:
            distance = abs(complex(*place[:2]) - camera.place)
            hidden = hidden_share(camera.place, complex(*place[:2]), [*self._tall, *people])
            ease = self._ease[being.label] * (1 - 0.5 * (distance / settings.reach) ** 3) * (1 - hidden)
            if dice.random() >= 1 - settings.misses * (1 - ease):
                continue
            label, sure = being.label, 0.8
            if dice.random() < detector.wrong[LABELS.index(label) % 2]:
                label, sure = _wrong(dice, label), 0.65
            yield Detection(label, _noisy(dice, place, distance), _confidence(dice, sure - 0.03 * distance), index)
        if dice.random() < settings.false:
            yield self._false_alarm(camera)

    def _false_alarm(self, camera: Camera) -> Detection:
        dice, settings = self._dice, self._settings
        while True:
            ray = cmath.rect(
                dice.uniform(0.6, settings.reach), camera.heading + dice.uniform(-0.5, 0.5) * settings.opening
            )
            place = camera.place + ray
            point = (place.real, place.imag, _HEIGHT)
            if camera.shows(point, settings.reach, settings.opening):
                return Detection(dice.choice(LABELS), point, _confidence(dice, 0.55), None)


def _wrong(dice: random.Random, label: str) -> str:
    index = LABELS.index(label)
    if dice.random() < 0.7:
        return LABELS[index ^ 1]
    return LABELS[(index + dice.randrange(1, len(LABELS))) % len(LABELS)]


def _noisy(dice: random.Random, position: Point, distance: float) -> Point:
    x, y, z = (part + dice.gauss(0, 0.02 + 0.02 * distance) for part in position)
    return x, y, z


def _confidence(dice: random.Random, mean: float) -> float:
    return min(max(dice.gauss(mean, 0.12), 0.3), 0.99)
