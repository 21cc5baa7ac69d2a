"""Measure how well sightings become objects, on worlds with ground truth.

- found: true things that have a confirmed object (most of whose sightings are of the thing)
- stored: confirmed objects per true thing; the surplus are duplicates and objects of nothing
- precision: pairs of sightings in one object that are of one thing; recall: pairs of one thing that are in one object
- error: that of the objects' positions, beside that of the mean of each thing's detections, which is the noise floor
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.internals.database import NewMemory, perception
from bench.table import show
from bench.worlds.objects import Message, Odometry, Point, Settings, World, make_world
from robotmem_ros.memory import Memory, Pose, RobotMemory

_SETTINGS = {
    "as it is": Settings(),
    "no drift": Settings(drift=0.0),
    "drift 0.10 m": Settings(drift=0.10),
    "real odometry": Settings(odometry=Odometry()),
    "corrected every 3 m": Settings(odometry=Odometry(corrected_every=3.0)),
    "noise 0.12 m": Settings(noise=0.12),
    "missed 40 %": Settings(missed=0.4),
    "false 10 %": Settings(false=0.1),
    "with covariances": Settings(covariances=True),
    "long": Settings(rooms=3, patrols=60),
}
_HEAD = ("world", "things", "found", "stored", "false", "precision", "recall", "error mm", "floor mm", "ratio", "per s")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=3, help="worlds of each kind")


def run(options: argparse.Namespace) -> None:
    show(_HEAD, _rows(options.seeds))


def _rows(seeds: int) -> Iterator[tuple[str, ...]]:
    for name, settings in _SETTINGS.items():
        yield _row(name, _summed([measure(make_world(seed, settings), settings) for seed in range(seeds)]))


class Report(NamedTuple):
    """The objects of one world beside its things."""

    things: int
    object_count: int
    stored_count: int
    """Confirmed objects of things."""
    false: int
    """Confirmed objects of nothing."""
    precision: float
    recall: float
    error: float
    """Root of the mean squared distance of objects to their things, in metres."""
    floor: float
    """The same for the mean of the detections of each thing."""
    rate: float
    """Sightings a second."""

    @property
    def per_thing(self) -> float:
        """Return the confirmed objects of things per true thing."""
        return self.stored_count / self.things


def measure(world: World, settings: Settings) -> Report:
    """Store all messages of a world and compare the objects with the truth."""
    with RobotMemory(":memory:", embedding_model="") as memory:
        start = time.perf_counter()
        covariance = ((settings.noise**2, 0.0, 0.0), (0.0, settings.noise**2, 0.0), (0.0, 0.0, settings.noise**2))
        futures = [
            memory.store_sightings(sightings(message), [covariance] * len(message.detections) * settings.covariances)
            for message in world.messages
        ]
        ids = [[result.memory_id for result in future.result()] for future in futures]
        seconds = time.perf_counter() - start
        result = memory.recall(n=1000, min_confidence=0.0, context_filter={"confirmed": True})
        objects = {item.id: item for item in result.memories}
    return _report(world, ids, objects, sum(map(len, ids)) / seconds)


def sightings(message: Message) -> list[NewMemory]:
    """Return the sightings of a message."""
    return [
        perception(
            f"a {detection.label}", message.stamp, pose=Pose(*detection.position), label=detection.label,
            confidence=detection.confidence, perception_type="visual",
        )
        for detection in message.detections
    ]  # fmt: skip


def _report(world: World, ids: list[list[int]], objects: dict[int, Memory], rate: float) -> Report:
    members: defaultdict[int, Counter[int | None]] = defaultdict(Counter)
    places: defaultdict[int, list[Point]] = defaultdict(list)
    for message, became in zip(world.messages, ids, strict=True):
        for detection, memory_id in zip(message.detections, became, strict=True):
            members[memory_id][detection.thing] += 1
            if detection.thing is not None:
                places[detection.thing].append(detection.position)
    owner = {memory_id: counts.most_common(1)[0][0] for memory_id, counts in members.items()}
    confirmed_objects = {memory_id: seen_object for memory_id, seen_object in objects.items() if seen_object.confirmed}
    of_things = {memory_id: thing for memory_id in confirmed_objects if (thing := owner[memory_id]) is not None}
    best = {
        thing: memory_id
        for memory_id, thing in sorted(of_things.items(), key=lambda item: sum(members[item[0]].values()))
    }
    errors = [
        math.dist(_pose(confirmed_objects[memory_id]), world.things[thing].position)
        for thing, memory_id in best.items()
    ]
    floors = [math.dist(_mean(places[thing]), world.things[thing].position) for thing in best]
    precision, recall = _pairs(members)
    return Report(
        len(world.things), len(best), len(of_things), len(confirmed_objects) - len(of_things), precision, recall,
        _rms(errors), _rms(floors), rate,
    )  # fmt: skip


def _pairs(members: dict[int, Counter[int | None]]) -> tuple[float, float]:
    together = sum(math.comb(sum(counts.values()), 2) for counts in members.values())
    right = sum(math.comb(n, 2) for counts in members.values() for thing, n in counts.items() if thing is not None)
    totals: Counter[int] = Counter()
    for counts in members.values():
        totals.update({thing: n for thing, n in counts.items() if thing is not None})
    return right / together, right / sum(math.comb(n, 2) for n in totals.values())


def _pose(memory: Memory) -> Point:
    assert memory.pose is not None
    return memory.pose[:3]


def _mean(places: list[Point]) -> Point:
    x, y, z = (statistics.fmean(axis) for axis in zip(*places, strict=True))
    return (x, y, z)


def _rms(values: Iterable[float]) -> float:
    return math.sqrt(statistics.fmean(value * value for value in values))


def _summed(reports: list[Report]) -> Report:
    """Return the sums of counts and the means of the rest."""
    columns = list(zip(*reports, strict=True))
    return Report(*(sum(column) for column in columns[:4]), *(statistics.fmean(column) for column in columns[4:]))


def _row(name: str, report: Report) -> tuple[str, ...]:
    """Return one row of the table."""
    return (
        name, str(report.things), f"{report.object_count / report.things:.1%}", f"{report.per_thing:.3f}",
        str(report.false), f"{report.precision:.4f}", f"{report.recall:.4f}", f"{report.error * 1000:.1f}",
        f"{report.floor * 1000:.1f}",
        f"{report.error / report.floor:.3f}", f"{report.rate:.0f}",
    )  # fmt: skip
