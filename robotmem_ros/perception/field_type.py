"""The type of a message field, in the notation of `.msg` files: "string[]", "geometry_msgs/msg/Pose[<=1]"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

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
