"""Declare the table of parameters on a node, keep it current, and tell which given parameters have no effect."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter

from ..memory.config.parameter_file import misnamed
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.yaml_file import read_yaml


class ParametersNode(LifecycleNode):
    """A node that knows by name which parameters were given at start, whether they are declared or not."""

    start_values: Mapping[str, Any]
    """Values from the start of the node; None for an empty list."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **options)

    def declare_parameters(
        self, namespace: str, parameters: Sequence[Any], ignore_override: bool = False
    ) -> list[Parameter[Any]]:
        """Declare parameters, but keep those of the constructor of rclpy, which comes first and has all that was given.

        It would declare them without a description, and fails at an empty list, which has no type.
        """
        if not hasattr(self, "start_values"):
            self.start_values = {name: value for name, value, *_ in parameters}
            return []
        declared: list[Parameter[Any]] = super().declare_parameters(namespace, parameters, ignore_override)
        return declared


def declare(node: ParametersNode, on_change: Callable[[Parameters], None]) -> Parameters:
    """Declare all parameters and return their values; `on_change` gets the new ones after a set that was accepted.

    Raises:
        InvalidFieldError: a value given at start cannot be used.
    """
    current = Parameters().changed(**{entry.name: _declared(node, entry) for entry in fields(Parameters)})

    def check(changes: Sequence[Parameter]) -> SetParametersResult:
        nonlocal current
        values = {change.name: change.value for change in changes if hasattr(current, change.name)}
        try:
            candidate = current.changed(**values)
        except InvalidFieldError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if candidate != current:
            current = candidate
            on_change(candidate)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    return current


def declare_group(node: ParametersNode, name: str) -> dict[str, object]:
    """Declare what was given at start for `<name>.<key>`, whatever the keys are; return their values by key.

    Their names are not known before: they are checked by whoever reads them.
    """
    prefix = f"{name}."
    values: dict[str, object] = {}
    for key in sorted(key for key in node.start_values if key.startswith(prefix)):
        if not node.has_parameter(key):
            node.declare_parameter(key, None, ParameterDescriptor(dynamic_typing=True, read_only=True))
        value = node.get_parameter(key).value
        # What rcl makes of an empty list.
        values[key.removeprefix(prefix)] = [] if value is None else value
    return values


def _declared(node: ParametersNode, entry: Field[Any]) -> Any:
    # An empty list has no type for rcl: it is the default of every parameter that is a list.
    is_empty = entry.name in node.start_values and node.start_values[entry.name] is None
    return node.declare_parameter(entry.name, _start(entry), _descriptor(entry), ignore_override=is_empty).value


def _start(entry: Field[Any]) -> Any:
    # An empty list would be one of bytes.
    return list(entry.default) or [""] if isinstance(entry.default, tuple) else entry.default


def _descriptor(entry: Field[Any]) -> ParameterDescriptor:
    limits = entry.metadata
    unit = f" Unit: {limits['unit']}." if limits["unit"] else ""
    descriptor = ParameterDescriptor(
        description=limits["description"] + unit,
        read_only=limits["read_only"],
        additional_constraints=f"one of {', '.join(limits['choices'])}" if limits["choices"] else "",
        # A whole number is welcome where a float is wanted: rate:=2 is what people type.
        dynamic_typing=isinstance(entry.default, float),
    )
    if limits["minimum"] is not None:
        low, high = limits["minimum"], limits["maximum"]
        if isinstance(entry.default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
        else:
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=1)]
    return descriptor


_OF_RCLPY = "qos_overrides."


def ignored_parameters(node: ParametersNode, parameters: Parameters) -> Iterator[str]:
    """Tell of each ignored parameter what is wrong and what would be right."""
    topics = parameters.perception_topics
    parameter_names = [entry.name for entry in fields(Parameters)]
    without_keys = [topic for topic in topics if not any(name.startswith(f"{topic}.") for name in node.start_values)]
    blocks: dict[str, list[str]] = {}
    for name in sorted(node.start_values):
        block, dot, _ = name.partition(".")
        if node.has_parameter(name) or name.startswith((_OF_RCLPY, *(f"{topic}." for topic in topics))):
            continue
        if dot:
            blocks.setdefault(block, []).append(name)
        else:
            yield f"{name}: is no parameter and is ignored{did_you_mean(name, parameter_names)}"
    for block, names in blocks.items():
        problem = f"{', '.join(names)}: {block!r} is not listed in perception_topics and is ignored"
        yield f"{problem}{did_you_mean(block, without_keys) or '; list it to subscribe'}"
    for path in parameter_files(sys.argv):
        for problem in misnamed(_content(path), node.get_fully_qualified_name(), parameter_names):
            yield f"{path}: {problem}"


def parameter_files(arguments: Sequence[str]) -> list[Path]:
    """Return the parameter files that the arguments of a node name."""
    return [Path(value) for option, value in pairwise(arguments) if option == "--params-file"]


def _content(path: Path) -> object:
    try:
        return read_yaml("params-file", path).value
    except InvalidFieldError:
        # rcl has read it, in its own way: it is unknown what it ignored.
        return None
