"""From the plain dict of a parameter file to a TopicConfig: nested or dotted, over the preset of its type."""

from __future__ import annotations

from collections.abc import Mapping

from ..memory.errors import InvalidFieldError
from .presets import Presets
from .topic_config import TopicConfig, full_type_name
from .topic_keys import arguments, flattened


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
