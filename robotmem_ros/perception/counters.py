"""Account for every message of a topic: stored, waiting, or dropped for one of a closed set of reasons."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType


class DropReason(str, Enum):
    """Why a message, or one element of its array, did not become a perception."""

    # Before it is read.
    LOST = "lost"
    """Published, but pushed out of a full history or lost by the middleware."""
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


class DropError(Exception):
    """One element cannot become a perception."""

    def __init__(self, reason: DropReason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason


@dataclass
class TopicCounts:
    """`observations == stored + waiting + dropped.total()`, at any time."""

    received: int = 0
    """Messages."""
    observations: int = 0
    """Elements of the messages; a message that was dropped unread, or held nothing, counts as one."""
    stored: int = 0
    waiting: int = 0
    """For a transform, or to be written."""
    dropped: Counter[DropReason] = field(default_factory=Counter)
    why: dict[DropReason, str] = field(default_factory=dict)
    """Why the last one was dropped for a reason, in words, where there is more to say than the reason."""
    last_drop: str = ""
    """The last one that was dropped because something is wrong, in words."""
    fields_of_view: int = 0
    """Messages that also reported what their detector did not detect."""
    fields_of_view_dropped: int = 0
    """Messages that could not, because the place of the sensor or a part of the content is unknown."""


class TopicCounter:
    """Counts for one topic; safe to use from several threads."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._counts = TopicCounts()
        self._lock = threading.Lock()

    def receive(
        self, accepted: int, dropped: Mapping[DropReason, int], why: Mapping[DropReason, str] = MappingProxyType({})
    ) -> None:
        """Count a message, of whose observations so many are accepted and the others dropped."""
        with self._lock:
            counts = self._counts
            counts.received += 1
            counts.observations += accepted + sum(dropped.values())
            counts.waiting += accepted
            counts.dropped.update(dropped)
            for reason, words in why.items():
                self._explain(reason, words)

    def drop_unread(self, reason: DropReason, number: int = 1, why: str = "") -> None:
        """Count messages that were dropped before they could be read."""
        with self._lock:
            self._counts.observations += number
            self._counts.dropped[reason] += number
            self._explain(reason, why)

    def store(self, number: int) -> None:
        """Count accepted observations as stored."""
        with self._lock:
            self._counts.waiting -= number
            self._counts.stored += number

    def drop(self, reason: DropReason, number: int, why: str = "") -> None:
        """Count accepted observations as dropped."""
        if not number:
            return
        with self._lock:
            self._counts.waiting -= number
            self._counts.dropped[reason] += number
            self._explain(reason, why)

    def field_of_view(self, why_not: str = "") -> None:
        """Count a field of view, or one that had to be dropped, and why."""
        with self._lock:
            if why_not:
                self._counts.fields_of_view_dropped += 1
                self._counts.last_drop = f"{self._topic}: {why_not}"
            else:
                self._counts.fields_of_view += 1

    def counts(self) -> TopicCounts:
        """Return a copy of the counts."""
        with self._lock:
            return replace(self._counts, dropped=self._counts.dropped.copy(), why=self._counts.why.copy())

    def _explain(self, reason: DropReason, words: str) -> None:
        if words:
            self._counts.why[reason] = words
            self._counts.last_drop = f"{self._topic}: {words}"
