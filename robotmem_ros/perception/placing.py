"""Perceptions that come one by one, by a service or ~/perception, on their way into the memory frame."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from ..frames import FrameError, Transform
from ..memory.models import NewMemory
from .observation import Observation


class Placed(NamedTuple):
    """A perception that needs no transform any more."""

    new: NewMemory
    reason: str = ""
    """Why it stays in its own frame, in which nothing becomes an object; empty if all of it is in the memory frame."""


PlacePerception = Callable[[NewMemory], Future[Placed]]
"""Function that moves a perception into the memory frame, now or when its transform has come."""


def placed(new: NewMemory, result: Transform | FrameError, memory_frame: str) -> Placed:
    """Return a perception in the memory frame, or as it is if there is no transform.

    Raises:
        InvalidFieldError: a transformed position lies too far out.
    """
    if not isinstance(result, Transform):
        return kept(new, str(result))
    return Placed(Observation(new, has_orientation=True).in_frame(result, memory_frame).new)


def kept(new: NewMemory, problem: str) -> Placed:
    """Return a perception that stays in its own frame, because of a `problem`."""
    return Placed(new, f"kept in frame {new.frame_id!r}, and so no object: {problem}")
