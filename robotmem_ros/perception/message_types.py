"""Describe the fields of message types, from the classes of rclpy or the definitions in a recording.

ROS is imported only when one of its types is looked up.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from .errors import UnknownTypeError

_TEXT = re.compile(r"(?P<name>[\w/]+)(?:<=\d+)?(?P<array>\[(?:<=)?(?P<size>\d*)\])?")
_RCLPY_SEQUENCE = re.compile(r"sequence<(?P<name>[\w/]+)(?:<\d+>)?(?:, *(?P<bound>\d+))?>")
_RCLPY_PLAIN = re.compile(r"(?P<name>[\w/]+)(?:<\d+>)?(?P<array>\[\d+\])?")
_RCLPY_NAMES = {"boolean": "bool", "octet": "byte", "float": "float32", "double": "float64"}

BYTES = frozenset({"uint8", "int8", "byte", "char"})
INTEGERS = BYTES | {"int16", "uint16", "int32", "uint32", "int64", "uint64"}
FLOATS = frozenset({"float32", "float64", "float128"})
NUMBERS = INTEGERS | FLOATS
TEXTS = frozenset({"string", "wstring"})


class FieldType(NamedTuple):
    """One field: its base type, and whether it is an array."""

    name: str
    """Such as "float64", "string" or "std_msgs/msg/Header"."""
    is_array: bool = False
    length: int | None = None
    """Of an array of fixed length."""

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> FieldType:
        """From the notation of `.msg` files; bounds are left out.

        Raises:
            ValueError: it is no such notation.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no type of a message field")
        fixed = match["size"] if match["array"] and "<" not in match["array"] else ""
        return cls(match["name"], match["array"] is not None, int(fixed) if fixed else None)

    @property
    def is_message(self) -> bool:
        """Whether it is one message: neither an array nor a number nor text."""
        return "/" in self.name and not self.is_array

    @property
    def is_scalar(self) -> bool:
        """Whether it is one number, one truth value or one text."""
        return "/" not in self.name and not self.is_array

    @property
    def element(self) -> FieldType:
        """The type of one element of the array."""
        return FieldType(self.name)

    def __str__(self) -> str:
        if not self.is_array:
            return self.name
        return f"{self.name}[{'' if self.length is None else self.length}]"


def from_rclpy(text: str) -> str:
    """The `.msg` notation of what `get_fields_and_field_types()` says, such as "sequence<geometry_msgs/Pose, 1>".

    Raises:
        ValueError: it is no such notation.
    """
    if match := _RCLPY_SEQUENCE.fullmatch(text):
        return f"{_full_name(match['name'])}[{'<=' + match['bound'] if match['bound'] else ''}]"
    if match := _RCLPY_PLAIN.fullmatch(text):
        return _full_name(match["name"]) + (match["array"] or "")
    raise ValueError(f"{text!r} is no type of a message field")


def _full_name(name: str) -> str:
    if name.count("/") == 1:
        return name.replace("/", "/msg/")
    return _RCLPY_NAMES.get(name, name)


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
            self._known[type_name] = {name: from_rclpy(text) for name, text in described.items()}
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
