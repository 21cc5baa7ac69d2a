"""The keys of a topic's configuration as a user writes them, nested or dotted, and as TopicConfig takes them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from ..memory.errors import InvalidFieldError
from ..memory.nearest import did_you_mean
from .topic_config import key_of, table

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
