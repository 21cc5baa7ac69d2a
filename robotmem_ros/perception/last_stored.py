"""What was stored last of the things of one topic: leave out what would only say the same again."""

from __future__ import annotations

import math
from typing import TypeVar

from ..memory.text.labels import label_key
from .observation import Observation
from .placement import Placed
from .reasons import Reason

_T = TypeVar("_T")
_Place = tuple[float, ...]
_MOST = 10_000
"""Things that are remembered; of more, the one that was stored longest ago is forgotten."""


class LastStored:
    """The states and places of what was stored, by identity, else by label. Not to be shared by threads.

    `min_displacement` is in metres; with 0 nothing is left out for its place.
    """

    def __init__(self, min_displacement: float) -> None:
        self.min_displacement = min_displacement
        self.states: dict[str, str] = {}
        self.places: dict[str, list[_Place]] = {}

    def reset(self) -> None:
        """Forget everything."""
        self.states.clear()
        self.places.clear()


class Comparison:
    """One message beside what was stored before it.

    What it stores is remembered from `commit` on, when it goes to be written, and not before: a message that is lost on
    its way leaves no trace here. If writing fails after that, `forget` makes the next message be stored.
    """

    def __init__(self, last: LastStored) -> None:
        self._last = last
        self._states: dict[str, str] = {}
        self._places: dict[str, list[_Place]] = {}

    def reason(self, placed: Placed) -> Reason | None:
        """Say why an observation need not be stored; None if it must be."""
        seen = placed.observation
        if seen.state is not None:
            key = _thing(seen)
            if self._states.get(key, self._last.states.get(key)) == seen.state:
                return Reason.UNCHANGED
        near = self._near(placed)
        if near is None:
            return None
        self._places.setdefault(_thing_in_frame(placed), []).append(near)
        return Reason.MIN_DISPLACEMENT

    def accept(self, placed: Placed) -> None:
        """Note an observation that is to be stored."""
        seen = placed.observation
        if seen.state is not None:
            self._states[_thing(seen)] = seen.state
        if seen.pose is not None and self._last.min_displacement > 0.0:
            self._places.setdefault(_thing_in_frame(placed), []).append(seen.pose[:3])

    def commit(self) -> None:
        """Remember what was accepted."""
        for key, state in self._states.items():
            _remember(self._last.states, key, state)
        for key, places in self._places.items():
            _remember(self._last.places, key, places)

    def forget(self) -> None:
        """Know nothing of what was accepted, or after it: it is not known what was stored last."""
        for key in self._states:
            self._last.states.pop(key, None)
        for key in self._places:
            self._last.places.pop(key, None)

    def _near(self, placed: Placed) -> _Place | None:
        """Find where an earlier message left it, if that is too near; two chairs in one message stay two."""
        pose = placed.observation.pose
        if pose is None or self._last.min_displacement <= 0.0:
            return None
        places = self._last.places.get(_thing_in_frame(placed), ())
        near = min(places, key=lambda place: math.dist(place, pose[:3]), default=None)
        return near if near is not None and math.dist(near, pose[:3]) < self._last.min_displacement else None


def _thing(observation: Observation) -> str:
    return observation.identity or label_key(observation.label)


def _thing_in_frame(placed: Placed) -> str:
    """Key of its places: those in different frames say nothing of each other."""
    return f"{placed.frame_id}\0{_thing(placed.observation)}"


def _remember(kept: dict[str, _T], key: str, value: _T) -> None:
    # The newest stand last, so that the first to go is the oldest.
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > _MOST:
        del kept[next(iter(kept))]
