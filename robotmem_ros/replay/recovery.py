"""Read what is whole in an sqlite3 recording that was cut off."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, NamedTuple


def copy_readable(damaged: Path, target: Path) -> None:
    """Copy what can be read of a damaged sqlite3 recording into a new one.

    Raises:
        sqlite3.Error: not even its list of topics can be read.
    """
    with closing(sqlite3.connect(f"file:{damaged}?immutable=1", uri=True)) as source:
        # Lets SQLite read a file that is shorter than its header says.
        source.execute("PRAGMA writable_schema = ON")
        tables = source.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
            "ORDER BY name = 'messages'"
        ).fetchall()
        with closing(sqlite3.connect(target)) as copy, copy:
            for name, sql in tables:
                copy.execute(sql)
                # Without its last pages, the tree of a large table leads nowhere.
                is_large = name == "messages"
                for row in message_rows(damaged) if is_large else source.execute(f'SELECT * FROM "{name}"'):
                    copy.execute(f'INSERT OR IGNORE INTO "{name}" VALUES ({", ".join("?" * len(row))})', row)


_LEAF = 0x0D
"""A page with rows of a table."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_SHORT = struct.Struct(">H")
_LONG = struct.Struct(">I")


class MessageRow(NamedTuple):
    """A row of the table `messages` of a rosbag2 recording."""

    id: int
    topic_id: int
    timestamp: int
    data: bytes


def message_rows(path: Path) -> Iterator[MessageRow]:
    """Yield the rows of `messages` in all whole pages, in the order of the pages; rows that are cut are skipped.

    https://www.sqlite.org/fileformat2.html, sections 1.5, 1.6 and 2.1.
    """
    with path.open("rb") as file:
        head = file.read(100)
        size = _SHORT.unpack_from(head, 16)[0]
        size = 65_536 if size == 1 else size
        usable = size - head[20]
        for number in range(2, path.stat().st_size // size + 1):
            page = _page(file, number, size)
            if page[0] != _LEAF:
                continue
            for index in range(_SHORT.unpack_from(page, 3)[0]):
                try:
                    row = _row(file, page, _SHORT.unpack_from(page, 8 + 2 * index)[0], size, usable)
                except (IndexError, struct.error, ValueError):
                    continue
                if row is not None:
                    yield row


def _row(file: BinaryIO, page: bytes, at: int, size: int, usable: int) -> MessageRow | None:
    length, at = _varint(page, at)
    row_id, at = _varint(page, at)
    payload = _payload(file, page[at:], length, size, usable)
    head_end, at = _varint(payload, 0)
    kinds = []
    while at < head_end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    # The id is the number of the row and stands as NULL; then two whole numbers, and bytes.
    if len(kinds) != len(MessageRow._fields) or kinds[0] != 0 or kinds[3] < 12 or kinds[3] % 2:
        return None
    topic_id, at = _integer(payload, head_end, kinds[1])
    timestamp, at = _integer(payload, at, kinds[2])
    data = payload[at : at + (kinds[3] - 12) // 2]
    return MessageRow(row_id, topic_id, timestamp, data)


def _payload(file: BinaryIO, local: bytes, length: int, size: int, usable: int) -> bytes:
    """Return the content of a cell, with its overflow pages."""
    if length <= usable - 35:
        return local[:length]
    min_local = (usable - 12) * 32 // 255 - 23
    local_size = min_local + (length - min_local) % (usable - 4)
    local_size = local_size if local_size <= usable - 35 else min_local
    payload, next_page = bytearray(local[:local_size]), _LONG.unpack_from(local, local_size)[0]
    while len(payload) < length:
        page = _page(file, next_page, size)
        payload += page[4 : min(usable, 4 + length - len(payload))]
        next_page = _LONG.unpack_from(page, 0)[0]
    return bytes(payload)


def _page(file: BinaryIO, number: int, size: int) -> bytes:
    file.seek(max(0, number - 1) * size)  # where zeros are, a page follows that has the number 0
    page = file.read(size)
    if number < 1 or len(page) < size:
        raise ValueError(f"page {number} is not there")
    return page


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(at, at + 8):
        value = value << 7 | data[index] & 0x7F
        if data[index] < 0x80:
            return value, index + 1
    return value << 8 | data[at + 8], at + 9


def _integer(payload: bytes, at: int, kind: int) -> tuple[int, int]:
    if kind in {8, 9}:
        return kind - 8, at
    end = at + _INTEGERS.get(kind, 0)
    if end == at or end > len(payload):
        raise ValueError("no whole number")
    return int.from_bytes(payload[at:end], "big", signed=True), end
