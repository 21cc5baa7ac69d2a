"""Read the node's parameter file without ROS: its parameters and its configured topics."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..memory.config.parameter_file import KEY, misnamed, sections
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, did_you_mean, shown
from ..memory.validation import expanded_path
from ..memory.yaml_file import read_yaml, yaml_text
from ..perception import TopicConfig, configured_topics
from ..perception.topic_config import flatten

_NODE = "/memory"
_OF_ROS = ("use_sim_time", "qos_overrides", "start_type_description_service")
_NOT_DECIDING = ("qos_", "field_of_view_")
_DECIDING_MAP = ("collection", "memory_frame", "map_id")
_DECIDING = (*_DECIDING_MAP, "on_missing_transform", "tf_topics", "datum")
_DECIDING_PATH = (*_DECIDING_MAP, "tf_topics", "robot_frame", "path_distance", "path_interval")


@dataclass(frozen=True)
class ReplayConfig:
    """Topics of a recording to read, and how they are stored."""

    parameters: Parameters
    topics: tuple[TopicConfig, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that are named, to open a memory with: those of the file and the overrides."""

    @property
    def path_digest(self) -> str:
        """Return the digest of everything that decides which points the path of the robot gets."""
        return hashlib.sha256(repr([getattr(self.parameters, name) for name in _DECIDING_PATH]).encode()).hexdigest()

    @property
    def map_digest(self) -> str:
        """Return the digest of everything that decides what a message of the map's topic becomes."""
        deciding = tuple(getattr(self.parameters, name) for name in _DECIDING_MAP)
        return hashlib.sha256(repr(deciding).encode()).hexdigest()

    def digest_of(self, topic: TopicConfig) -> str:
        """Return the digest of everything that decides which memories a message of the topic becomes."""
        deciding = [(name, getattr(self.parameters, name)) for name in _DECIDING]
        decisive = [row.name for row in fields(topic) if row.name != "name" and not row.name.startswith(_NOT_DECIDING)]
        values = [(name, repr(getattr(topic, name))) for name in decisive]
        return hashlib.sha256(repr((deciding, values)).encode()).hexdigest()


def load_config(path: Path | str, overrides: Mapping[str, object] | None = None) -> ReplayConfig:
    """Read a parameter file of the node (`/**: ros__parameters:`), or the same without these two lines.

    `overrides` are parameters that replace those of the file.

    Raises:
        InvalidFieldError: the file cannot be read, or a parameter or a topic in it cannot be used.
    """
    path = expanded_path("config", path)
    return _config(path, _parameters_in(path), overrides or {})


def config_of(parameters: Mapping[str, object], overrides: Mapping[str, object] | None = None) -> ReplayConfig:
    """Read parameters as a file of the node has them below `ros__parameters`.

    Raises:
        InvalidFieldError: a parameter or a topic in it cannot be used.
    """
    return _config("the configuration", parameters, overrides or {})


def parameter_file(parameters: Mapping[str, object]) -> str:
    """Write parameters as a file of the node."""
    return yaml_text({"/**": {KEY: parameters}})


def _config(source: Path | str, given: Mapping[str, object], overrides: Mapping[str, object]) -> ReplayConfig:
    values = flatten(str(source), given)
    names = {entry.name for entry in fields(Parameters)}
    from_file = {name: value for name, value in values.items() if name in names}
    named = {**from_file, **overrides}
    parameters = Parameters().changed(**named)
    topics = configured_topics(
        parameters,
        lambda name: {key.removeprefix(f"{name}."): values[key] for key in values if key.startswith(f"{name}.")},
    )
    prefixes = tuple(f"{name}." for name in (*parameters.perception_topics, *_OF_ROS))
    for name, value in values.items():
        if name not in names and name not in _OF_ROS and not name.startswith(prefixes):
            block, dot, _ = name.partition(".")
            near = did_you_mean(block, parameters.perception_topics if dot else names)
            problem = f"{block!r} is not listed in perception_topics" if dot else "is no parameter"
            raise InvalidFieldError(name, value, f"in {source}: {problem}{near}")
    return ReplayConfig(parameters, topics, {name: getattr(parameters, name) for name in named})


def _parameters_in(path: Path) -> Mapping[str, object]:
    content = read_yaml("config", path).value
    if not isinstance(content, dict) or not content:
        raise InvalidFieldError("config", path, f"must hold parameters, not {shown(content)}")
    blocks = list(sections(content))
    if not blocks:
        return content
    for problem in misnamed(content, _NODE, [entry.name for entry in fields(Parameters)]):
        raise InvalidFieldError("config", path, problem)
    parameters: dict[str, object] = {}
    # A section of this node alone overrides one with wildcards.
    for section in sorted(blocks, key=lambda block: "*" not in block.node):
        if not section.is_read_by(_NODE):
            continue
        if not isinstance(section.parameters, dict):
            raise InvalidFieldError(f"{section.node}.{KEY}", section.parameters, f"in {path} must be a mapping")
        parameters.update(section.parameters)
    return parameters
