"""Decide which messages and observations of a topic are worth storing."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from ..memory.text.labels import label_key
from .drop_reason import Reason
from .message_types import TypeDescription
from .observation import Observation, Placed
from .topic_config import TopicConfig

_NS = 1_000_000_000
_TIME = "builtin_interfaces/msg/Time"
_PREFIX = 4
"""Bytes of the encapsulation header of CDR; the second says how the numbers are written."""
_BIG, _LITTLE = struct.Struct(">iI"), struct.Struct("<iI")
_WRITTEN = {b"\x00\x00": _BIG, b"\x00\x01": _LITTLE, b"\x00\x06": _BIG, b"\x00\x07": _LITTLE}


def raw_stamp_reader(types: TypeDescription, type_name: str) -> Callable[[bytes], int | None] | None:
    """What reads the stamp out of serialised messages (CDR) of a type; None if they do not begin with a header.

    The reader gives nanoseconds since the epoch; None for a zero or malformed stamp, or bytes that are no CDR.

    Raises:
        UnknownTypeError: the type is not known.
    """
    fields = types.fields(type_name)
    if next(iter(fields), None) != "header" or next(iter(types.fields(fields["header"])), None) != "stamp":
        return None
    return _read if types.fields(fields["header"])["stamp"] == _TIME else None


def _read(raw: bytes) -> int | None:
    numbers = _WRITTEN.get(bytes(raw[:2]))
    if numbers is None or len(raw) < _PREFIX + numbers.size:
        return None
    sec, nanosec = numbers.unpack_from(raw, _PREFIX)
    if sec < 0 or nanosec >= _NS:
        return None
    return int(sec * _NS + nanosec) or None


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


_LOOP_NS = _NS
"""Older than the newest message by more than this is a clock that went back, not a message that came late."""


@dataclass(frozen=True)
class Sample:
    """What sampling makes of one message."""

    kept: tuple[Observation, ...]
    left_out: Counter[Reason]
    rest: tuple[Observation, ...] = ()
    """What was looked at and left out; nothing of a message that came too soon."""


class Sampler:
    """Decides for one topic, and remembers what it kept. Not to be shared by threads.

    The time of a message is `Extractor.message_stamp`, or what `raw_stamp_reader` reads: the same live and from a
    recording. Time that goes back by more than a second (a recording played in a loop) starts the sampler anew.
    """

    def __init__(self, config: TopicConfig) -> None:
        self._config = config
        self._interval_ns = round(config.min_interval * _NS)
        self._labels = frozenset(map(label_key, config.labels))
        self._ignored = frozenset(map(label_key, config.ignore_labels))
        self._newest_ns: int | None = None
        self._kept_ns: int | None = None
        self.last_stored = LastStored(config.min_displacement)
        """For what is decided later, when observations are transformed."""
        self.jumps_back = 0
        """How often time went back."""

    def reset(self) -> None:
        """Forgets what was kept."""
        self._newest_ns = self._kept_ns = None
        self.last_stored.reset()

    def release(self, stamp_ns: int) -> None:
        """Lets a message take the place of the one kept at this time, of which nothing could be stored."""
        if self._kept_ns == stamp_ns:
            # Not before it: what was stored last is at least an interval older.
            self._kept_ns -= self._interval_ns

    def too_soon(self, stamp_ns: int) -> bool:
        """Whether a message of this time can be left out unread: the last kept one is less than the interval ago."""
        self._notice(stamp_ns)
        return self._kept_ns is not None and stamp_ns - self._kept_ns < self._interval_ns

    def sample(self, stamp_ns: int, observations: Iterable[Observation]) -> Sample:
        """The observations of one message that are to be stored, in their order, and why the others are not."""
        seen = list(observations)
        if self.too_soon(stamp_ns):
            return Sample((), Counter({Reason.MIN_INTERVAL: len(seen)} if seen else {}))
        kept: list[Observation] = []
        rest: list[Observation] = []
        left_out: Counter[Reason] = Counter()
        for observation in seen:
            reason = self._unwanted(observation)
            if reason is None:
                kept.append(observation)
            else:
                rest.append(observation)
                left_out[reason] += 1
        if kept:
            self._kept_ns = stamp_ns
        return Sample(tuple(kept), left_out, tuple(rest))

    def _notice(self, stamp_ns: int) -> None:
        if self._newest_ns is not None and stamp_ns < self._newest_ns - _LOOP_NS:
            self.reset()
            self.jumps_back += 1
        self._newest_ns = stamp_ns if self._newest_ns is None else max(self._newest_ns, stamp_ns)

    def _unwanted(self, observation: Observation) -> Reason | None:
        label = label_key(observation.label)
        if (self._labels and label not in self._labels) or label in self._ignored:
            return Reason.LABEL_NOT_WANTED
        if observation.confidence < self._config.min_confidence:
            return Reason.MIN_CONFIDENCE
        return None
