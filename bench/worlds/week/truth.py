"""Know what is true of a week, what a robot could know of it, and so what can be asked and what is right.

Asked is only for what the messages tell: where a thing was between two sightings of one stay; that it is gone once its
place was looked at twice. A look at a place shows it clearly: near, not hidden, well within the opening.
"""

from __future__ import annotations

import bisect
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from bench.worlds.objects import Point

from . import Message, World
from .house import hidden_share
from .life import DAY, HOUR, LIVING, MONDAY, SECOND, Being, Stay

NEAR = 0.75
"""Metres from a place to the true one, at most."""
LOOKS = 2
"""Looks or sightings after which something can be known."""
HOURS = (9, 12, 18)
_CLEAR, _CLEAR_OPENING = 2.5, math.radians(70)
_REGULAR = 5
"""Days of seven on which a thing is at its usual place, at least."""
_UNAWARE = 6 * HOUR
"""How long a memory may believe what was, before it reports a change as one since then."""


def is_near(place: Point | None, other: Point | None) -> bool:
    """Tell whether two places are one; None is no place, and is only near itself."""
    if place is None or other is None:
        return place is other
    return math.dist(place, other) <= NEAR


class WhereAt(NamedTuple):
    """Where a thing was at a time."""

    label: str
    time: int
    place: Point | None
    """None for nowhere in the house."""
    is_unknown: bool = False
    """Whether nobody can know, so that none is right, too."""

    def is_answered_by(self, place: Point | None) -> bool:
        """Tell whether a place, or None for unknown, is right."""
        return (self.is_unknown and place is None) or is_near(place, self.place)


class Usually(NamedTuple):
    """Where a thing mostly is at an hour of the day, UTC."""

    label: str
    hour: int
    place: Point | None


class Change(NamedTuple):
    """A thing that came to a place or left it; one that moved did both."""

    label: str
    came: bool
    place: Point


class LastSeen(NamedTuple):
    """When and where a thing was detected last."""

    label: str
    time: int
    place: Point


