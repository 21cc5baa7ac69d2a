"""What sampling remembers of things: by their identity, else their label, and not of more than ten thousand."""

from __future__ import annotations

from typing import TypeVar

from .observation import Observation

_T = TypeVar("_T")
_MOST = 10_000


def thing(observation: Observation) -> str:
    """What an observation is compared with others by."""
    return observation.identity or observation.label


def remember(kept: dict[str, _T], key: str, value: _T) -> None:
    """Keeps a value; the one that was kept longest ago makes room for it."""
    # The newest stand last, so that the first to go is the oldest.
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > _MOST:
        del kept[next(iter(kept))]
