"""Transforms between frames over time, without ROS, with the semantics of tf2's BufferCore; and jumps of that time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..memory.clocks import stamp_ns
from .errors import (
    ConnectivityError,
    ExtrapolationError,
    FrameError,
    FrameLoopError,
    InvalidTransformError,
    UnknownFrameError,
)
from .transform import IDENTITY, FixedLink, Link, MovingLink, Sample, Transform

DEFAULT_HISTORY_NS = 10_000_000_000
"""History of tf2: ten seconds."""
_NS = 1_000_000_000
_LOOP_NS = _NS
"""Largest step back of a late stamp; a larger one means that a recording started again."""
_TICK = 1.0
"""Seconds between two messages of the slowest clock."""


class TransformBuffer:
    """Knows the frames of a robot over time. Safe to use from several threads.

    `history_ns` is how long the transforms of a frame are kept, before the newest one of that frame. Stamps are in
    nanoseconds, by the robot's clock. Frame names lose one leading slash, as ROS 1 wrote them.
    """

    def __init__(self, history_ns: int = DEFAULT_HISTORY_NS) -> None:
        self._history_ns = history_ns
        self._links: dict[str, Link] = {}
        self._frames: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Remove all samples over time, as after a jump back in time; static transforms stay."""
        with self._lock:
            for link in self._links.values():
                if isinstance(link, MovingLink):
                    link.clear()

    def add(self, parent: str, child: str, stamp_ns: int, transform: Transform, *, static: bool) -> None:
        """Add the transform of `child` in `parent`, in any order of stamps; its quaternion is normalised.

        A frame that was static and now is not, or the reverse, loses its earlier transforms.

        Raises:
            InvalidTransformError: a frame has no name or is its own parent, a number is not finite, the quaternion has
                no length, or the stamp lies further back than the history reaches.
        """
        parent, child = strip_slash(parent), strip_slash(child)
        sample = Sample(parent, _normalise(parent, child, transform))
        with self._lock:
            if static:
                self._links[child] = FixedLink(sample)
            else:
                link = self._links.get(child)
                if not isinstance(link, MovingLink):
                    link = self._links[child] = MovingLink(self._history_ns)
                if not link.add(stamp_ns, sample):
                    age = f"{(link.newest_ns - stamp_ns) / 1e9:.3f} s"
                    problem = f"is {age} older than the newest one, beyond the history"
                    raise InvalidTransformError(parent, child, problem)
            if parent not in self._frames or child not in self._frames:
                self._frames |= {parent, child}

    def add_message(self, message: Any, *, static: bool) -> tuple[InvalidTransformError, ...]:
        """Add the transforms of a tf2_msgs/TFMessage, of rclpy or of rosbags; return the errors of those dropped."""
        errors = []
        for stamped in message.transforms:
            header, shift, turn = stamped.header, stamped.transform.translation, stamped.transform.rotation
            transform = Transform(shift.x, shift.y, shift.z, turn.x, turn.y, turn.z, turn.w)
            try:
                self.add(header.frame_id, stamped.child_frame_id, stamp_ns(header.stamp), transform, static=static)
            except InvalidTransformError as error:
                errors.append(error)
        return tuple(errors)

    def root(self, frame: str) -> str:
        """Return the frame without a parent above a frame; empty if no transform has named the frame."""
        name = strip_slash(frame)
        with self._lock:
            return self._ancestry(name)[-1] if name in self._frames else ""

    def latest_ns(self, target_frame: str, source_frame: str) -> int:
        """Return the latest time that all links between two frames know; 0 if all of them are static.

        Raises:
            UnknownFrameError: no transform has named one of the frames.
            FrameLoopError: the parents of one of the frames lead back to it.
            ConnectivityError: the frames belong to trees that are not connected.
        """
        target, source = strip_slash(target_frame), strip_slash(source_frame)
        with self._lock:
            self._check_known(target, source)
            return self._latest_common_ns(target, source)

    def lookup(self, target_frame: str, source_frame: str, stamp_ns: int) -> Transform:
        """Return the transform from coordinates of the source frame to those of the target frame, at a time.

        Stamp 0 means the latest time that all links between them know. From a frame to itself it is the identity, even
        if the frame is unknown.

        Raises:
            UnknownFrameError: no transform has named one of the frames.
            FrameLoopError: the parents of one of the frames lead back to it.
            ConnectivityError: the frames belong to trees that are not connected.
            ExtrapolationError: a link between them is not known at the time, only before or after it.
        """
        target, source = strip_slash(target_frame), strip_slash(source_frame)
        if target == source:
            return IDENTITY
        with self._lock:
            self._check_known(target, source)
            return self._walk(target, source, stamp_ns or self._latest_common_ns(target, source))

    def _check_known(self, *frames: str) -> None:
        for frame in frames:
            if frame not in self._frames:
                raise UnknownFrameError(frame, self._frames)

    def _walk(self, target: str, source: str, stamp_ns: int) -> Transform:
        """Walk up from the source to the target or as far as possible, then up from the target until the two meet."""
        frame = source
        from_source = {source: IDENTITY}
        while frame != target and (sample := self._at(frame, stamp_ns)):
            to_parent = sample.transform.compose(from_source[frame])
            frame = sample.parent
            if frame in from_source:
                raise FrameLoopError(frame)
            from_source[frame] = to_parent
        top = frame
        frame, from_target, visited = target, IDENTITY, {target}
        while frame not in from_source:
            sample = self._at(frame, stamp_ns)
            if not sample:
                raise self._no_path(target, source, stamp_ns, ends=(top, frame))
            from_target = sample.transform.compose(from_target)
            frame = sample.parent
            if frame in visited:
                raise FrameLoopError(frame)
            visited.add(frame)
        if frame == target:
            return from_source[target]
        return from_target.inverse().compose(from_source[frame])

    def _at(self, frame: str, stamp_ns: int) -> Sample | None:
        link = self._links.get(frame)
        return link.at(stamp_ns) if link else None

    def _no_path(self, target: str, source: str, stamp_ns: int, *, ends: tuple[str, str]) -> FrameError:
        """Return the error for two walks that ended, at frames without a parent or without a sample at the time."""
        open_ends = [end for end in ends if end in self._links]
        if not open_ends:
            return ConnectivityError(target, source)
        # A walk may also have ended above the frame where the two meet once all that lags has come: only for a link
        # between the frames whose history starts too late, waiting does not help.
        path = self._path(target, source) or []
        links = [child for child in path if self._at(child, stamp_ns) is None] or open_ends
        late = [child for child in links if self._starts_after(child, stamp_ns)] if path else []
        link = (late or links)[0]
        known_ns = self._links[link].known_ns
        return ExtrapolationError(target, source, stamp_ns, link, known_ns, waiting_helps=not late)

    def _starts_after(self, child: str, stamp_ns: int) -> bool:
        known_ns = self._links[child].known_ns
        return known_ns is not None and known_ns[0] > stamp_ns

    def _latest_common_ns(self, target: str, source: str) -> int:
        """Return the latest time that all links between two frames know; 0 if all of them are static."""
        path = self._path(target, source)
        loop = None if target in self._ancestry(source) else self._looping(source)
        if path is None or loop:
            loop = loop or self._looping(target)
            raise FrameLoopError(loop) if loop else ConnectivityError(target, source)
        return min((newest for child in path if (newest := self._links[child].newest_ns)), default=0)

    def _path(self, target: str, source: str) -> list[str] | None:
        """Return the child frames of the links between two frames, by the latest known parents; None without a path."""
        up = self._ancestry(source)
        if target in up:
            return up[: up.index(target)]
        down = self._ancestry(target)
        for steps, frame in enumerate(down):
            if frame in up:
                return up[: up.index(frame)] + down[:steps]
        return None

    def _ancestry(self, frame: str) -> list[str]:
        """Return a frame, its latest parent, and so on up to the root, or once around a loop."""
        line = [frame]
        visited = {frame}
        while (link := self._links.get(line[-1])) and link.newest and link.newest.parent not in visited:
            line.append(link.newest.parent)
            visited.add(link.newest.parent)
        return line

    def _looping(self, frame: str) -> str | None:
        """Return where the ancestry of a frame runs into itself; None if it ends at a root."""
        link = self._links.get(self._ancestry(frame)[-1])
        return link.newest.parent if link and link.newest else None


