"""A memory that fills a page: a house with its objects, sessions that went well or not, a map and the robot's path."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from demo.house import ATTEMPTS, LAP, REMARKS, ROOMS, THINGS
from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory
from robotmem_ros.memory.maps import Move, PathPart

from ..clock import SECOND, Clock

SCRIPT = "<script>document.title = 'broken'</script><img src=x onerror=\"document.title='broken'\"> was on a note"
"""A text that must be shown as it is."""
PICTURE = "the pump of the dishwasher leaks"
_RESOLUTION, _MARGIN = 0.05, 1.0
"""Metres of a cell, and metres of the map around the house."""
_STEP = 0.2
"""Metres between two points of the path."""
_SPEED = 0.4
_ROUNDS = 4
_OUTCOMES = (0.95, 0.2, None, None)
_TASKS = ("morning patrol", "carry glasses", "evening patrol", "night patrol")


def fill(memory: RobotMemory, clock: Clock) -> None:
    """Let the robot drive four rounds through the house, each a session; the last one is still open.

    The clock is that of the memory; it stands at the end of the last round afterwards.
    """
    start = clock.now
    memory.maps.save(_floor_plan(start))
    for lap, (task, outcome) in enumerate(zip(_TASKS, _OUTCOMES, strict=True)):
        session = memory.start_session({"task": task}, "house")
        _drive(memory, clock, lap, session.session_id)
        if lap < _ROUNDS - 1:
            memory.end_session(session.session_id, outcome)
            clock.now += 300 * SECOND
    _facts(memory, clock)
    memory.flush()


def _drive(memory: RobotMemory, clock: Clock, lap: int, session: str) -> None:
    began, moves, seen = clock.now, [], set()
    for x, y, yaw in _way():
        clock.now += round(_STEP / _SPEED * SECOND)
        moves.append(Move(clock.now, x, y, yaw, began))
        for nth, thing in enumerate(THINGS):
            where = thing.position
            is_doubtful = nth % 9 == 8
            if nth in seen or lap % 2 + 1 not in thing.laps or math.dist((x, y), where[:2]) > 2.0:
                continue
            if is_doubtful and lap < _ROUNDS - 1:
                continue
            seen.add(nth)
            jitter = 0.02 * math.sin(7.0 * nth + lap)
            memory.save_perception(
                thing.description, pose=(where[0] + jitter, where[1] - jitter, where[2]), label=thing.label,
                confidence=0.3 if is_doubtful else 0.9, observed_at=clock.now, session_id=session, collection="house",
                context={"colour": thing.colour},
            )  # fmt: skip
    memory.maps.store_path(PathPart(tuple(moves), "map", "", "house")).result()
    for place, attempt in enumerate(ATTEMPTS):
        if attempt.lap == lap + 1:
            clock.now += SECOND
            memory.learn(
                f"{attempt.task} of the {attempt.target} {attempt.place} with {attempt.force} N: {attempt.outcome}",
                {"task": {"name": attempt.task, "success": attempt.success}, "params": {"force": attempt.force}},
                session_id=session, collection="house", observed_at=clock.now, tags=[attempt.room.replace(" ", "-")],
                category="observation" if place % 3 else "gotcha",
            )  # fmt: skip


def _facts(memory: RobotMemory, clock: Clock) -> None:
    for nth, remark in enumerate(REMARKS):
        x, y = LAP[3 * nth % len(LAP)]
        memory.save_perception(
            remark.text, remark.sense, pose=(x, y, 0.0), collection="house", label=remark.about,
            observed_at=clock.now - (60 - nth) * SECOND, as_object=False,
        )  # fmt: skip
    picture = io.BytesIO()
    image = Image.new("RGB", (160, 96), (64, 92, 110))
    ImageDraw.Draw(image).ellipse((52, 20, 108, 76), fill=(210, 120, 60))
    image.save(picture, "jpeg")
    memory.save_perception(
        PICTURE, data=picture.getvalue(), metadata={"format": "jpeg"}, pose=(1.0, 3.0, 0.2), label="leak",
        as_object=False, collection="house", observed_at=clock.now - 30 * SECOND,
    )  # fmt: skip
    memory.learn(SCRIPT, collection="house", observed_at=clock.now - 20 * SECOND, category="postmortem")
    memory.learn("rinse the glass before the robot takes it", collection="lab", observed_at=clock.now - 10 * SECOND)


def _way() -> Iterator[tuple[float, float, float]]:
    for (x, y), (to_x, to_y) in pairwise((*LAP, LAP[0])):
        far = math.dist((x, y), (to_x, to_y))
        yaw = math.atan2(to_y - y, to_x - x)
        for nth in range(round(far / _STEP)):
            share = nth * _STEP / far
            yield x + share * (to_x - x), y + share * (to_y - y), yaw


def _cell(metres: float) -> int:
    return round((metres + _MARGIN) / _RESOLUTION)


def _floor_plan(observed_at: int) -> OccupancyGrid:
    """Draw the walls with their doors; what lies outside of the house is unknown."""
    width, height = (round((side + 2 * _MARGIN) / _RESOLUTION) for side in (14.0, 9.0))
    image = Image.new("L", (width, height), 255)
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((_cell(0), _cell(0), _cell(14), _cell(9)), fill=0)
    for room in ROOMS:
        corners = (_cell(room.x[0]), _cell(room.y[0]), _cell(room.x[1]), _cell(room.y[1]))
        drawing.rectangle(corners, outline=100, width=3)
    for x, y in ((5.0, 2.0), (5.0, 6.5), (7.5, 7.0), (7.5, 2.5)):
        drawing.rectangle((_cell(x - 0.2), _cell(y - 0.5), _cell(x + 0.2), _cell(y + 0.5)), fill=0)
    cells = np.asarray(image, np.uint8).astype(np.int8)
    return OccupancyGrid(
        frame_id="map", resolution=_RESOLUTION, origin=Origin(-_MARGIN, -_MARGIN), width=width, height=height,
        cells=cells.tobytes(), observed_at=observed_at,
    )  # fmt: skip
