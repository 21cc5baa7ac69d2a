"""Errors of lookups, each with whether waiting for more transforms may help, and of transforms that cannot be used."""

from __future__ import annotations

from collections.abc import Collection

from ..memory.errors import RobotMemoryError, did_you_mean, shown

_MAX_NAMES = 20


class FrameError(RobotMemoryError):
    """Base of the errors of frames."""

    waiting_helps: bool = False
    """Whether transforms that are still to come may make the same request succeed."""


class FrameLookupError(FrameError):
    """A frame cannot be looked up, whatever the time."""


class UnknownFrameError(FrameLookupError):
    """No transform has named this frame; one may still do so, unless the name is empty."""

    def __init__(self, frame: str, frames: Collection[str]) -> None:
        super().__init__(frame)
        self.frame = frame
        self.frames = frames
        """The frames that transforms have named."""
        self.waiting_helps = bool(frame)

    def __str__(self) -> str:
        # Written only when read: a queue repeats lookups of what has not come yet.
        start = f"frame {shown(self.frame)}: "
        if not self.frame:
            return f"{start}a frame must have a name"
        if not self.frames:
            return f"{start}no transform has named it; none has come yet"
        names = ", ".join(sorted(self.frames)[:_MAX_NAMES])
        ending = f" and {len(self.frames) - _MAX_NAMES} more" if len(self.frames) > _MAX_NAMES else ""
        return f"{start}no transform has named it; known are {names}{ending}{did_you_mean(self.frame, self.frames)}"


class FrameLoopError(FrameLookupError):
    """The parents of a frame lead back to it."""

    def __init__(self, frame: str) -> None:
        super().__init__(f"frame {shown(frame)}: its parents lead back to itself; find who publishes the wrong parent")
        self.frame = frame


class NoStampError(FrameLookupError):
    """An item without a stamp cannot be transformed at its stamp."""

    def __init__(self, frame: str) -> None:
        super().__init__(f"frame {shown(frame)}: stamp 0 says no time to transform at; set header.stamp")
        self.frame = frame


class ConnectivityError(FrameError):
    """Two frames belong to trees that are not connected; the transform between them may still come."""

    waiting_helps = True

    def __init__(self, target_frame: str, source_frame: str) -> None:
        super().__init__(f"no transforms connect frame {shown(source_frame)} with frame {shown(target_frame)}")
        self.target_frame = target_frame
        self.source_frame = source_frame


class ExtrapolationError(FrameError):
    """A link between two frames is not known at the time; times are in nanoseconds."""

    def __init__(
        self,
        target_frame: str,
        source_frame: str,
        stamp_ns: int,
        link: str,
        known_ns: tuple[int, int] | None,
        *,
        waiting_helps: bool,
    ) -> None:
        span = f"from {_seconds(known_ns[0])} to {_seconds(known_ns[1])}" if known_ns else "at no time"
        super().__init__(
            f"no transform from frame {shown(source_frame)} to frame {shown(target_frame)} at {_seconds(stamp_ns)}:"
            f" frame {shown(link)} is known {span}; {'it may still come' if waiting_helps else 'it will not come'}"
        )
        self.target_frame = target_frame
        self.source_frame = source_frame
        self.stamp_ns = stamp_ns
        self.link = link
        """The child frame of the link that is not known at the time."""
        self.known_ns = known_ns
        """First and last time of that link, both included; None if no time is known."""
        self.waiting_helps = waiting_helps


class QueueFullError(FrameError):
    """A transform is not waited for any longer, since too many are."""

    def __init__(self) -> None:
        super().__init__("more wait for transforms than queue_limit")


class InvalidTransformError(FrameError):
    """A transform that was received cannot be used."""

    def __init__(self, parent: str, child: str, problem: str) -> None:
        super().__init__(f"transform of frame {shown(child)} in frame {shown(parent)}: {problem}")
        self.parent = parent
        self.child = child


def _seconds(stamp_ns: int) -> str:
    whole, rest = divmod(abs(stamp_ns), 1_000_000_000)
    return f"{'-' if stamp_ns < 0 else ''}{whole}.{rest:09d} s"
