"""Describe the fields of message types, from the classes of rclpy or the definitions in a recording.

ROS is imported only when one of its types is looked up.
"""

from __future__ import annotations

import importlib
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..memory.errors import RobotMemoryError, did_you_mean, shown

_ALIKE = 0.75
"""Smallest similarity of two names: many types share half of their letters."""
_INTERFACES = "rosidl_interfaces"
_TYPE_NAME = re.compile(r"([a-z]\w*)/msg/([A-Z]\w*)", re.ASCII)
_OTHER_NAME = re.compile(r"([a-zA-Z]\w*)/([A-Z]\w*)|([a-zA-Z]\w*)::msg::dds_::([A-Z]\w*)_", re.ASCII)
_RCLPY = re.compile(
    r"(?P<sequence>sequence<)?(?P<name>[\w/]+)(?:<\d+>)?(?(sequence)(?:, *\d+)?>|(?:\[(?P<size>\d+)\])?)"
)
_EMPTY = "structure_needs_at_least_one_member"
"""Field of a message without fields."""
_RCLPY_NAMES = {"boolean": "bool", "octet": "byte", "float": "float32", "double": "float64"}
_TIME = "builtin_interfaces/msg/Time"
_PREFIX = 4
"""Bytes of the encapsulation header of CDR; the second gives the byte order."""
_BIG, _LITTLE = struct.Struct(">iI"), struct.Struct("<iI")
_BYTE_ORDERS = {b"\x00\x00": _BIG, b"\x00\x01": _LITTLE, b"\x00\x06": _BIG, b"\x00\x07": _LITTLE}
_NS = 1_000_000_000

BYTES = frozenset({"uint8", "int8", "byte", "char"})
INTEGERS = BYTES | {"int16", "uint16", "int32", "uint32", "int64", "uint64"}
FLOATS = frozenset({"float32", "float64", "float128"})
NUMBERS = INTEGERS | FLOATS
TEXTS = frozenset({"string", "wstring"})


class UnknownTypeError(RobotMemoryError):
    """A message type cannot be imported, or the recording does not define it."""

    def __init__(self, type_name: str, problem: str, type_names: Iterable[str] = ()) -> None:
        """Name the nearest of the types that exist."""
        self.type_name = type_name
        self.problem = f"{problem}{did_you_mean(type_name, type_names, cutoff=_ALIKE)}"
        super().__init__(f"message type {shown(type_name)} {self.problem}")


class FieldType(NamedTuple):
    """The type of a field, without the bounds of its arrays and texts."""

    name: str
    """Name such as "float64", "string" or "std_msgs/msg/Header"."""
    is_array: bool = False
    length: int | None = None
    """Length of an array of fixed length; else None."""

    @property
    def is_message(self) -> bool:
        """Tell whether it is one message: neither an array nor a number nor text."""
        return "/" in self.name and not self.is_array

    @property
    def is_scalar(self) -> bool:
        """Tell whether it is one number, one truth value or one text."""
        return "/" not in self.name and not self.is_array

    @property
    def element(self) -> FieldType:
        """Type of one element of the array."""
        return FieldType(self.name)

    def __str__(self) -> str:
        if not self.is_array:
            return self.name
        return f"{self.name}[{'' if self.length is None else self.length}]"


class TypeDescription(ABC):
    """The fields of message types by name."""

    def __init__(self) -> None:
        self._fields_by_type: dict[str, Mapping[str, FieldType]] = {}

    def fields(self, type_name: str) -> Mapping[str, FieldType]:
        """Return the types of the fields by name, in the order of definition.

        Raises:
            UnknownTypeError: there is no such type here.
        """
        if type_name not in self._fields_by_type:
            self._fields_by_type[type_name] = self._fields(type_name)
        return self._fields_by_type[type_name]

    @abstractmethod
    def _fields(self, type_name: str) -> Mapping[str, FieldType]: ...


class MessageClasses(TypeDescription):
    """The types of an installed ROS 2, by their Python classes."""

    def _fields(self, type_name: str) -> Mapping[str, FieldType]:
        field_types = message_class(type_name).get_fields_and_field_types()
        return {name: from_rclpy(text) for name, text in field_types.items()}


