"""What fields a message type has: asked of the classes that rclpy uses, or of the definitions that a recording brings.

Nothing of ROS is imported before a type of it is asked for.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any, Protocol

from . import field_type
from .errors import UnknownTypeError

_INTERFACES = "rosidl_interfaces"
_TYPE_NAME = re.compile(r"([a-z]\w*)/msg/([A-Z]\w*)", re.ASCII)


class TypeDescription(Protocol):
    """The seam: the fields of message types by name."""

    def fields(self, type_name: str) -> Mapping[str, str]:
        """Names to types in the order of definition, such as {"header": "std_msgs/msg/Header", "data": "uint8[]"}.

        Raises:
            UnknownTypeError: there is no such type here.
        """
        ...


def message_class(type_name: str) -> Any:
    """The class that rclpy uses for a type such as "std_msgs/msg/String".

    Raises:
        UnknownTypeError: it is no name of a message type, or cannot be imported.
    """
    match = _TYPE_NAME.fullmatch(type_name)
    if match is None:
        raise UnknownTypeError(type_name, 'is no name of a message type; write it as "std_msgs/msg/String"')
    package, name = match.groups()
    try:
        module = importlib.import_module(f"{package}.msg")
    except ImportError as cause:
        why = f"cannot be found: {cause}; {package} is not installed or not sourced"
        raise UnknownTypeError(type_name, why, installed_types()) from None
    found = getattr(module, name, None)
    if not hasattr(found, "get_fields_and_field_types"):
        raise UnknownTypeError(type_name, f"cannot be found: {package} has no such message", installed_types())
    return found


def installed_types() -> list[str]:
    """The names of all message types of the ROS 2 that is sourced; empty without one."""
    try:
        from ament_index_python import get_resource, get_resources
    except ImportError:
        return []
    found = []
    for package in get_resources(_INTERFACES):
        files = get_resource(_INTERFACES, package)[0].split()
        found += [f"{package}/{file.removesuffix('.msg')}" for file in files if file.endswith(".msg")]
    return sorted(found)


class MessageClasses:
    """The types of an installed ROS 2, by their Python classes."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}

    def fields(self, type_name: str) -> Mapping[str, str]:
        """See TypeDescription."""
        if type_name not in self._known:
            described = message_class(type_name).get_fields_and_field_types()
            self._known[type_name] = {name: field_type.from_rclpy(text) for name, text in described.items()}
        return self._known[type_name]


class TypestoreTypes:
    """The types of a rosbags typestore: those it was made with, and those registered from a recording."""

    def __init__(self, typestore: Any) -> None:
        self._typestore = typestore
        self._known: dict[str, dict[str, str]] = {}

    def fields(self, type_name: str) -> Mapping[str, str]:
        """See TypeDescription."""
        if type_name not in self._known:
            if type_name not in self._typestore.fielddefs:
                why = "cannot be found: the recording does not define it, nor is it known without it"
                raise UnknownTypeError(type_name, why, self._typestore.fielddefs)
            _, described = self._typestore.fielddefs[type_name]
            self._known[type_name] = {
                name: _from_rosbags(node) for name, node in described if name != "structure_needs_at_least_one_member"
            }
        return self._known[type_name]


def _from_rosbags(node: Any) -> str:
    kind, detail = node
    if kind.name == "BASE":
        return str(detail[0])
    if kind.name == "NAME":
        # rosbags takes `wstring` for a message of the package.
        return "wstring" if detail.endswith("/msg/wstring") else str(detail)
    element, size = detail
    if kind.name == "ARRAY":
        return f"{_from_rosbags(element)}[{size}]"
    return f"{_from_rosbags(element)}[{f'<={size}' if size else ''}]"
