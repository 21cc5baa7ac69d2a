"""What one message, or one element of its array, says about the world; not yet transformed, not yet stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .reasons import Reason

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Observation:
    """A perception in the frame of its sensor."""

    description: str
    stamp_ns: int
    """When it was observed: nanoseconds since the epoch, by the clock of the message."""
    stamp_is_receipt: bool = False
    """The message had no stamp: `stamp_ns` is when it was received."""
    frame_id: str = ""
    """Frame of `pose` and `covariance`; empty where the message names none."""
    pose: tuple[float, ...] | None = None
    """x, y, z in metres; and a unit quaternion x, y, z, w where the message has an orientation."""
    covariance: Matrix | None = None
    """Of the position, in m²; None where it is unset (all zero, or its first element negative) or not finite."""
    label: str = ""
    confidence: float = 0.9
    """How sure the source is, in [0, 1]."""
    perception_type: str = "visual"
    context: Mapping[str, object] = field(default_factory=dict)
    """A JSON object."""
    data: bytes = field(default=b"", repr=False)
    data_format: str = ""
    """Such as "jpeg", or "rgb8/160x120" for pixels row by row; empty when there is no data."""
    session_id: str = ""
    collection: str = ""
    identity: str = ""
    """Which thing this is, as the source tells them apart (a tracking id, a name); empty for what has a label only."""
    state: str | None = None
    """What is compared when only changes are stored; None stores everything."""


@dataclass(frozen=True)
class Extraction:
    """What became of one message."""

    observations: tuple[Observation, ...]
    refusals: Counter[Reason]
    """How many elements could not be used, and why."""
    last_refusal: str = ""
    """The last of them in words, for the log."""
