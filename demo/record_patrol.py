#!/usr/bin/env python3
"""Record a robot's patrol through a house as a ROS 2 bag (rosbag2, MCAP), the same one every time. Needs no ROS.

python3 demo/record_patrol.py FOLDER

The robot drives two rounds through all rooms, sees things with noise, tries tasks, and hears and learns a few things.
The recording also has the map of the house, and where the robot was.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from demo.floor_plan import ORIGIN, RESOLUTION, floor_plan  # noqa: E402
from demo.house import ATTEMPTS, DOCK, END, LAP, REMARKS, ROOMS, THINGS, Attempt, Remark, Thing  # noqa: E402

TOPIC = "/memory/perception"
TYPE = "robotmem_ros/msg/Perception"
_MAP, _MAP_TYPE = "/map", "nav_msgs/msg/OccupancyGrid"
_TF, _TF_TYPE = "/tf", "tf2_msgs/msg/TFMessage"
SESSION = "patrol-2026-01-05"
START = 1_767_603_600
"""Seconds since the epoch when the patrol begins: 2026-01-05, 9:00 UTC."""
_SEED = 20260105
_SPEED = 0.27  # m/s
_LOOK_EVERY = 0.75  # s
_RANGE = 3.0  # m
_STEPS = 16
_NS = 1_000_000_000
_LAPS = (1, 2)

Spot = tuple[float, float]


@dataclass(frozen=True)
class Pose:
    """Position of the robot at a time (seconds since the patrol began), and the number of the round."""

    seconds: float
    x: float
    y: float
    room: str
    lap: int


@dataclass(frozen=True)
class Event:
    """One perception of the recording, and what it is really about; `position` is as measured, in metres."""

    pose: Pose
    about: Thing | Attempt | Remark
    position: tuple[float, float, float]

    @property
    def stamp(self) -> int:
        """Return the time of the perception, in nanoseconds since the epoch."""
        return START * _NS + round(self.pose.seconds * 1000) * 1_000_000


@dataclass(frozen=True)
class Truth:
    """Ground truth of a recording, in order of time."""

    events: tuple[Event, ...]
    end: int
    """Nanoseconds since the epoch."""
    robot: tuple[float, float, float]
    """Where the robot stands at the end, in metres."""

    def nearest(self, label: str, colour: str) -> tuple[Thing, float]:
        """Return the thing of a kind that is really nearest to the robot at the end, and its distance in metres."""
        things = [thing for thing in THINGS if (thing.label, thing.colour) == (label, colour)]
        return min(((thing, math.dist(thing.position, self.robot)) for thing in things), key=lambda pair: pair[1])

    def seen_in(self, room: str, *, after: int) -> list[Thing]:
        """Return what was seen in a room from a time on, each thing once."""
        events = (event for event in self.events if event.stamp >= after)
        things = (event.about for event in events if isinstance(event.about, Thing) and event.about.room == room)
        return list(dict.fromkeys(things))

    def forces_that_worked(self, target: str, *, below: float) -> set[float]:
        """Return the forces under a limit, in newtons, with which a task on a target succeeded."""
        attempts = (event.about for event in self.events if isinstance(event.about, Attempt))
        fits = (attempt for attempt in attempts if attempt.target == target and attempt.success)
        return {attempt.force for attempt in fits if attempt.force < below}

    def remark(self, about: str) -> Remark:
        """Return the remark about a subject."""
        return next(remark for remark in REMARKS if remark.about == about)


def record(folder: Path) -> Truth:
    """Write the recording to a folder that does not exist yet, and return the truth about it."""
    truth = simulate()
    store = get_typestore(Stores.LATEST)
    store.register(get_types_from_msg((ROOT / "msg" / "Perception.msg").read_text(), TYPE))
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        messages = [(event.stamp, TOPIC, TYPE, _message(event, store.types)) for event in truth.events]
        messages.append((START * _NS, _MAP, _MAP_TYPE, _map(store.types)))
        messages += [(stamp, _TF, _TF_TYPE, message) for stamp, message in _transforms(store.types)]
        connections: dict[str, Any] = {}
        for stamp, topic, kind, message in sorted(messages, key=lambda entry: entry[0]):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic], stamp, store.serialize_cdr(message, kind))
    return truth


def simulate() -> Truth:
    """Generate the events of the patrol."""
    chance = random.Random(_SEED)
    way = list(_drive())
    events = [*_sightings(way, chance), *_happenings(way)]
    events.sort(key=lambda event: event.stamp)
    last = way[-1]
    end = START * _NS + math.ceil(last.seconds * _NS)
    return Truth(tuple(events), end, (round(last.x, 3), round(last.y, 3), 0.0))


def _drive() -> Iterator[Pose]:
    """Return the robot's position at each look, at a steady speed along a smooth curve through the way points."""
    corners = [DOCK, *LAP, *LAP, END]
    curve = list(_smooth(corners))
    metres = [0.0, *accumulate(math.dist(a, b) for a, b in pairwise(curve))]
    halfway = metres[len(LAP) * _STEPS]
    for look in range(int(metres[-1] / _SPEED / _LOOK_EVERY) + 1):
        seconds = look * _LOOK_EVERY
        driven = seconds * _SPEED
        step = min(bisect(metres, driven), len(curve) - 1)
        part = (driven - metres[step - 1]) / (metres[step] - metres[step - 1])
        (x0, y0), (x1, y1) = curve[step - 1], curve[step]
        x, y = x0 + part * (x1 - x0), y0 + part * (y1 - y0)
        room = next(room.name for room in ROOMS if room.holds(x, y))
        yield Pose(seconds, x, y, room, _LAPS[driven > halfway])


def _smooth(corners: Sequence[Spot]) -> Iterator[Spot]:
    """Compute a Catmull-Rom spline through the corners, `_STEPS` points from each to the next."""
    ends = [corners[0], *corners, corners[-1]]
    for a, b, c, d in zip(ends, ends[1:], ends[2:], ends[3:], strict=False):
        for t in (step / _STEPS for step in range(_STEPS)):
            yield (_spline(a[0], b[0], c[0], d[0], t), _spline(a[1], b[1], c[1], d[1], t))
    yield corners[-1]


def _spline(a: float, b: float, c: float, d: float, t: float) -> float:
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))


def _sightings(way: Sequence[Pose], chance: random.Random) -> Iterator[Event]:
    for pose in way:
        for thing in THINGS:
            distance = math.dist((pose.x, pose.y), thing.position[:2])
            visible = thing.room == pose.room and pose.lap in thing.laps and distance < _RANGE
            # The farther a thing is, the less often the detector sees it, and the less sure it is where.
            if visible and chance.random() < 0.25 * (1.2 - distance / _RANGE):
                noise = 0.02 + 0.02 * distance
                x, y, z = (round(chance.gauss(value, noise), 3) for value in thing.position)
                yield Event(pose, thing, (x, y, z))


def _happenings(way: Sequence[Pose]) -> Iterator[Event]:
    """Generate attempts and remarks, spread over the visit to the room to which they belong."""
    for lap in _LAPS:
        for room in ROOMS:
            visit = [pose for pose in way if (pose.lap, pose.room) == (lap, room.name)]
            happen = [event for event in (*ATTEMPTS, *REMARKS) if (event.lap, event.room) == (lap, room.name)]
            for index, event in enumerate(happen, start=1):
                pose = visit[len(visit) * index // (len(happen) + 1)]
                yield Event(pose, event, (round(pose.x, 3), round(pose.y, 3), 0.0))


def _map(types: Any) -> Any:
    cells = floor_plan()
    height, width = cells.shape
    upright = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    origin = types["geometry_msgs/msg/Pose"](types["geometry_msgs/msg/Point"](*ORIGIN, 0.0), upright)
    header = _header(START * _NS, types)
    info = types["nav_msgs/msg/MapMetaData"](header.stamp, RESOLUTION, width, height, origin)
    return types[_MAP_TYPE](header, info, cells.ravel())


def _transforms(types: Any) -> Iterator[tuple[int, Any]]:
    """Generate where the robot is at each look; it looks where it drives to."""
    way = list(_drive())
    for before, pose, ahead in zip([way[0], *way], way, [*way[1:], way[-1]], strict=False):
        start, end = (pose, ahead) if ahead is not pose else (before, pose)
        yaw = math.atan2(end.y - start.y, end.x - start.x)
        stamp = START * _NS + round(pose.seconds * _NS)
        shift = types["geometry_msgs/msg/Vector3"](pose.x, pose.y, 0.0)
        turn = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
        stamped = types["geometry_msgs/msg/TransformStamped"](
            _header(stamp, types), "base_link", types["geometry_msgs/msg/Transform"](shift, turn)
        )
        yield stamp, types[_TF_TYPE]([stamped])


def _header(stamp: int, types: Any) -> Any:
    return types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](*divmod(stamp, _NS)), "map")


def _message(event: Event, types: Any) -> Any:
    sense, text, label, context = _perception_fields(event)
    context["spatial"] = {"room": event.pose.room, "object_position": list(event.position)}
    context["robot"] = {"id": "patrol-robot", "position": [round(event.pose.x, 3), round(event.pose.y, 3)]}
    context["env"] = {"sim_or_real": "sim"}
    point = types["geometry_msgs/msg/Point"](*map(float, event.position))
    upright = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    return types[TYPE](
        header=_header(event.stamp, types),
        description=text,
        perception_type=sense,
        pose=[types["geometry_msgs/msg/Pose"](point, upright)],
        size=types["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0),
        label=label,
        as_object=True,
        confidence=0.9,
        context=json.dumps(context, ensure_ascii=False, separators=(",", ":")),
        data=np.empty(0, np.uint8),
        data_format="",
        session_id=SESSION,
        collection="",
    )


def _perception_fields(event: Event) -> tuple[str, str, str, dict[str, Any]]:
    """Return sense, words, label and the event's own part of the context."""
    subject = event.about
    if isinstance(subject, Thing):
        return "visual", subject.description, subject.label, {"object": {"colour": subject.colour}}
    if isinstance(subject, Remark):
        return subject.sense, subject.text, "", {}
    force = "grip force" if subject.task == "grasp" else "force"
    attempt = f"tried to {subject.task} the {subject.target} {subject.place} with a {force} of {subject.force:g} N"
    task = {"name": subject.task, "object": subject.target, "success": subject.success}
    return (
        "procedural",
        f"{attempt}: {subject.outcome}",
        subject.target,
        {"task": task, "params": {"force": {"value": subject.force, "unit": "N"}}},
    )


def main() -> None:
    """Record into the folder that is named on the command line."""
    parser = argparse.ArgumentParser(description="Records the sample patrol as a ROS 2 bag.")
    parser.add_argument("folder", type=Path, help="where to write it; must not exist yet")
    truth = record(parser.parse_args().folder)
    print(f"{len(truth.events)} perceptions in {(truth.end - START * _NS) / _NS / 60:.1f} minutes")


if __name__ == "__main__":
    main()