class TypestoreTypes(TypeDescription):
    """The types of a rosbags typestore: those it was made with, and those registered from a recording."""

    def __init__(self, typestore: Any) -> None:
        super().__init__()
        self._typestore = typestore

    def _fields(self, type_name: str) -> Mapping[str, FieldType]:
        if type_name not in self._typestore.fielddefs:
            problem = "cannot be found: the recording does not define it, nor is it known without it"
            raise UnknownTypeError(type_name, problem, self._typestore.fielddefs)
        _, definitions = self._typestore.fielddefs[type_name]
        return {name: _from_rosbags(node) for name, node in definitions if name != _EMPTY}


def full_name(text: str) -> str:
    """Return the name of a message type with its middle part, as ROS 2 writes it; another text as it is.

    Recorders also write "std_msgs/String", as ROS 1 does, and "std_msgs::msg::dds_::String_", as DDS does.
    """
    match = _OTHER_NAME.fullmatch(text)
    return f"{match[1] or match[3]}/msg/{match[2] or match[4]}" if match else text


def message_class(type_name: str) -> Any:
    """Return the class that rclpy uses for a type such as "std_msgs/msg/String".

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
        problem = f"cannot be found: {cause}; {package} is not installed or not sourced"
        raise UnknownTypeError(type_name, problem, _installed_types()) from None
    message_type = getattr(module, name, None)
    if not hasattr(message_type, "get_fields_and_field_types"):
        raise UnknownTypeError(type_name, f"cannot be found: {package} has no such message", _installed_types())
    return message_type


def from_rclpy(text: str) -> FieldType:
    """Read what `get_fields_and_field_types()` says of a field, such as "sequence<geometry_msgs/Pose, 1>".

    Raises:
        ValueError: it is no such text.
    """
    match = _RCLPY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no type of a message field")
    name = match["name"]
    name = name.replace("/", "/msg/") if name.count("/") == 1 else _RCLPY_NAMES.get(name, name)
    length = int(match["size"]) if match["size"] else None
    return FieldType(name, match["sequence"] is not None or length is not None, length)


def _from_rosbags(node: Any) -> FieldType:
    kind, detail = node
    if kind.name == "BASE":
        return FieldType(str(detail[0]))
    if kind.name == "NAME":
        # rosbags takes `wstring` for a message of the package.
        return FieldType("wstring" if detail.endswith("/msg/wstring") else str(detail))
    element, size = detail
    return FieldType(_from_rosbags(element).name, is_array=True, length=size if kind.name == "ARRAY" else None)


def _installed_types() -> list[str]:
    """Return the names of all message types of the ROS 2 that is sourced; empty without one."""
    try:
        from ament_index_python import get_resource, get_resources
    except ImportError:
        return []
    names = []
    for package in get_resources(_INTERFACES):
        files = get_resource(_INTERFACES, package)[0].split()
        names += [f"{package}/{file.removesuffix('.msg')}" for file in files if file.endswith(".msg")]
    return sorted(names)


def raw_stamp_reader(types: TypeDescription, type_name: str) -> Callable[[bytes], int | None] | None:
    """Return a function that reads the stamp of serialised messages (CDR), so that sampling need not deserialise them.

    It returns nanoseconds since the epoch; None for a zero or malformed stamp, or bytes that are no CDR. There is no
    such function (None) if messages of the type do not begin with a header.

    Raises:
        UnknownTypeError: the type is not known.
    """
    fields = types.fields(type_name)
    if next(iter(fields), None) != "header" or next(iter(types.fields(fields["header"].name)), None) != "stamp":
        return None
    return _raw_stamp if types.fields(fields["header"].name)["stamp"].name == _TIME else None


def _raw_stamp(raw: bytes) -> int | None:
    numbers = _BYTE_ORDERS.get(bytes(raw[:2]))
    if numbers is None or len(raw) < _PREFIX + numbers.size:
        return None
    sec, nanosec = numbers.unpack_from(raw, _PREFIX)
    if sec < 0 or nanosec >= _NS:
        return None
    return int(sec * _NS + nanosec) or None