class Truth:
    """The truth about a week."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._tall = world.house.tall
        self._by_stamp = sorted(world.messages, key=lambda message: message.stamp)
        self._stamps = [message.stamp for message in self._by_stamp]
        counts = Counter(being.label for being in world.beings)
        self.movable = [
            index for index, being in enumerate(world.beings) if not being.is_furniture and being.label not in LIVING
        ]
        self.single = [index for index in self.movable if counts[world.beings[index].label] == 1]
        """Movable things of whose label there is one."""

    @cached_property
    def _sightings(self) -> dict[int, list[int]]:
        """The times at which each being was detected by its label, near to where it was."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for message in self._by_stamp:
            for detection in message.detections:
                if detection.thing is None:
                    continue
                being = self._world.beings[detection.thing]
                if detection.label == being.label and is_near(detection.position, being.place(message.stamp)):
                    found[detection.thing].append(message.stamp)
        return found

    def is_there(self, label: str, place: Point, time: int) -> bool:
        """Tell whether something of a label is at a place at a time."""
        return any(is_near(place, now) for now in self.places(label, time))

    def places(self, label: str, time: int) -> list[Point]:
        """Return where all of a label are at a time."""
        return [
            place for being in self._world.beings if being.label == label and (place := being.place(time)) is not None
        ]

    def could_know(self, label: str, place: Point, time: int) -> bool:
        """Tell whether looks showed by a time that nothing of a label is at a place any more."""
        left = max(
            (
                stay.end
                for being in self._world.beings
                if being.label == label
                for stay in being.stays
                if stay.end <= time and is_near(stay.position, place)
            ),
            default=MONDAY,
        )
        return self._looked(place, left, time)

    def where_at(self, dice: random.Random, count: int) -> Iterator[WhereAt]:
        """Yield questions for things between two sightings in one stay."""
        spans = [
            (self._world.beings[index], stay, times[0], times[-1])
            for index in self.single
            for stay in self._world.beings[index].stays
            if len(times := self._within(index, stay)) >= LOOKS and times[-1] - times[0] > 10 * SECOND
        ]
        for being, stay, first, last in dice.sample(spans, min(count, len(spans))):
            yield WhereAt(being.label, dice.randint(first, last), stay.position)

    def gone_at(self, dice: random.Random, count: int) -> Iterator[WhereAt]:
        """Yield questions for things that have left a place, as looks show, and were not seen elsewhere."""
        spans = []
        for index in self.single:
            being = self._world.beings[index]
            for stay in being.stays:
                if len(self._within(index, stay)) < LOOKS:
                    continue
                looks = list(islice(self._looks(stay.position, stay.end, stay.end + DAY), LOOKS))
                seen = self._sightings[index]
                after = bisect.bisect_right(seen, stay.end)
                again = seen[after] if after < len(seen) else self._stamps[-1]
                if len(looks) == LOOKS and looks[-1] < again - 60 * SECOND:
                    spans.append((being, looks[-1] + SECOND, again - SECOND))
        for being, first, last in dice.sample(spans, min(count, len(spans))):
            time = dice.randint(first, last)
            yield WhereAt(being.label, time, being.place(time), is_unknown=True)

    def any_time(self, dice: random.Random, count: int) -> Iterator[WhereAt]:
        """Yield questions for any time of the days, also such that nobody can know."""
        for _ in range(count):
            being = self._world.beings[dice.choice(self.single)]
            time = MONDAY + dice.randrange(self._world.days) * DAY + round(dice.uniform(9, 21) * HOUR)
            yield WhereAt(being.label, time, being.place(time))

    def usually(self) -> Iterator[Usually]:
        """Yield where things are at 9, 12 and 18 on most days."""
        for index in self.single:
            being = self._world.beings[index]
            for hour in HOURS:
                places = [being.place(MONDAY + day * DAY + hour * HOUR) for day in range(self._world.days)]
                most = max(places, key=lambda place: sum(is_near(place, other) for other in places))
                if sum(is_near(most, other) for other in places) >= _REGULAR * self._world.days / 7:
                    yield Usually(being.label, hour, most)

    def last_seen(self, now: int) -> Iterator[LastSeen]:
        """Yield when things were detected last that were detected twice in that stay."""
        for index in self.single:
            being = self._world.beings[index]
            seen = self._sightings[index]
            last = bisect.bisect_right(seen, now)
            stay = being.stay(seen[last - 1]) if last else None
            if stay is not None and len(self._within(index, stay, now)) >= LOOKS:
                yield LastSeen(being.label, seen[last - 1], stay.position)

    def findable(self, now: int, of: Iterable[int] | None = None) -> list[tuple[str, Point]]:
        """Return the things, by default the movable ones, that are there and were detected where they are."""
        found = []
        for index in self.movable if of is None else of:
            being = self._world.beings[index]
            stay = being.stay(now)
            if stay is not None and len(self._within(index, stay, now)) >= LOOKS:
                found.append((being.label, stay.position))
        return found

    def changes(self, since: int, now: int) -> Iterator[Change]:
        """Yield what changed from one time to another, as the messages tell."""
        for index in self.movable:
            being = self._world.beings[index]
            before, after = being.stay(since), being.stay(now)
            if is_near(before and before.position, after and after.position):
                continue
            last = being.last_stay(since)
            if not self._knew(index, being, last, since):
                continue
            label = being.label
            has_seen = after is not None and len(self._within(index, after, now)) >= LOOKS
            if after is not None and has_seen and not self.is_there(label, after.position, since):
                yield Change(label, True, after.position)
            has_looked = before is not None and self._looked(before.position, before.end, now)
            if before is not None and has_looked and not self.is_there(label, before.position, now):
                yield Change(label, False, before.position)

    def is_change(self, change: Change, since: int, now: int) -> bool:
        """Tell whether a change is one from a time, or from the hours before in which nobody looked, to another."""
        is_there = self.is_there(change.label, change.place, now)
        if is_there != change.came:
            return False
        stays = [
            stay
            for being in self._world.beings
            if being.label == change.label
            for stay in being.stays
            if is_near(stay.position, change.place)
        ]
        if change.came:
            return any(since - _UNAWARE <= stay.start <= now for stay in stays)
        return any(since - _UNAWARE <= stay.end <= now for stay in stays)

    def _knew(self, index: int, being: Being, last: Stay | None, since: int) -> bool:
        """Tell whether messages before a time tell where a thing was then, or that it was not there."""
        if last is None:
            return True
        if since < last.end:
            return len(self._within(index, last, since)) >= LOOKS
        return self._looked(last.position, last.end, since)

    def _within(self, index: int, stay: Stay, now: int | None = None) -> list[int]:
        """Return the sightings of a being in a stay, up to a time."""
        times = self._sightings[index]
        until = stay.end if now is None else min(stay.end, now)
        return times[bisect.bisect_left(times, stay.start) : bisect.bisect_left(times, until)]

    def _looked(self, place: Point, after: int, before: int) -> bool:
        return len(list(islice(self._looks(place, after, before), LOOKS))) == LOOKS

    def _looks(self, place: Point, after: int, before: int) -> Iterator[int]:
        """Yield when a place was clearly in view."""
        for message in self._between(after, before):
            camera = message.camera
            if (
                not message.is_blind
                and abs(place[0] - camera.place.real) <= _CLEAR
                and abs(place[1] - camera.place.imag) <= _CLEAR
                and camera.shows(place, _CLEAR, _CLEAR_OPENING)
                and not hidden_share(camera.place, complex(*place[:2]), self._blockers(camera.time))
            ):
                yield message.stamp

    def _between(self, after: int, before: int) -> Iterable[Message]:
        first, last = (bisect.bisect_left(self._stamps, time) for time in (after, before))
        return (self._by_stamp[index] for index in range(first, last))

    def _blockers(self, time: int) -> list[complex]:
        people = (being.place(time) for being in self._world.beings if being.label == "person")
        return [*self._tall, *(complex(*place[:2]) for place in people if place is not None)]
