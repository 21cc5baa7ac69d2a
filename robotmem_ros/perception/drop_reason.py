"""Why something that arrived was not stored: one closed set, so that every loss can be counted by its reason."""

from __future__ import annotations

from enum import Enum


class Reason(str, Enum):
    """Why a message, or one element of its array, did not become a perception."""

    # What the message holds.
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
    # What the configuration asked to leave out.
    MIN_INTERVAL = "min_interval"
    MIN_DISPLACEMENT = "min_displacement"
    MIN_CONFIDENCE = "min_confidence"
    LABEL_NOT_WANTED = "label_not_wanted"
    UNCHANGED = "unchanged"
    NOT_LOCALISED = "not_localised"
    # What the transforms did not give.
    UNKNOWN_FRAME = "unknown_frame"
    NOT_CONNECTED = "not_connected"
    NO_TRANSFORM = "no_transform"
    FRAME_LOOP = "frame_loop"
    TF_QUEUE_FULL = "tf_queue_full"
    # What happened on the way into the memory.
    FUTURE_STAMP = "future_stamp"
    QUEUE_FULL = "queue_full"
    INVALID = "invalid"
    NOT_WRITTEN = "not_written"
    ALREADY_STORED = "already_stored"


class Refused(Exception):  # noqa: N818 -- no error: the ordinary way by which one element of a message is left out
    """One element cannot become a perception."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason
