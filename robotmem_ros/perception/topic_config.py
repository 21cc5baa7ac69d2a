"""Read the configuration of a topic: one table of its keys, and the preset of its message type below what is given.

A source says where a value is read: a dot path (`pose.pose`, see sources), a template ("{ns} {id}"), or a constant in
quotes ("'dock'"). An empty source reads nothing. The presets are in `presets.yaml`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..memory import PerceptionType
from ..memory.config.parameter import check_value, parameter
from ..memory.config.parameters import Parameters
from ..memory.context_path import check as check_path
from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.validation import expanded_path, number
from ..memory.yaml_file import read_yaml
from .label_names import read_label_names

PRESETS_FILE = Path(__file__).with_name("presets.yaml")

Presets = Mapping[str, Mapping[str, object]]
"""Dotted keys and their values for each message type."""
_SENSES = tuple(item.value for item in PerceptionType)
_QOS_POLICIES = ("match", "reliable", "best_effort"), ("match", "volatile", "transient_local")
_TYPE = re.compile(r"([a-z]\w*)/(?:msg/)?([A-Z]\w*)", re.ASCII)
_NAMED_BY_USER = ("context", "only", "label_names")


def _source(description: str, default: Any = "") -> Any:
    """Declare a key that says where in a message a value is; `default` () takes a list of sources, too."""
    row: Any = parameter(default, description)
    return field(default=default, metadata={**row.metadata, "source": True})


def _mapping(description: str) -> Any:
    """Declare a key below which the user chooses the names."""
    row: Any = parameter("", description)
    return field(default_factory=dict, metadata=row.metadata)


@dataclass(frozen=True)
class TopicConfig:
    """One topic and how its messages become perceptions; a `.` in a key is a `_` here.

    Raises:
        InvalidFieldError: a value has the wrong type or lies outside its range; named as `<name>.<key>`.
    """

    name: str
    topic: str = parameter("", "Topic to subscribe to; required.")
    type: str = parameter("", 'Message type, such as "std_msgs/msg/String"; required.')
    perception_type: str = parameter("visual", "Sense by which it is perceived.", choices=_SENSES)

    perception_type_from: str = _source(
        "Sense, if each message names its own; empty in a message means `perception_type`."
    )
    each: str = _source("Path to an array; each element is one perception, and the other sources start there.")
    only: Mapping[str, object] = _mapping("Paths, each with the value or values that a stored element has.")
    max_elements: int = parameter(
        1000, "Elements read of one array; the rest is dropped.", minimum=1, maximum=1_000_000
    )
    description: str = _source(
        "What is perceived; may use `{label}`, `{confidence}`, `{topic}` and names of `context`."
    )
    label: str = _source("Class name, such as mug.")
    label_names: Mapping[str, str] = _mapping(
        "Names of the classes that `label` reads: `{56: chair}`, a list from 0 on, or a file with them."
    )
    vision_info: str = parameter(
        "", "Topic of a vision_msgs/LabelInfo or VisionInfo that tells the names of the classes."
    )
    identity: str = _source("Identity of the thing, such as a tracking id.")
    confidence: str | float = _source("In [0, 1]; a source or a number.")
    pose: tuple[str, ...] = _source(
        "A message with position and orientation, or a box with center and size; of several, the first that is set.", ()
    )
    position: str = _source(
        "A message with x, y, z, an array of two or three numbers, or a fix with latitude and longitude, by the "
        "parameter `datum`; overrides `pose`."
    )
    orientation: str = _source("A message with x, y, z, w, or an array of four numbers; with `position` only.")
    at_frame: bool = parameter(False, "Without pose and position, it lies at the origin of its frame.")
    size: tuple[str, ...] = _source(
        "Edges of a box around the thing along the axes of its orientation: a message with x, y, z, an array of three "
        "numbers, or three sources of a number. It is unknown unless all are above 0.",
        (),
    )
    depth: str = parameter(
        "", "Topic of a depth image, registered to the image of the detector, that gives its 2D boxes a place."
    )
    camera_info: str = parameter("", "Topic of the CameraInfo of the image that `box` belongs to; with `depth`.")
    depth_tolerance: float = parameter(
        0.05, "Largest time between a box and its depth image, by their stamps.", unit="s", minimum=0.0, maximum=10.0
    )
    box: tuple[str, ...] = _source("Four numbers of a 2D box, in pixels; with `depth`.", ())
    box_format: str = parameter(
        "center_size",
        "Numbers of `box`: middle x, middle y, width, height; left, top, right, bottom; or left, top, width, height.",
        choices=("center_size", "corners", "corner_size"),
    )
    origin_is_unset: bool = parameter(
        False, "A pose or position at the origin of its frame, without a rotation, is unset."
    )
    covariance: str = _source("36 or 9 numbers, row by row, or 6 of an upper triangle; the position comes first.")
    stamp: str = _source("A message with sec and nanosec; empty for the header of the element, then of the message.")
    frame: str = _source("Frame of the pose; empty for the header of the element, then of the message.")
    require_frame: bool = parameter(
        True, "Drop a position whose frame is named and empty; else it is one in `memory_frame`."
    )
    context: Mapping[str, str] = _mapping("[Paths](recall.md#paths) in the context, each with its source.")
    context_json: str = _source("A text that is a JSON object, to start the context with.")
    session_id: str = _source("Session.")
    collection: str = _source("Collection.")
    data: str = _source("Raw bytes to store.")
    data_format: str = _source("Format of `data`.")
    image: str = _source("An Image or CompressedImage to store as a thumbnail, in place of `data`.")
    thumbnail_width: int = parameter(
        160, "Widest thumbnail; 0 keeps the size.", unit="pixels", minimum=0, maximum=10_000
    )
    thumbnail_height: int = parameter(
        120, "Highest thumbnail; 0 keeps the size.", unit="pixels", minimum=0, maximum=10_000
    )

    changes_only: str = _source("Store only if this differs from the last one stored of the same identity, or label.")
    min_interval: float = parameter(
        0.0, "Shortest time between two stored messages.", unit="s", minimum=0.0, maximum=1e6
    )
    repeat_interval: float = parameter(
        0.0,
        "Time after which what repeats without a position (same identity, or label) is stored again; with "
        "`changes_only` also what is unchanged.",
        unit="s",
        minimum=0.0,
        maximum=1e6,
    )
    min_displacement: float = parameter(
        0.0, "Shortest distance from the last one stored of its label.", unit="m", minimum=0.0, maximum=1e6
    )
    min_confidence: float = parameter(0.0, "Less confident perceptions are dropped.", minimum=0.0, maximum=1.0)
    labels: tuple[str, ...] = parameter((), "Labels to store, whatever their case; empty for all.")
    ignore_labels: tuple[str, ...] = parameter((), "Labels to drop, whatever their case.")
    field_of_view_range: float = parameter(
        0.0,
        "Distance up to which the detector surely detects; 0 disables absence.",
        unit="m",
        minimum=0.0,
        maximum=1000.0,
    )
    field_of_view_horizontal: float = parameter(
        1.0, "Opening angle from left to right in which it surely detects.", unit="rad", minimum=0.0, maximum=6.2832
    )
    field_of_view_vertical: float = parameter(
        0.8, "Opening angle from top to bottom.", unit="rad", minimum=0.0, maximum=6.2832
    )
    field_of_view_frame: str = parameter("", "Frame of the sensor; empty for the frame of the header.")
    field_of_view_axis: str = parameter(
        "match", "Axis along which the sensor looks; `match` is z in frames named `..._optical...`, else x.",
        choices=("match", "x", "z"),
    )  # fmt: skip
    gate: bool = parameter(True, "Store only while the robot is well localised, if `localisation_topic` is set.")

    qos_reliability: str = parameter("match", "`match` is as the publisher has it.", choices=_QOS_POLICIES[0])
    qos_durability: str = parameter("match", "`match` is as the publisher has it.", choices=_QOS_POLICIES[1])
    qos_depth: int = parameter(100, "History depth of the subscription.", unit="messages", minimum=1, maximum=100_000)

    def __post_init__(self) -> None:
        for row in table():
            key = f"{self.name}.{key_of(row.name)}"
            object.__setattr__(self, row.name, _check(key, row, getattr(self, row.name)))
        object.__setattr__(self, "type", full_type_name(f"{self.name}.type", self.type))
        if not self.topic or any(part.isspace() for part in self.topic):
            raise InvalidFieldError(f"{self.name}.topic", self.topic, "is no name of a topic, such as /detections")


def table() -> tuple[Field[Any], ...]:
    """Return the rows of the table: every field but the name."""
    return fields(TopicConfig)[1:]


def key_of(field_name: str) -> str:
    """Return the key as written in a configuration: `qos.depth` for qos_depth."""
    for group in ("qos", "thumbnail", "field_of_view"):
        if field_name.startswith(f"{group}_"):
            return f"{group}.{field_name.removeprefix(f'{group}_')}"
    return field_name


def full_type_name(key: str, value: object) -> str:
    """Return a message type with its middle part, "std_msgs/msg/String".

    Raises:
        InvalidFieldError: it is no name of a message type.
    """
    match = _TYPE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidFieldError(key, value, 'is no message type; write it as "std_msgs/msg/String"')
    return f"{match[1]}/msg/{match[2]}"


def load_presets(own_file: Path | str | None = None) -> Presets:
    """Read the built-in presets, and a file of the user merged over them: type by type, key by key.

    Raises:
        InvalidFieldError: a file cannot be read, or a preset in it cannot be used; the error names file, type and key.
    """
    presets: dict[str, dict[str, object]] = {}
    for path in [PRESETS_FILE, *([expanded_path("presets_file", own_file)] if own_file else [])]:
        for name, entry in read_yaml("presets_file", path).items():
            place = f"presets_file {path}: {name}"
            type_name = full_type_name(place, name)
            values = flatten(place, entry.value)
            for key in values.keys() & {"topic", "type"}:
                problem = "belongs to a topic, not to the preset of a type"
                raise InvalidFieldError(f"{place}.{key}", values[key], problem)
            _topic_config(place, {"topic": "/any", "type": type_name, **values})
            presets[type_name] = {**presets.get(type_name, {}), **values}
    return presets


def configured_topics(
    parameters: Parameters, keys_below: Callable[[str], Mapping[str, object]]
) -> tuple[TopicConfig, ...]:
    """Read the configuration of each of `perception_topics`; `keys_below` returns the keys given for a name.

    Raises:
        InvalidFieldError: a name is none, is given twice or has no keys, a key is unknown, or a value cannot be used.
    """
    presets = load_presets(parameters.presets_file or None)
    configs: list[TopicConfig] = []
    for name in parameters.perception_topics:
        if any(part.isspace() for part in name) or not all(name.split(".")):
            raise InvalidFieldError("perception_topics", name, "is no name; such as detections")
        if any(name == config.name for config in configs):
            raise InvalidFieldError("perception_topics", name, "is named twice")
        keys = keys_below(name)
        if not keys:
            problem = f"has no parameters; give {name}.topic and {name}.type"
            raise InvalidFieldError("perception_topics", name, problem)
        configs.append(parse_topic(name, keys, presets))
    return tuple(configs)


def parse_topic(name: str, values: Mapping[str, object], presets: Presets) -> TopicConfig:
    """Read the configuration of one named topic.

    `values` may be nested ({"qos": {"depth": 5}}) or dotted ({"qos.depth": 5}). Missing keys come from the preset of
    the type; `context` and `only` are merged name by name, and an empty text removes a source.

    Raises:
        InvalidFieldError: a key is unknown or a value cannot be used; named as `<name>.<key>`.
    """
    keys = flatten(name, values)
    preset = presets.get(full_type_name(f"{name}.type", keys.get("type", "")), {})
    return _topic_config(name, {**preset, **keys})


def flatten(name: str, values: object, prefix: str = "") -> dict[str, object]:
    """Return nested keys as dotted ones.

    Raises:
        InvalidFieldError: a key is no text, or `values` is no mapping; named as `name`.
    """
    if not isinstance(values, Mapping):
        raise InvalidFieldError(name, values, "must be a mapping of keys, such as topic and type, to values")
    flat: dict[str, object] = {}
    for key, value in values.items():
        # A class below `label_names` may be a number.
        is_class = prefix and isinstance(key, int) and not isinstance(key, bool)
        if not isinstance(key, str) and not is_class:
            raise InvalidFieldError(f"{name}.{prefix}", key, "must be a key, such as topic or type")
        if isinstance(value, Mapping) and value:
            flat.update(flatten(name, value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _check(key: str, row: Field[Any], value: object) -> object:
    if row.name in _NAMED_BY_USER:
        return _checked_mapping(key, value, numbers=row.name == "only")
    if isinstance(row.default, tuple):
        items = (value,) if "source" in row.metadata and isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
            raise InvalidFieldError(key, value, "must be a list of texts")
        return tuple(item for item in items if item)
    if row.name == "confidence" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(key, value, low=0.0, high=1.0)
    if "source" not in row.metadata:
        return check_value(row, value, key)
    if not isinstance(value, str) or "\0" in value:
        raise InvalidFieldError(key, value, "must be of type str, without a NUL character")
    return value


def _label_names(key: str, value: str | Sequence[object]) -> Mapping[str, object]:
    if isinstance(value, str):
        return read_label_names(key, value) if value else {}
    return {str(number): label for number, label in enumerate(value)}


def _checked_mapping(key: str, value: object, *, numbers: bool) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidFieldError(key, value, "must be a mapping")
    for inner, item in value.items():
        check_path(key, inner)
        parts = item if numbers and isinstance(item, (list, tuple)) else [item]
        if not all(isinstance(part, (str, int, float) if numbers else str) for part in parts):
            raise InvalidFieldError(f"{key}.{inner}", item, f"must be text{' or numbers' if numbers else ''}")
    # An empty source in `context` removes the preset's.
    return dict(value) if numbers else {inner: item for inner, item in value.items() if item}


def _topic_config(name: str, dotted: Mapping[str, object]) -> TopicConfig:
    field_names = {key_of(row.name): row.name for row in table()}
    arguments: dict[str, object] = {}
    mappings: dict[str, dict[str, object]] = {key: {} for key in _NAMED_BY_USER}
    for key, value in dotted.items():
        group, dot, rest = key.partition(".")
        if dot and group in mappings:
            # rclpy gives a list of numbers as an array.
            mappings[group][rest] = list(value) if isinstance(value, array) else value
        elif key == "label_names" and isinstance(value, (str, list, tuple)):
            # Single names that are given beside them come first.
            mappings[key] = {**_label_names(f"{name}.{key}", value), **mappings[key]}
        elif key in mappings:
            if value != {}:
                raise InvalidFieldError(f"{name}.{key}", value, "must be a mapping of names")
        elif key in field_names:
            arguments[field_names[key]] = value
        else:
            near = did_you_mean(key, field_names) or f"; there are {', '.join(field_names)}"
            raise InvalidFieldError(f"{name}.{key}", value, f"is no key of a topic{near}")
    return TopicConfig(name=name, **arguments, **mappings)  # type: ignore[arg-type]