def strip_slash(frame: str) -> str:
    """Remove the leading slash that ROS 1 put before frame names."""
    return frame.removeprefix("/")


def _normalise(parent: str, child: str, transform: Transform) -> Transform:
    """Normalise the quaternion of a transform, if it can be used.

    tf2 means to reject quaternions whose squared length is off by 0.01, but its check comes after a rotation matrix has
    normalised them: it accepts any that has a length.
    """
    if not parent or not child:
        raise InvalidTransformError(parent, child, "both frames must have a name")
    if parent == child:
        raise InvalidTransformError(parent, child, "a frame cannot be its own parent")
    length = math.hypot(*transform[3:])
    if not all(map(math.isfinite, transform)) or not math.isfinite(length):
        raise InvalidTransformError(parent, child, f"{tuple(transform)} must be finite numbers")
    if length * length == 0:
        raise InvalidTransformError(parent, child, f"quaternion {transform[3:]} has no length")
    x, y, z, qx, qy, qz, qw = transform
    return Transform(x, y, z, qx / length, qy / length, qz / length, qw / length)


class TimeJump(NamedTuple):
    """Which frame went back, and how far."""

    frame: str
    seconds: float


class TimeJumps:
    """Detect by the stamps of transforms that time went back, as in a recording that is played in a loop.

    Keeps the newest stamp of each frame, and since when they come; `clock` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._newest: dict[str, int] = {}
        self._since = 0.0

    @property
    def newest_ns(self) -> int:
        """Return the newest of all stamps; 0 if there are none."""
        return max(self._newest.values(), default=0)

    @property
    def fresh(self) -> bool:
        """Tell whether all stamps came a moment ago, so that none is from before a jump that a clock reports now.

        A player's clock ticks: its first transforms may have shown the jump already.
        """
        return bool(self._newest) and self._clock() - self._since < _TICK

    def notice(self, message: Any) -> TimeJump | None:
        """Return the first frame of a tf2_msgs/TFMessage that went back, if any; then forget all earlier stamps."""
        stamps = [(one.child_frame_id, stamp_ns(one.header.stamp)) for one in message.transforms]
        back = ((frame, self._newest.get(frame, stamp) - stamp) for frame, stamp in stamps)
        jump = next((TimeJump(frame, by / _NS) for frame, by in back if by > _LOOP_NS), None)
        if jump is not None:
            self._newest.clear()
        if not self._newest:
            self._since = self._clock()
        for frame, stamp in stamps:
            self._newest[frame] = max(stamp, self._newest.get(frame, stamp))
        return jump

    def clear(self) -> None:
        """Forget all stamps."""
        self._newest.clear()
