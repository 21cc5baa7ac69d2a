"""What of the messages of one topic is worth storing: read, checked against the clock and the gate, sampled."""

from __future__ import annotations

import logging
from collections import Counter, deque
from typing import Any, NamedTuple

from .counters import Tally
from .drop_reason import Reason
from .extraction import Extractor
from .field_of_view import Detector
from .localisation_gate import LocalisationGate
from .message_types import TypeDescription
from .observation import Observation, Placed
from .sampling import Comparison, Sample, Sampler, raw_stamp_reader
from .topic_config import TopicConfig

_NS = 1_000_000_000
_LOG = logging.getLogger(__name__)
_ALL_READ = frozenset({Reason.EMPTY_ARRAY, Reason.NOT_SELECTED})
"""What may be missing from a message that still tells all that its detector saw."""


class Reading(NamedTuple):
    """What one message gives."""

    found: list[Placed]
    """Not transformed yet."""
    stamp_ns: int
    """By the clock of the message, if that can be; else when it was received."""
    sensor_frame: str | None = None
    """Where the message is a view: the frame of the sensor, empty where none is named. None for no view."""


class TopicReader:
    """Reads the messages of one topic, and remembers what was stored of it.

    Not to be shared by threads, but for its tally and `not_written`.

    A stamp more than `future_ns` after the receipt is refused; None where the two cannot be compared.

    Raises:
        TopicError: a source of the configuration does not fit the message type.
    """

    def __init__(
        self,
        config: TopicConfig,
        types: TypeDescription,
        *,
        content_limit: int,
        context_limit: int,
        gate: LocalisationGate | None,
        future_ns: int | None,
    ) -> None:
        self.config = config
        self.tally = Tally(config.topic)
        self.detector = Detector.of(config, types)
        self._extractor = Extractor(config, types, content_limit=content_limit, context_limit=context_limit)
        self._sampler = Sampler(config)
        self._not_written: deque[tuple[Reading, Comparison]] = deque()
        self._raw_stamp = raw_stamp_reader(types, config.type)
        self._gate = gate if config.gate else None
        self._future_ns = future_ns

    def too_soon(self, raw: bytes, receipt_ns: int) -> bool:
        """Whether a message that is still serialised need not be read; then it is counted."""
        if not self.config.min_interval:
            return False
        self._settle_not_written()
        stamp_ns = (self._raw_stamp(raw) if self._raw_stamp else None) or receipt_ns
        if self._ahead(stamp_ns, receipt_ns) or not self._sampler.too_soon(stamp_ns):
            return False
        self.tally.left_unread(Reason.MIN_INTERVAL)
        _LOG.debug("%s at %.3f s: left unread, %s", self.config.topic, stamp_ns / _NS, Reason.MIN_INTERVAL.value)
        return True

    def read(self, message: Any, receipt_ns: int) -> Reading:
        """What is to be stored of a message, and what it was a view of; all is counted."""
        self.tally.received()
        self._settle_not_written()
        extraction = self._extractor.extract(message, receipt_ns)
        left_out, why = extraction.refusals, extraction.last_refusal
        elements: dict[int, int] = {}
        found: list[Observation] = []
        for element, observation in enumerate(extraction.observations):
            if self._ahead(observation.stamp_ns, receipt_ns):
                left_out[Reason.FUTURE_STAMP] += 1
                ahead = (observation.stamp_ns - receipt_ns) / _NS
                why = f"{self.config.topic}: the stamp is {ahead:.1f} s ahead of the clock"
            else:
                elements[id(observation)] = element
                found.append(observation)
        if self._gate is not None and not self._gate.is_open:
            left_out.update({Reason.NOT_LOCALISED: len(found)} if found else ())
            self._count(receipt_ns, 0, left_out, why)
            return Reading([], receipt_ns)
        stamp_ns = self._extractor.message_stamp(message, receipt_ns)
        # A stamp ahead of time would make the sampler take all others for a jump back.
        is_ahead = self._ahead(stamp_ns, receipt_ns)
        time_ns = receipt_ns if is_ahead else stamp_ns
        sample = self._sampler.sample(time_ns, found) if found else Sample((), Counter())
        is_view = not is_ahead and left_out.keys() <= _ALL_READ and Reason.MIN_INTERVAL not in sample.left_out
        self._count(stamp_ns, len(sample.kept), left_out + sample.left_out, why)
        placed = [Placed(one, one.frame_id, elements[id(one)]) for one in sample.kept]
        if self.detector is None or not is_view or any(one.pose is None for one in found):
            return Reading(placed, time_ns)
        glimpses = [Placed(one, one.frame_id, is_glimpse=True) for one in sample.rest]
        return Reading([*placed, *glimpses], time_ns, self.detector.frame_of(message))

    def compare(self) -> Comparison:
        """Compares a message with what was stored before it, when its observations are transformed."""
        self._settle_not_written()
        return Comparison(self._sampler.last_stored)

    def lost(self, reading: Reading) -> None:
        """Nothing of a message could be stored: the next one is not too soon after it."""
        if any(not one.is_glimpse for one in reading.found):
            self._sampler.release(reading.stamp_ns)

    def not_written(self, reading: Reading, comparison: Comparison) -> None:
        """Writing of what was committed failed; from any thread."""
        self._not_written.append((reading, comparison))

    def reset(self) -> None:
        """The clock jumped back: forgets what was kept."""
        self._sampler.reset()

    def _settle_not_written(self) -> None:
        while self._not_written:
            reading, comparison = self._not_written.popleft()
            comparison.forget()
            self.lost(reading)

    def _count(self, stamp_ns: int, kept: int, left_out: Counter[Reason], why: str) -> None:
        self.tally.read(kept, left_out, why)
        if _LOG.isEnabledFor(logging.DEBUG):
            dropped = ", ".join(f"{number} {reason.value}" for reason, number in left_out.items())
            said = " ".join(filter(None, (f"; dropped: {dropped}" if dropped else "", f"({why})" if why else "")))
            _LOG.debug("%s at %.3f s: read, %d to store%s", self.config.topic, stamp_ns / _NS, kept, said)

    def _ahead(self, stamp_ns: int, receipt_ns: int) -> bool:
        return self._future_ns is not None and receipt_ns > 0 and stamp_ns > receipt_ns + self._future_ns
