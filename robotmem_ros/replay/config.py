"""The node's parameter file, read without ROS: its parameters, and the topics with theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from ..memory.errors import InvalidFieldError, shown
from ..memory.parameters import Parameters
from ..perception import TopicConfig, load_presets, parse_topic
from ..perception.topic_keys import flattened

_NODES = ("/**", "memory", "/memory", "/**/memory")
_KEY = "ros__parameters"
_OF_ROS = ("use_sim_time", "qos_overrides", "start_type_description_service")
_NOT_DECIDING = ("qos_", "view_")
_DECIDING = ("collection", "memory_frame", "map_id", "on_missing_transform")


@dataclass(frozen=True)
class ReplayConfig:
    """What is read of a recording, and how it is stored."""

    parameters: Parameters
    topics: tuple[TopicConfig, ...]

    def digest_of(self, topic: TopicConfig) -> str:
        """Of all that decides what memories a message of the topic becomes."""
        deciding = [(name, getattr(self.parameters, name)) for name in _DECIDING]
        named = [row.name for row in fields(topic) if row.name != "name" and not row.name.startswith(_NOT_DECIDING)]
        values = [(name, repr(getattr(topic, name))) for name in named]
        return hashlib.sha256(repr((deciding, values)).encode()).hexdigest()


def load_config(path: Path | str, overrides: Mapping[str, object] | None = None) -> ReplayConfig:
    """Reads a parameter file of the node (`/**: ros__parameters:`), or the same without these two lines.

    `overrides` are parameters that come before those of the file.

    Raises:
        InvalidFieldError: the file cannot be read, or a parameter or a topic in it cannot be used.
    """
    path = Path(path).expanduser()
    values = flattened(str(path), _parameters_in(path))
    own = {entry.name for entry in fields(Parameters)}
    given = {name: value for name, value in values.items() if name in own}
    parameters = Parameters().changed(**{**given, **(overrides or {})})
    presets = load_presets(parameters.presets_file or None)
    topics = []
    for name in parameters.perception_topics:
        keys = {key.removeprefix(f"{name}."): value for key, value in values.items() if key.startswith(f"{name}.")}
        if not keys:
            raise InvalidFieldError("perception_topics", name, f"has no parameters in {path}")
        topics.append(parse_topic(name, keys, presets))
    prefixes = tuple(f"{name}." for name in (*parameters.perception_topics, *_OF_ROS))
    for name, value in values.items():
        if name not in own and name not in _OF_ROS and not name.startswith(prefixes):
            way_out = "is no parameter, nor of a topic that perception_topics names"
            raise InvalidFieldError(name, value, f"in {path} {way_out}")
    return ReplayConfig(parameters, tuple(topics))


def _parameters_in(path: Path) -> dict[str, object]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InvalidFieldError("config", str(path), f"cannot be read: {cause}") from None
    if not isinstance(content, dict):
        raise InvalidFieldError("config", str(path), f"must hold parameters, not {shown(content)}")
    nodes = {name: node for name, node in content.items() if isinstance(node, dict) and _KEY in node}
    if not nodes:
        return content
    merged: dict[str, object] = {}
    for name in _NODES:
        values = nodes.get(name, {}).get(_KEY) or {}
        if not isinstance(values, dict):
            raise InvalidFieldError(f"{name}.{_KEY}", values, f"in {path} must be a mapping")
        merged.update(values)
    return merged
