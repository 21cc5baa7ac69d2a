"""Write messages as an MCAP file, https://mcap.dev/spec: records one after the other, without chunks and summary."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .message_types import TypeDescription

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, DATA_END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x0F
RECORD_HEAD = struct.Struct("<BQ")
"""Opcode and length of a record."""
MESSAGE_HEAD = struct.Struct("<HIQQ")
"""Channel, number in it, and the times when it was received and published."""
_LENGTH = struct.Struct("<I")
_RULE = "=" * 80


class WrittenChannel(NamedTuple):
    """A topic of a file."""

    topic: str
    type_name: str
    definition: str
    """What defines the type, as `definition_text` gives it."""

    @property
    def size(self) -> int:
        """Bytes that it takes in a file."""
        return len(_channel_records(1, self))


class WrittenMessage(NamedTuple):
    """A serialised message (CDR)."""

    channel: WrittenChannel
    received_at: int
    """Nanoseconds since the epoch."""
    raw: bytes

    @property
    def size(self) -> int:
        """Bytes that it takes in a file."""
        return RECORD_HEAD.size + MESSAGE_HEAD.size + len(self.raw)


def write_mcap(messages: Sequence[WrittenMessage]) -> bytes:
    """Return a file of messages, which are in the order of their times."""
    numbers = {channel: number for number, channel in enumerate(dict.fromkeys(m.channel for m in messages), 1)}
    records = [_START, *(_channel_records(number, channel) for channel, number in numbers.items())]
    for position, message in enumerate(messages):
        head = MESSAGE_HEAD.pack(numbers[message.channel], position, message.received_at, message.received_at)
        records.append(_record(MESSAGE, head, message.raw))
    return b"".join([*records, _END])


def definition_text(types: TypeDescription, type_name: str) -> str:
    """Return the definition of a type and of those in its fields, as a recorder writes it, but without constants.

    Raises:
        UnknownTypeError: it, or one of those in its fields, is not known.
    """
    sections = dict[str, str]()
    waiting = [type_name]
    while waiting:
        if (name := waiting.pop(0)) not in sections:
            fields = types.fields(name)
            sections[name] = "".join(f"{_short(str(field))} {key}\n" for key, field in fields.items())
            waiting += [field.name for field in fields.values() if "/" in field.name]
    first, *others = sections.items()
    return "".join([first[1], *(f"{_RULE}\nMSG: {_short(name)}\n{text}" for name, text in others)])


def _short(type_name: str) -> str:
    return type_name.replace("/msg/", "/")


def _channel_records(number: int, channel: WrittenChannel) -> bytes:
    key, none = number.to_bytes(2, "little"), _text("")
    schema = _record(SCHEMA, key, _text(channel.type_name), _text("ros2msg"), _text(channel.definition))
    return schema + _record(CHANNEL, key, key, _text(channel.topic), _text("cdr"), none)


def _record(opcode: int, *parts: bytes) -> bytes:
    return b"".join([RECORD_HEAD.pack(opcode, sum(map(len, parts))), *parts])


def _text(text: str) -> bytes:
    data = text.encode()
    return _LENGTH.pack(len(data)) + data


_START = MAGIC + _record(HEADER, _text("ros2"), _text("robotmem_ros"))
_END = _record(DATA_END, bytes(4)) + _record(FOOTER, bytes(20)) + MAGIC
ENVELOPE_SIZE = len(_START) + len(_END)
"""Bytes of a file without channels."""
