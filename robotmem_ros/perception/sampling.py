"""What of a topic is worth storing, as far as the message alone tells: interval, confidence, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..memory.text.labels import label_key
from .last_stored import LastStored
from .observation import Observation
from .reasons import Reason
from .topic_config import TopicConfig

_NS = 1_000_000_000
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
