"""What was given at start and has no effect: misspelt parameters, topics that are not listed, other nodes' sections."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import yaml
from rclpy.node import Node

from ..memory.config.parameter_file import misnamed
from ..memory.config.parameters import Parameters
from ..memory.errors import did_you_mean
from .node_parameters import given

_OF_RCLPY = "qos_overrides."


def ignored_parameters(node: Node, parameters: Parameters) -> Iterator[str]:
    """Say of each what is wrong and what would be right, for the log."""
    topics = parameters.perception_topics
    known = [entry.name for entry in fields(Parameters)]
    blocks: dict[str, list[str]] = {}
    for name in sorted(given(node)):
        block, dot, _ = name.partition(".")
        if node.has_parameter(name) or name.startswith(_OF_RCLPY) or (dot and block in topics):
            continue
        if dot:
            blocks.setdefault(block, []).append(name)
        else:
            yield f"{name}: is no parameter and is ignored{did_you_mean(name, known)}"
    for block, names in blocks.items():
        what = f"{', '.join(names)}: {block!r} is not listed in perception_topics and is ignored"
        yield f"{what}{did_you_mean(block, topics) or '; list it to subscribe'}"
    for path in _parameter_files():
        for what in misnamed(_content(path), node.get_fully_qualified_name(), known):
            yield f"{path}: {what}"


def _parameter_files() -> list[Path]:
    return [Path(value) for option, value in pairwise(sys.argv) if option == "--params-file"]


def _content(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        # rcl has read it, in its own way: nothing is known of what it left out.
        return None
