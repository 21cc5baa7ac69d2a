"""Ask a memory about a week, each question in one function, and ask the same of the last sightings of each label.

What a memory cannot be asked is put as a user would put it with the arguments that there are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from time import process_time
from typing import NamedTuple, Protocol

from bench.internals.database import NewMemory, perception
from bench.worlds.objects import Point
from bench.worlds.week import DAY, HOUR, MONDAY, Message, Settings
from bench.worlds.week.house import FLOOR
from bench.worlds.week.truth import Change, LastSeen, is_near
from robotmem_ros.memory import FieldOfView, OccupancyGrid, Origin, Pose, RobotMemory

_BELIEVED = 0.5
"""Presence from which a thing is believed to be there."""
_BATCH = 64
"""Messages that are stored without waiting for each."""
_ALL = 1000
"""Results of a query that is to leave none out."""
_CELL = 0.1
"""Metres."""


class Belief(NamedTuple):
    """A thing that is believed to be at a place."""

    label: str
    position: Point
    probability: float


class Answers(Protocol):
    """Answers questions about the messages that it was given."""

    def tell(self, messages: Sequence[Message], now: int) -> None:
        """Take messages in the order in which they arrive; then it is `now`."""
        ...

    def where_at(self, label: str, time: int) -> Point | None:
        """Return where something of a label was at a time."""
        ...

    def usually(self, label: str, hour: int, days: int) -> Point | None:
        """Return where something of a label mostly was at an hour of some days from Monday on."""
        ...

    def changed_since(self, time: int) -> list[Change]:
        """Return what came or left since a time."""
        ...

    def last_seen(self, label: str) -> LastSeen | None:
        """Return when and where something of a label was seen last."""
        ...

    def believed(self) -> list[Belief]:
        """Return what is believed to be there now."""
        ...

    def beliefs(self) -> list[Belief]:
        """Return all that may be there now, with the probability of each."""
        ...


class MemoryAnswers:
    """Asks a memory by its public interface; the clock of the memory is that of the messages."""

    def __init__(self, settings: Settings, path: str | Path = ":memory:") -> None:
        self.now = MONDAY
        self.cpu = 0.0
        """Seconds of CPU that the messages took, in all threads."""
        self._settings = settings
        self.memory = RobotMemory(path, embedding_model="", clock=lambda: self.now)
        if settings.has_map:
            self.memory.maps.save(_map())

    def tell(self, messages: Sequence[Message], now: int) -> None:
        """Store the messages, some at a time, each time by the clock of the last."""
        start = process_time()
        rest = iter(messages)
        while batch := list(islice(rest, _BATCH)):
            # What is ahead of the clock would count as wrong.
            self.now = max(self.now, *(message.arrived for message in batch))
            for future in [
                self.memory.store_sightings(_sightings(message), field_of_view=self._view(message))
                for message in batch
                if message.detections or self._settings.view
            ]:
                future.result()
        self.cpu += process_time() - start
        self.now = max(self.now, now)

    def where_at(self, label: str, time: int) -> Point | None:
        """Return the place of the object that stayed there at a time, as looks before and after it tell."""
        hits = self.memory.recall(labels=[label], after=time, before=time + 1, n=1, count_usage=False).memories
        return _position(hits[0].pose) if hits else None

    def usually(self, label: str, hour: int, days: int) -> Point | None:
        """Return where most of the days say, each asked alone."""
        return _mostly(self.where_at, label, hour, days)

    def changed_since(self, time: int) -> list[Change]:
        """Return what recall tells: an object that moved left one place and came to another."""
        found = self.memory.recall(changed_since=time, n=_ALL, fold=False, count_usage=False).memories
        came = [(memory.label, memory.change != "left", memory.pose) for memory in found]
        left = [(memory.label, False, memory.moved_from) for memory in found if memory.moved_from is not None]
        return [Change(label, has_come, _position(pose)) for label, has_come, pose in came + left]

    def last_seen(self, label: str) -> LastSeen | None:
        """Return the latest sighting of an object of the label, however sure it is."""
        hits = self.memory.recall(labels=[label], n=1, min_confidence=0.0, count_usage=False).memories
        return LastSeen(label, hits[0].observed_at, _position(hits[0].pose)) if hits else None

    def believed(self) -> list[Belief]:
        """Return the confirmed objects that are still there, more likely than not."""
        return [
            Belief(item.label, item.position, item.presence)
            for item in self.memory.objects()
            if item.presence >= _BELIEVED
        ]

    def beliefs(self) -> list[Belief]:
        """Return all objects with the probability that they are there."""
        return [
            Belief(item.label, item.position, item.presence) for item in self.memory.objects(include_unconfirmed=True)
        ]

    def window(self, after: int, before: int, label: str = "") -> int:
        """Return how much was observed in a window, at most 50, of a label if there is one."""
        return len(self.memory.timeline(after=after, before=before, labels=[label] if label else (), n=50))

    def _view(self, message: Message) -> FieldOfView | None:
        if not self._settings.view:
            return None
        return FieldOfView(
            message.origin, message.direction, message.stamp, max_range=self._settings.view,
            horizontal=self._settings.view_opening, vertical=math.radians(60), stream=message.stream,
        )  # fmt: skip


class LastSightings:
    """Answers by the last sighting of each label; all sightings of a label within a metre are of one thing."""

    _RADIUS = 1.0

    class _Thing(NamedTuple):
        position: Point
        first_seen: int
        last_seen: int
        confidence: float

    def __init__(self) -> None:
        self._things: defaultdict[str, list[LastSightings._Thing]] = defaultdict(list)
        self._sightings: defaultdict[str, list[tuple[int, Point]]] = defaultdict(list)

    def tell(self, messages: Sequence[Message], now: int) -> None:
        """Put each sighting in the place of the last one within a metre."""
        for message in messages:
            for label, position, confidence, _ in message.detections:
                self._sightings[label].append((message.stamp, position))
                things = self._things[label]
                same = next((thing for thing in things if math.dist(thing.position, position) <= self._RADIUS), None)
                if same is not None:
                    things.remove(same)
                things.append(
                    self._Thing(position, same.first_seen if same else message.stamp, message.stamp, confidence)
                )

    def where_at(self, label: str, time: int) -> Point | None:
        """Return the place of the last sighting before a time."""
        before = [sighting for sighting in self._sightings[label] if sighting[0] <= time]
        return max(before)[1] if before else None

    def usually(self, label: str, hour: int, days: int) -> Point | None:
        """Return where most of the days say."""
        return _mostly(self.where_at, label, hour, days)

    def changed_since(self, time: int) -> list[Change]:
        """Return what was seen nowhere near before."""
        return [
            Change(label, True, thing.position)
            for label, things in self._things.items()
            for thing in things
            if thing.first_seen >= time
        ]

    def last_seen(self, label: str) -> LastSeen | None:
        """Return the last sighting."""
        return LastSeen(label, *max(self._sightings[label])) if self._sightings[label] else None

    def believed(self) -> list[Belief]:
        """Return all things: nothing says that one has left."""
        return [
            Belief(label, thing.position, thing.confidence)
            for label, things in self._things.items()
            for thing in things
        ]

    beliefs = believed


def _mostly(where_at: Callable[[str, int], Point | None], label: str, hour: int, days: int) -> Point | None:
    places = [where_at(label, MONDAY + day * DAY + hour * HOUR) for day in range(days)]
    return max(places, key=lambda place: sum(is_near(place, other) for other in places))


def _position(pose: Pose | None) -> Point:
    assert pose is not None
    return pose.x, pose.y, pose.z


def _sightings(message: Message) -> list[NewMemory]:
    return [
        perception(
            f"a {label}", message.stamp, pose=Pose(*position), label=label, confidence=confidence,
            perception_type="visual", stream=message.stream, received_at=message.arrived,
        )
        for label, position, confidence, _ in message.detections
    ]  # fmt: skip


def _map() -> OccupancyGrid:
    rows = FLOOR.cells(_CELL)
    return OccupancyGrid(
        frame_id="map", resolution=_CELL, origin=Origin(-_CELL / 2, -_CELL / 2), width=len(rows[0]), height=len(rows),
        cells=bytes(100 * is_wall for row in rows for is_wall in row), observed_at=MONDAY,
    )  # fmt: skip
