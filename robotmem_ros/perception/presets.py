"""Read the configuration of a topic: its own keys, nested or dotted, over the preset of its message type.

The presets are in `presets.yaml`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from pathlib import Path

from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.validation import expanded_path
from ..memory.yaml_file import read_yaml
from .topic_config import TopicConfig, full_type_name, key_of, table

PRESETS_FILE = Path(__file__).with_name("presets.yaml")
_NAMED_BY_USER = ("context", "only")

Presets = Mapping[str, Mapping[str, object]]
"""Dotted keys and their values for each message type."""


def load_presets(own_file: Path | str | None = None) -> Presets:
    """Read the built-in presets, and a file of the user merged over them: type by type, key by key.

    Raises:
        InvalidFieldError: a file cannot be read, or a preset in it cannot be used; the error names file, type and key.
    """
    merged: dict[str, dict[str, object]] = {}
    for path in [PRESETS_FILE, *([expanded_path("presets_file", own_file)] if own_file else [])]:
        for written, entry in read_yaml("presets_file", path).items():
            where = f"presets_file {path}: {written}"
            type_name = full_type_name(where, written)
            values = flattened(where, entry.value)
            for fixed in values.keys() & {"topic", "type"}:
                why = "belongs to a topic, not to the preset of a type"
                raise InvalidFieldError(f"{where}.{fixed}", values[fixed], why)
            _topic_config(where, {"topic": "/any", "type": type_name, **values})
            merged[type_name] = {**merged.get(type_name, {}), **values}
    return merged


def configured_topics(
    parameters: Parameters, keys_below: Callable[[str], Mapping[str, object]]
) -> tuple[TopicConfig, ...]:
    """Read the configuration of each of `perception_topics`; `keys_below` returns the keys given for a name.

    Raises:
        InvalidFieldError: a name has no keys, a key is unknown, or a value cannot be used.
    """
    presets = load_presets(parameters.presets_file or None)
    found = []
    for name in parameters.perception_topics:
        keys = keys_below(name)
        if not keys:
            why = f"has no parameters; give {name}.topic and {name}.type"
            raise InvalidFieldError("perception_topics", name, why)
        found.append(parse_topic(name, keys, presets))
    return tuple(found)


def parse_topic(name: str, values: Mapping[str, object], presets: Presets) -> TopicConfig:
    """Read the configuration of one named topic.

    `values` may be nested ({"qos": {"depth": 5}}) or dotted ({"qos.depth": 5}). Missing keys come from the preset of
    the type; `context` and `only` are merged name by name, and an empty text removes a source.

    Raises:
        InvalidFieldError: a key is unknown or a value cannot be used; named as `<name>.<key>`.
    """
    own = flattened(name, values)
    preset = presets.get(full_type_name(f"{name}.type", own.get("type", "")), {})
    return _topic_config(name, {**preset, **own})


def flattened(name: str, values: object, prefix: str = "") -> dict[str, object]:
    """Return nested keys as dotted ones.

    Raises:
        InvalidFieldError: a key is no text, or `values` is no mapping; named as `name`.
    """
    if not isinstance(values, Mapping):
        raise InvalidFieldError(name, values, "must be a mapping of keys, such as topic and type, to values")
    flat: dict[str, object] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise InvalidFieldError(f"{name}.{prefix}", key, "must be a key, such as topic or type")
        if isinstance(value, Mapping) and value:
            flat.update(flattened(name, value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _topic_config(name: str, dotted: Mapping[str, object]) -> TopicConfig:
    known = {key_of(row.name): row.name for row in table()}
    found: dict[str, object] = {}
    mappings: dict[str, dict[str, object]] = {key: {} for key in _NAMED_BY_USER}
    for key, value in dotted.items():
        group, dot, rest = key.partition(".")
        if dot and group in mappings:
            # rclpy gives a list of numbers as an array.
            mappings[group][rest] = list(value) if isinstance(value, array) else value
        elif key in mappings:
            if value != {}:
                raise InvalidFieldError(f"{name}.{key}", value, "must be a mapping of names")
        elif key in known:
            found[known[key]] = value
        else:
            near = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            raise InvalidFieldError(f"{name}.{key}", value, f"is no key of a topic{near}")
    return TopicConfig(name=name, **found, **mappings)  # type: ignore[arg-type]
