"""Tell how far long work is, between two pieces of it, of which each is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], object]
"""Function that is told how many parts of how many are done. If it raises, the work ends there."""
_LISTENER: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Progress) -> Iterator[None]:
    """Tell a function of the work that this thread does meanwhile."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Progress | None:
    """Return the function that is told of what this thread does."""
    return _LISTENER.get()


def report(done: int, total: int) -> None:
    """Tell that so many parts are done, if anybody listens."""
    if (told := listener()) is not None:
        told(done, total)
