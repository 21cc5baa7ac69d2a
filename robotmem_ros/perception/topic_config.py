"""The keys of a topic's configuration, one table: defaults, units and ranges.

A source says where a value is read: a dot path (`pose.pose`, see dot_path), a template ("{ns} {id}"), or a constant in
quotes ("'dock'"). An empty source reads nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from ..memory import PerceptionType
from ..memory.errors import InvalidFieldError

Value = str | float | int | bool | tuple[str, ...] | Mapping[str, object]
_T = TypeVar("_T", bound=Value)


def key(
    default: _T,
    description: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    source: bool = False,
) -> Any:
    """A row of the table: a field of a dataclass with its unit, its range (both ends included) or its choices."""
    metadata = {
        "description": description, "unit": unit, "low": low, "high": high, "choices": choices, "source": source,
    }  # fmt: skip
    # A mapping is no hashable default.
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def source(description: str) -> Any:
    """A row whose value says where in a message something is; empty for nowhere."""
    return key("", description, source=True)


def sources(description: str) -> Any:
    """A row whose value is one source or a list of them."""
    return key((), description, source=True)


def checked(key: str, row: Field[Any], value: object) -> Value:
    """The value of a key in its declared type; a whole number is welcome where a float is wanted.

    Raises:
        InvalidFieldError: the type is wrong or the value lies outside the range; named as `key`.
    """
    if row.name in {"context", "only"}:
        return _checked_mapping(key, row.name, value)
    if row.name == "confidence" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _checked_number(key, float(value), 0.0, 1.0, "")
    default = row.default
    if isinstance(default, tuple):
        if row.metadata["source"] and isinstance(value, str):
            value = (value,)
        return _checked_list(key, value)
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise InvalidFieldError(key, value, f"must be of type {type(default).__name__}")
    limits = row.metadata
    if limits["choices"] and value not in limits["choices"]:
        raise InvalidFieldError(key, value, f"must be one of {', '.join(limits['choices'])}")
    if isinstance(value, (int, float)) and limits["low"] is not None:
        return _checked_number(key, value, limits["low"], limits["high"], limits["unit"])
    if isinstance(value, str) and "\0" in value:
        raise InvalidFieldError(key, value, "contains a NUL character")
    return value  # type: ignore[return-value]


def _checked_number(key: str, value: float, low: float, high: float, unit: str) -> float:
    if not (math.isfinite(value) and low <= value <= high):
        raise InvalidFieldError(key, value, f"must lie in {low:g} to {high:g} {unit}".rstrip())
    return value


def _checked_list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise InvalidFieldError(key, value, "must be a list of texts")
    return tuple(item for item in value if item)


def _checked_mapping(key: str, name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidFieldError(key, value, "must be a mapping")
    for inner, item in value.items():
        if not isinstance(inner, str) or not all(inner.split(".")):
            raise InvalidFieldError(key, inner, "is no dotted name")
        parts = item if name == "only" and isinstance(item, (list, tuple)) else [item]
        allowed = (str, int, float) if name == "only" else (str,)
        if not all(isinstance(part, allowed) for part in parts):
            raise InvalidFieldError(
                f"{key}.{inner}", item, f"must be {'text or numbers' if name == 'only' else 'text'}"
            )
    return {inner: item for inner, item in value.items() if item not in {"", ()}} if name == "context" else dict(value)


_SENSES = tuple(item.value for item in PerceptionType)
_MATCHED = ("match", "reliable", "best_effort"), ("match", "volatile", "transient_local")
_TYPE = re.compile(r"([a-z]\w*)/(?:msg/)?([A-Z]\w*)", re.ASCII)


@dataclass(frozen=True)
class TopicConfig:
    """One topic and how its messages become perceptions; a `.` in a key is a `_` here.

    Raises:
        InvalidFieldError: a value has the wrong type or lies outside its range; named as `<name>.<key>`.
    """

    name: str
    topic: str = key("", "Topic to subscribe to; required.")
    type: str = key("", 'Message type, such as "std_msgs/msg/String"; required.')
    perception_type: str = key("visual", "The sense it comes by.", choices=_SENSES)

    perception_type_from: str = source("The sense, where each message says it; empty there means `perception_type`.")
    each: str = source("Path to an array; each element is one perception, and the other sources start there.")
    only: Mapping[str, object] = key({}, "Paths, each with the value or values it must have to be stored.")
    max_elements: int = key(1000, "Elements read of one array; the rest is left out.", low=1, high=1_000_000)
    description: str = source("What is perceived, in words; may use `{label}`, `{confidence}` and names of `context`.")
    label: str = source("Class name, such as mug.")
    identity: str = source("Which thing it is, such as a tracking id.")
    confidence: str | float = source("In [0, 1]; a source or a number.")
    pose: tuple[str, ...] = sources(
        "A message with position and orientation, or a box with center and size; of several, the first that is set."
    )
    position: str = source("A message with x, y, z; comes before `pose`.")
    orientation: str = source("A message with x, y, z, w; with `position` only.")
    at_frame: bool = key(False, "Without pose and position: it is where the origin of its frame is.")
    covariance: str = source("36 or 9 numbers, row by row; the position comes first.")
    stamp: str = source("A message with sec and nanosec; empty for the header of the element, then of the message.")
    frame: str = source("Frame of the pose; empty for the header of the element, then of the message.")
    context: Mapping[str, str] = key({}, "Dotted names in the context, each with its source.")
    context_json: str = source("A text that is a JSON object, to start the context with.")
    session_id: str = source("The episode.")
    collection: str = source("The namespace.")
    data: str = source("Raw bytes to keep.")
    data_format: str = source("What `data` holds.")
    image: str = source("An Image or CompressedImage to keep as a thumbnail, in place of `data`.")
    thumbnail_width: int = key(160, "Widest thumbnail; 0 keeps the size.", unit="pixels", low=0, high=10_000)
    thumbnail_height: int = key(120, "Highest thumbnail; 0 keeps the size.", unit="pixels", low=0, high=10_000)

    changes_only: str = source("Stored only where this differs from the last stored of the same identity, or label.")
    min_interval: float = key(0.0, "Shortest time between two stored messages.", unit="s", low=0.0, high=1e6)
    min_displacement: float = key(0.0, "Stored only this far from the last of its label.", unit="m", low=0.0, high=1e6)
    min_confidence: float = key(0.0, "Less confident perceptions are left out.", low=0.0, high=1.0)
    labels: tuple[str, ...] = key((), "Labels to store, whatever their case; empty for all.")
    ignore_labels: tuple[str, ...] = key((), "Labels to leave out, whatever their case.")
    view_range: float = key(
        0.0, "How far the detector surely sees; 0 and absence is never told.", unit="m", low=0.0, high=1000.0
    )
    view_horizontal: float = key(1.0, "Opening angle in which it surely sees.", unit="rad", low=0.0, high=6.2832)
    view_vertical: float = key(0.8, "The same from top to bottom.", unit="rad", low=0.0, high=6.2832)
    view_frame: str = key("", "Frame of the sensor; empty for that of the message's header.")
    view_axis: str = key(
        "match", "Where the sensor looks; `match`: along z in frames named `..._optical...`, else x.",
        choices=("match", "x", "z"),
    )  # fmt: skip
    gate: bool = key(True, "Stored only while the robot is well localised, where a gate is configured.")

    qos_reliability: str = key("match", "`match` is as the publisher has it.", choices=_MATCHED[0])
    qos_durability: str = key("match", "`match` is as the publisher has it.", choices=_MATCHED[1])
    qos_depth: int = key(100, "History depth of the subscription.", unit="messages", low=1, high=100_000)

    def __post_init__(self) -> None:
        for row in table():
            named = f"{self.name}.{key_of(row.name)}"
            object.__setattr__(self, row.name, checked(named, row, getattr(self, row.name)))
        object.__setattr__(self, "type", full_type_name(f"{self.name}.type", self.type))
        if not self.topic or any(part.isspace() for part in self.topic):
            raise InvalidFieldError(f"{self.name}.topic", self.topic, "is no name of a topic, such as /detections")

    def subject(self) -> str:
        """How errors name it."""
        return f"topic {self.topic} of type {self.type}"


def table() -> tuple[Field[Any], ...]:
    """The rows of the table: every field but the name."""
    return fields(TopicConfig)[1:]


def key_of(field_name: str) -> str:
    """The key as it is written in a configuration: `qos.depth` for qos_depth."""
    for group in ("qos", "thumbnail", "view"):
        if field_name.startswith(f"{group}_"):
            return field_name.replace("_", ".", 1)
    return field_name


def full_type_name(key: str, value: str) -> str:
    """A type with its middle part, "std_msgs/msg/String".

    Raises:
        InvalidFieldError: it is no name of a message type.
    """
    match = _TYPE.fullmatch(value)
    if match is None:
        raise InvalidFieldError(key, value, 'is no message type; write it as "std_msgs/msg/String"')
    return f"{match[1]}/msg/{match[2]}"
