"""Read the configuration of a topic: its own keys, nested or dotted, over the preset of its message type."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path

import yaml

from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.validation import expanded_path
from .topic_config import TopicConfig, full_type_name, key_of, table

_OPEN = ("context", "only")
"""Keys below which the user chooses the names."""


def flattened(name: str, values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested keys as dotted ones.

    Raises:
        InvalidFieldError: a key is no text.
    """
    flat: dict[str, object] = {}
    if not isinstance(values, Mapping):
        raise InvalidFieldError(name, values, "must be a mapping of keys, such as topic and type, to values")
    for key, value in values.items():
        if not isinstance(key, str):
            raise InvalidFieldError(f"{name}.{prefix}", key, "must be a key, such as topic or type")
        if isinstance(value, Mapping) and value:
            flat.update(flattened(name, value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def arguments(name: str, flat: Mapping[str, object]) -> dict[str, object]:
    """Dotted keys as the arguments of a TopicConfig.

    Raises:
        InvalidFieldError: a key is unknown.
    """
    known = {key_of(row.name): row.name for row in table()}
    found: dict[str, object] = {}
    opened: dict[str, dict[str, object]] = {group: {} for group in _OPEN}
    for key, value in flat.items():
        group, dot, rest = key.partition(".")
        if dot and group in opened:
            # What rclpy gives for a list of numbers.
            opened[group][rest] = list(value) if isinstance(value, array) else value
        elif key in known and key not in opened:
            found[known[key]] = value
        elif key in opened and value == {}:
            continue
        elif key in opened:
            raise InvalidFieldError(f"{name}.{key}", value, "must be a mapping of names")
        else:
            near = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            raise InvalidFieldError(f"{name}.{key}", value, f"is no key of a topic{near}")
    return {**found, **{group: values for group, values in opened.items() if values}}


PRESETS_FILE = Path(__file__).with_name("presets.yaml")


class Presets:
    """Dotted keys and values for each message type."""

    def __init__(self, by_type: Mapping[str, Mapping[str, object]]) -> None:
        self._by_type = {name: dict(values) for name, values in by_type.items()}

    def of(self, type_name: str) -> dict[str, object]:
        """What is known of a type; empty for one without a preset."""
        return dict(self._by_type.get(type_name, {}))

    def types(self) -> tuple[str, ...]:
        """The types that have a preset."""
        return tuple(self._by_type)


def load_presets(own_file: Path | str | None = None) -> Presets:
    """The package's presets, and a file of one's own merged over them: type by type, key by key.

    Raises:
        InvalidFieldError: a file cannot be read, or a preset in it cannot be used; the error names file, type and key.
    """
    merged: dict[str, dict[str, object]] = {}
    for path in [PRESETS_FILE, *([expanded_path("presets_file", own_file)] if own_file else [])]:
        for type_name, values in _read(path).items():
            merged[type_name] = {**merged.get(type_name, {}), **values}
    return Presets(merged)


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InvalidFieldError("presets", str(path), f"cannot be read: {cause}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InvalidFieldError("presets", str(path), "must hold message types, each with its keys and values")
    return {
        full_type_name(f"presets in {path}", str(type_name)): _checked(path, str(type_name), values)
        for type_name, values in content.items()
    }


def _checked(path: Path, type_name: str, values: object) -> dict[str, object]:
    where = f"presets in {path}: {type_name}"
    if not isinstance(values, Mapping):
        raise InvalidFieldError(where, values, "must be a mapping of keys to values")
    flat = flattened(where, values)
    for fixed in ("topic", "type"):
        if fixed in flat:
            raise InvalidFieldError(f"{where}.{fixed}", flat[fixed], "belongs to a topic, not to the preset of a type")
    TopicConfig(name=where, topic="/any", type=type_name, **arguments(where, flat))  # type: ignore[arg-type]
    return flat


def parse_topic(name: str, values: Mapping[str, object], presets: Presets) -> TopicConfig:
    """The configuration of one named topic.

    `values` may be nested ({"qos": {"depth": 5}}) or dotted ({"qos.depth": 5}). What it does not say comes from the
    preset of its type; `context` and `only` are merged name by name, and an empty text takes a source away.

    Raises:
        InvalidFieldError: a key is unknown or a value cannot be used; named as `<name>.<key>`.
    """
    own = flattened(name, values)
    type_name = own.get("type", "")
    if not isinstance(type_name, str):
        raise InvalidFieldError(f"{name}.type", type_name, "must be of type str")
    preset = presets.of(full_type_name(f"{name}.type", type_name))
    return TopicConfig(name=name, **arguments(name, {**preset, **own}))  # type: ignore[arg-type]
