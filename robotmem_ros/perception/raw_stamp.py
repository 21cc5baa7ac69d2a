"""The stamp of a message that is still serialised: a message that sampling leaves out is then never deserialised."""

from __future__ import annotations

import struct
from collections.abc import Callable

from .type_description import TypeDescription

_NS = 1_000_000_000
_TIME = "builtin_interfaces/msg/Time"
_PREFIX = 4
"""Bytes of the encapsulation header of CDR; the second says how the numbers are written."""
_BIG, _LITTLE = struct.Struct(">iI"), struct.Struct("<iI")
_WRITTEN = {b"\x00\x00": _BIG, b"\x00\x01": _LITTLE, b"\x00\x06": _BIG, b"\x00\x07": _LITTLE}


def raw_stamp_reader(types: TypeDescription, type_name: str) -> Callable[[bytes], int | None] | None:
    """What reads the stamp out of serialised messages (CDR) of a type; None if they do not begin with a header.

    The reader gives nanoseconds since the epoch; None for a zero or malformed stamp, or bytes that are no CDR.

    Raises:
        UnknownTypeError: the type is not known.
    """
    fields = types.fields(type_name)
    if next(iter(fields), None) != "header" or next(iter(types.fields(fields["header"])), None) != "stamp":
        return None
    return _read if types.fields(fields["header"])["stamp"] == _TIME else None


def _read(raw: bytes) -> int | None:
    numbers = _WRITTEN.get(bytes(raw[:2]))
    if numbers is None or len(raw) < _PREFIX + numbers.size:
        return None
    sec, nanosec = numbers.unpack_from(raw, _PREFIX)
    if sec < 0 or nanosec >= _NS:
        return None
    return int(sec * _NS + nanosec) or None
