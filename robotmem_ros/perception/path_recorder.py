"""Sample the path of the robot from transforms, from live topics and recordings alike."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from ..frames import FrameError, Transform, TransformBuffer
from ..memory import validation
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.maps import Move, PathPart
from .storing import PerceptionStore

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
_LOOK_NS = _NS // 10
"""Shortest time between two lookups, by the stamps of transforms."""
_TURN = math.radians(30.0)
_PAUSE_NS = 10 * _NS
"""Longest gap within a segment; after a longer one, a robot that has moved begins another segment."""
_JUMP, _JUMP_SPEED = 1.0, 15.0
"""Metres and metres a second: a larger and faster move is a correction by localisation, not driving."""
_BATCH, _PATIENCE = 32, 5.0
"""Batch size in points, and in seconds."""


class _Place(NamedTuple):
    """Frame, map and collection of a path."""

    frame_id: str
    map_id: str
    collection: str


class PathRecorder:
    """Watch the frame of the robot in the memory frame. For one thread at a time.

    A pose is stored when the robot has moved by `path_distance` or turned by 30 degrees since the last one, at most
    once in `path_interval`. A new segment begins after a jump, on another map, and when time went back.

    Args:
        memory: Gets the path.
        buffer: Holds the transforms.
        clock: Time in seconds, by which points wait until they are stored.
    """

    def __init__(
        self, memory: PerceptionStore, buffer: TransformBuffer, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._memory = memory
        self._buffer = buffer
        self.import_id: int | None = None
        """Import of the transforms, if they are recorded."""
        self._clock = clock
        self._place: _Place | None = None
        self._last_look: Move | None = None
        self._last_point: Move | None = None
        self._moves: list[Move] = []
        self._since = 0.0
        self.stored_count = 0
        """Points that are new in the memory."""
        self.problem = ""
        """Reason why the robot has no pose; empty if it has one."""

    def look(self) -> None:
        """Look where the robot is now; call it when transforms came."""
        parameters = self._memory.parameters
        place = _Place(parameters.memory_frame, parameters.map_id, parameters.collection)
        if place != self._place:
            self.restart()
            self._place = place
        try:
            stamp_ns = self._buffer.latest_ns(place.frame_id, parameters.robot_frame)
            if not stamp_ns or (self._last_look and stamp_ns - self._last_look.observed_at < _LOOK_NS):
                return
            transform = self._buffer.lookup(place.frame_id, parameters.robot_frame, stamp_ns)
            validation.check_coordinates(f"{place.frame_id} -> {parameters.robot_frame}", transform[:2])
        except (FrameError, InvalidFieldError) as error:
            self.problem = str(error)
            return
        self.problem = ""
        self._take(self._move(stamp_ns, transform), parameters)
        if len(self._moves) >= _BATCH or self.is_due:
            self.flush()

    @property
    def is_due(self) -> bool:
        """Tell whether points have waited long enough to be stored."""
        return bool(self._moves) and self._clock() - self._since >= _PATIENCE

    @property
    def waiting_count(self) -> int:
        """Return the number of points that wait to be stored."""
        return len(self._moves)

    def restart(self) -> None:
        """Store the points so far and begin a new segment: time went back, or the robot is elsewhere."""
        self.flush()
        self._last_look = self._last_point = None

    def flush(self) -> None:
        """Queue the points so far to be written."""
        moves, self._moves = tuple(self._moves), []
        if not moves or self._place is None:
            return
        try:
            future = self._memory.maps.store_path(PathPart(moves, *self._place, self.import_id))
        except RobotMemoryError as error:
            _LOG.warning("%d points of the path are lost: %s", len(moves), error)
            return
        future.add_done_callback(self._finish_write)

    def _move(self, stamp_ns: int, transform: Transform) -> Move:
        x, y, _, qx, qy, qz, qw = transform
        yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
        move = Move(stamp_ns, x, y, yaw, self._last_look.segment if self._last_look else stamp_ns)
        if self._last_look and self._last_point and _is_torn(self._last_look, move, _distance(self._last_point, move)):
            self._last_point = None
            return move._replace(segment=stamp_ns)
        return move

    def _take(self, move: Move, parameters: Parameters) -> None:
        self._last_look = move
        if self._last_point is not None:
            has_rested = move.observed_at - self._last_point.observed_at >= parameters.path_interval * _NS
            has_moved = _distance(self._last_point, move) >= parameters.path_distance
            if not has_rested or not (has_moved or abs(_turn(self._last_point, move)) >= _TURN):
                return
        if not self._moves:
            self._since = self._clock()
        self._last_point = move
        self._moves.append(move)

    def _finish_write(self, future: Future[int]) -> None:
        if error := future.exception():
            _LOG.warning("points of the path are lost: %s", error)
        else:
            self.stored_count += future.result()


def _is_torn(before: Move, now: Move, distance: float) -> bool:
    """Tell whether the robot did not drive from place to place; `distance` is from its last point."""
    elapsed_ns = now.observed_at - before.observed_at
    if elapsed_ns > _PAUSE_NS:
        return distance > _JUMP
    jump = _distance(before, now)
    return jump > _JUMP and jump * _NS > _JUMP_SPEED * elapsed_ns


def _distance(start: Move, end: Move) -> float:
    return math.hypot(end.x - start.x, end.y - start.y)


def _turn(start: Move, end: Move) -> float:
    return math.remainder(end.yaw - start.yaw, math.tau)
