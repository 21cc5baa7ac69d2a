"""An episode of a robot. Times are of the robot's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .json_object import parsed_object

ENDED, EXPIRED = "ended", "expired"
"""Why a session is over: somebody ended it, or nobody did within its longest duration."""


@dataclass(frozen=True)
class Session:
    """One episode of a robot."""

    session_id: str
    collection: str
    context_json: str
    started_at: int
    """Nanoseconds since the epoch."""
    ended_at: int | None = None
    """Nanoseconds since the epoch; None while it is open."""
    end_reason: str = ""
    """Empty while it is open, else `ended` or `expired`."""
    outcome: float | None = None
    """In [0, 1], 1 is a full success; None when nobody said."""
    expires_at: int | None = None
    """Nanoseconds since the epoch when it is closed if nobody has ended it; None for never."""
    memories: int = 0
    """Active memories that name it."""
    superseded: int | None = None
    """Lessons that were superseded when it was consolidated; None until it is."""

    def __post_init__(self) -> None:
        # SQLite gives back what stands there, and in a damaged file that can be of another type.
        if not isinstance(self.context_json, str) or not isinstance(self.started_at, int):
            raise TypeError(f"session {self.session_id!r} has no context or no start")

    @property
    def context(self) -> dict[str, Any]:
        """The context, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"context of session {self.session_id!r}", self.context_json)

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def duration(self) -> float | None:
        """Seconds; None while it is open."""
        return None if self.ended_at is None else (self.ended_at - self.started_at) / 1e9
