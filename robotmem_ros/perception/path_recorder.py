"""Sample the path of the robot from transforms, from live topics and recordings alike."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from ..frames import FrameError, Transform, TransformBuffer
from ..memory import validation
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.maps import Move, PathPart

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
_LOOK_NS = _NS // 10
"""Between two looks at the transforms, by their stamps."""
_TURN = math.radians(30.0)
_PAUSE_NS = 10 * _NS
"""If the robot moved while nobody saw it for longer, that is another segment."""
_JUMP, _JUMP_SPEED = 1.0, 15.0
"""Metres and metres a second: who moved farther and faster did not drive, but found out where it is."""
_BATCH, _PATIENCE = 32, 5.0
"""So many points are stored at once, or those of so many seconds."""


class PathStore(Protocol):
    """Where a path is stored: what the recorder uses of RobotMemory, and a dry run replaces."""

    @property
    def parameters(self) -> Parameters:
        """Return frames and distances."""
        ...

    def store_path(self, part: PathPart) -> Future[int]:
        """Queue poses of the robot."""
        ...


class _Place(NamedTuple):
    """Where a path is."""

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
        clock: Gives seconds, for how long points wait until they are stored.
    """

    def __init__(
        self,
        memory: PathStore,
        buffer: TransformBuffer,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._buffer = buffer
        self.import_id: int | None = None
        """The import that the transforms come from, if they are recorded."""
        self._clock = clock
        self._place: _Place | None = None
        self._seen: Move | None = None
        self._kept: Move | None = None
        self._pending: list[Move] = []
        self._since = 0.0
        self.stored = 0
        """Points that are new in the memory."""
        self.problem = ""
        """Why there is no pose of the robot, in words; empty if there is one."""

    def look(self) -> None:
        """Look where the robot is now; call it when transforms came."""
        parameters = self._memory.parameters
        place = _Place(parameters.memory_frame, parameters.map_id, parameters.collection)
        if place != self._place:
            self.restart()
            self._place = place
        try:
            stamp_ns = self._buffer.latest_ns(place.frame_id, parameters.robot_frame)
            if not stamp_ns or (self._seen and stamp_ns - self._seen.observed_at < _LOOK_NS):
                return
            transform = self._buffer.lookup(place.frame_id, parameters.robot_frame, stamp_ns)
            validation.check_coordinates(f"{place.frame_id} -> {parameters.robot_frame}", transform[:2])
        except (FrameError, InvalidFieldError) as error:
            self.problem = str(error)
            return
        self.problem = ""
        self._take(self._move(stamp_ns, transform), parameters)
        if len(self._pending) >= _BATCH or self.is_due:
            self.flush()

    @property
    def is_due(self) -> bool:
        """Tell whether points have waited long enough to be stored."""
        return bool(self._pending) and self._clock() - self._since >= _PATIENCE

    @property
    def waiting(self) -> int:
        """Return how many points wait to be stored."""
        return len(self._pending)

    def restart(self) -> None:
        """Store what there is and begin a new segment: time went back, or the robot is elsewhere."""
        self.flush()
        self._seen = self._kept = None

    def flush(self) -> None:
        """Queue what there is to be written."""
        moves, self._pending = tuple(self._pending), []
        if not moves or self._place is None:
            return
        try:
            future = self._memory.store_path(PathPart(moves, *self._place, self.import_id))
        except RobotMemoryError as error:
            _LOG.warning("%d points of the path are lost: %s", len(moves), error)
            return
        future.add_done_callback(self._written)

    def _move(self, stamp_ns: int, transform: Transform) -> Move:
        x, y, _, qx, qy, qz, qw = transform
        yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
        move = Move(stamp_ns, x, y, yaw, self._seen.segment if self._seen else stamp_ns)
        if self._seen and self._kept and _is_torn(self._seen, move, _distance(self._kept, move)):
            self._kept = None
            return move._replace(segment=stamp_ns)
        return move

    def _take(self, move: Move, parameters: Parameters) -> None:
        self._seen = move
        if self._kept is not None:
            rested = move.observed_at - self._kept.observed_at >= parameters.path_interval * _NS
            moved = _distance(self._kept, move) >= parameters.path_distance
            if not rested or not (moved or abs(_turn(self._kept, move)) >= _TURN):
                return
        if not self._pending:
            self._since = self._clock()
        self._kept = move
        self._pending.append(move)

    def _written(self, future: Future[int]) -> None:
        if error := future.exception():
            _LOG.warning("points of the path are lost: %s", error)
        else:
            self.stored += future.result()


def _is_torn(before: Move, now: Move, moved: float) -> bool:
    # Whether the robot did not drive from one place to the other; `moved` is how far it came since its last point.
    elapsed_ns = now.observed_at - before.observed_at
    if elapsed_ns > _PAUSE_NS:
        return moved > _JUMP
    jump = _distance(before, now)
    return jump > _JUMP and jump * _NS > _JUMP_SPEED * elapsed_ns


def _distance(one: Move, other: Move) -> float:
    return math.hypot(other.x - one.x, other.y - one.y)


def _turn(one: Move, other: Move) -> float:
    return math.remainder(other.yaw - one.yaw, math.tau)
