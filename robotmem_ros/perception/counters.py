"""Account for every message of a topic: stored, waiting, or dropped for one of a closed set of reasons."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType


class DropReason(str, Enum):
    """Reason why a message, or one element of its array, did not become a perception."""

    # Before it is read.
    LOST = "lost"
    """Message that was published, but pushed out of a full history or lost by the middleware."""
    INTAKE_FULL = "intake_full"
    UNDECODABLE = "undecodable"
    # By its content.
    EMPTY_ARRAY = "empty_array"
    TOO_MANY = "too_many"
    UNREADABLE = "unreadable"
    NOT_SELECTED = "not_selected"
    NO_DESCRIPTION = "no_description"
    BAD_DESCRIPTION = "bad_description"
    BAD_LABEL = "bad_label"
    BAD_CONFIDENCE = "bad_confidence"
    BAD_POSE = "bad_pose"
    NO_POSE = "no_pose"
    BAD_STAMP = "bad_stamp"
    NO_STAMP = "no_stamp"
    BAD_FRAME = "bad_frame"
    BAD_CONTEXT = "bad_context"
    BAD_NAME = "bad_name"
    BAD_IMAGE = "bad_image"
    UNKNOWN_ENCODING = "unknown_encoding"
    NO_DEPTH = "no_depth"
    """A 2D box without a depth image at its time, or without a valid depth in its middle."""
    NO_DECODER = "no_decoder"
    # By the configuration.
    MIN_INTERVAL = "min_interval"
    MIN_DISPLACEMENT = "min_displacement"
    MIN_CONFIDENCE = "min_confidence"
    LABEL_NOT_WANTED = "label_not_wanted"
    UNCHANGED = "unchanged"
    NOT_LOCALISED = "not_localised"
    # For lack of a transform.
    UNKNOWN_FRAME = "unknown_frame"
    NOT_CONNECTED = "not_connected"
    NO_TRANSFORM = "no_transform"
    FRAME_LOOP = "frame_loop"
    TF_QUEUE_FULL = "tf_queue_full"
    # On the way into the memory.
    FUTURE_STAMP = "future_stamp"
    QUEUE_FULL = "queue_full"
    INVALID = "invalid"
    NOT_WRITTEN = "not_written"
    ALREADY_STORED = "already_stored"

    @property
    def is_expected(self) -> bool:
        """Tell whether the configuration asks for it, so that it needs no warning."""
        return self in _EXPECTED

    @property
    def quotes_content(self) -> bool:
        """Tell whether its explanation may quote the message, and so must not be kept where nobody purges it."""
        return self not in _WITHOUT_CONTENT

    @staticmethod
    def of_field(field: str) -> DropReason:
        """Return the reason that says which field of a robotmem_ros/msg/Perception cannot be used."""
        name = field.removeprefix("header.").partition(".")[0].partition("[")[0]
        return _BY_FIELD.get(name, DropReason.INVALID)


_BY_FIELD = {
    "description": DropReason.BAD_DESCRIPTION, "label": DropReason.BAD_LABEL, "confidence": DropReason.BAD_CONFIDENCE,
    "pose": DropReason.BAD_POSE, "position": DropReason.BAD_POSE, "stamp": DropReason.BAD_STAMP,
    "observed_at": DropReason.NO_STAMP, "frame_id": DropReason.BAD_FRAME, "frame": DropReason.BAD_FRAME,
    "context": DropReason.BAD_CONTEXT, "perception_type": DropReason.BAD_NAME, "identity": DropReason.BAD_NAME,
    "session_id": DropReason.BAD_NAME, "collection": DropReason.BAD_NAME, "data_format": DropReason.BAD_NAME,
}  # fmt: skip
_EXPECTED = frozenset({
    DropReason.MIN_INTERVAL, DropReason.MIN_DISPLACEMENT, DropReason.MIN_CONFIDENCE, DropReason.LABEL_NOT_WANTED,
    DropReason.UNCHANGED, DropReason.NOT_SELECTED, DropReason.EMPTY_ARRAY, DropReason.ALREADY_STORED,
})  # fmt: skip

_WITHOUT_CONTENT = _EXPECTED | {
    DropReason.LOST, DropReason.INTAKE_FULL, DropReason.NOT_LOCALISED, DropReason.UNKNOWN_FRAME,
    DropReason.NOT_CONNECTED, DropReason.NO_TRANSFORM, DropReason.FRAME_LOOP, DropReason.TF_QUEUE_FULL,
    DropReason.FUTURE_STAMP, DropReason.QUEUE_FULL, DropReason.NOT_WRITTEN,
}  # fmt: skip


class DropError(Exception):
    """One element cannot become a perception."""

    def __init__(self, reason: DropReason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason


@dataclass
class TopicCounts:
    """Counts for which `observations == stored_count + waiting_count + drops.total()` holds at any time."""

    messages: int = 0
    observations: int = 0
    """Elements of the messages; a message that was dropped unread, or held nothing, counts as one."""
    stored_count: int = 0
    waiting_count: int = 0
    """Observations that wait for a transform, or to be written."""
    drops: Counter[DropReason] = field(default_factory=Counter)
    details: dict[DropReason, str] = field(default_factory=dict)
    """Explanation of the last drop for each reason, if there is more to say than the reason."""
    last_drop: str = ""
    """Explanation of the last drop because of an error."""
    fields_of_view: int = 0
    """Messages that also reported what their detector did not detect."""
    fields_of_view_dropped: int = 0
    """Messages whose field of view is unknown, because the place of the sensor or a part of the content is."""


class TopicCounter:
    """Counts for one topic; safe to use from several threads."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._counts = TopicCounts()
        self._lock = threading.Lock()

    def receive(
        self, number: int, drops: Mapping[DropReason, int], details: Mapping[DropReason, str] = MappingProxyType({})
    ) -> None:
        """Count a message with `number` accepted observations; the others are dropped."""
        with self._lock:
            counts = self._counts
            counts.messages += 1
            counts.observations += number + sum(drops.values())
            counts.waiting_count += number
            counts.drops.update(drops)
            for reason, detail in details.items():
                self._explain(reason, detail)

    def drop_unread(self, reason: DropReason, number: int = 1, detail: str = "") -> None:
        """Count messages that were dropped before they could be read."""
        with self._lock:
            self._counts.observations += number
            self._counts.drops[reason] += number
            self._explain(reason, detail)

    def store(self, number: int) -> None:
        """Count accepted observations as stored."""
        with self._lock:
            self._counts.waiting_count -= number
            self._counts.stored_count += number

    def drop(self, reason: DropReason, number: int, detail: str = "") -> None:
        """Count accepted observations as dropped."""
        if not number:
            return
        with self._lock:
            self._counts.waiting_count -= number
            self._counts.drops[reason] += number
            self._explain(reason, detail)

    def field_of_view(self, problem: str = "") -> None:
        """Count a field of view, or a dropped one if there is a `problem`."""
        with self._lock:
            if problem:
                self._counts.fields_of_view_dropped += 1
                self._counts.last_drop = f"{self._topic}: {problem}"
            else:
                self._counts.fields_of_view += 1

    def counts(self) -> TopicCounts:
        """Return a copy of the counts."""
        with self._lock:
            return replace(self._counts, drops=self._counts.drops.copy(), details=self._counts.details.copy())

    def _explain(self, reason: DropReason, detail: str) -> None:
        if detail:
            self._counts.details[reason] = detail
            self._counts.last_drop = f"{self._topic}: {detail}"
