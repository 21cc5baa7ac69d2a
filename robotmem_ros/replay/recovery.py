"""Read what is whole in a recording that was cut off."""

from __future__ import annotations

import io
import os
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

MCAP_MAGIC = b"\x89MCAP0\r\n"
_LENGTH = struct.Struct("<Q")
_RECORD_HEAD = 1 + _LENGTH.size
_CHUNK, _DATA_END = 0x06, 0x0F
_CHUNK_HEAD = struct.Struct("<BQQQQII")
"""Opcode and length, first and last time, size and checksum of the content, and the length of what follows: the name of
its compression."""
_NO_SUMMARY = b"\x02" + _LENGTH.pack(20) + bytes(20)
"""The footer of a file without a summary: the reader then scans the data."""


class CutMcap:
    """An MCAP file as if it had been closed after its last whole record; has what rosbags wants of a path.

    Of a chunk that was cut, the whole records are read as if they stood in no chunk.
    """

    suffix = ".mcap"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name
        with path.open("rb") as file:
            self._end = _end_of_whole_records(file, len(MCAP_MAGIC), path.stat().st_size)
            file.seek(self._end)
            self._rest = _records_of_chunk(file.read())

    def __str__(self) -> str:
        return str(self._path)

    def exists(self) -> bool:
        """Answer for a path that exists and is a file."""
        return True

    def is_dir(self) -> bool:
        """Answer for a path that exists and is a file."""
        return False

    def open(self, mode: str = "rb") -> io.BufferedReader:
        """Open the repaired content."""
        del mode
        data_end = bytes([_DATA_END]) + _LENGTH.pack(4) + bytes(4)
        tail = self._rest + data_end + _NO_SUMMARY + MCAP_MAGIC
        return io.BufferedReader(_Spliced(self._path, self._end, tail))


class _Spliced(io.RawIOBase):
    """The start of a file, and then other bytes."""

    def __init__(self, path: Path, end: int, tail: bytes) -> None:
        self._file = path.open("rb")
        self._end = end
        self._tail = tail
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end + len(self._tail)}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        if self._at < self._end:
            self._file.seek(self._at)
            part = self._file.read(min(size, self._end - self._at))
        else:
            start = self._at - self._end
            part = self._tail[start : start + size]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _end_of_whole_records(file: BinaryIO, start: int, size: int) -> int:
    """Find where the last whole record of the data ends, if the first one begins at `start`."""
    at = start
    file.seek(at)
    while head := file.read(_RECORD_HEAD):
        if len(head) < _RECORD_HEAD or head[0] in {0x00, 0x02, _DATA_END}:
            break
        end = at + _RECORD_HEAD + _LENGTH.unpack(head[1:])[0]
        if end > size:
            break
        at = end
        file.seek(at)
    return at


def _records_of_chunk(cut: bytes) -> bytes:
    """Give the whole records in the start of a chunk; empty if it is no chunk, or nothing of it can be read."""
    if len(cut) < _CHUNK_HEAD.size or cut[0] != _CHUNK:
        return b""
    name_end = _CHUNK_HEAD.size + _CHUNK_HEAD.unpack_from(cut)[-1]
    content = _decompress(cut[_CHUNK_HEAD.size : name_end], cut[name_end + _LENGTH.size :])
    return content[: _end_of_whole_records(io.BytesIO(content), 0, len(content))]


def _decompress(compression: bytes, start: bytes) -> bytes:
    """Decompress as much as can be of the start of something; rosbags brings what it takes."""
    if not compression:
        return start
    try:
        decompressor = _decompressor(compression)
        return bytes(decompressor.decompress(start)) if decompressor else b""
    except Exception:
        # Each library has its own errors for bytes that are none of its own.
        return b""


def _decompressor(compression: bytes) -> Any:
    if compression == b"lz4":
        return import_module("lz4.frame").LZ4FrameDecompressor()
    if compression == b"zstd":
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        return zstd.ZstdDecompressor()
    return None


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
    file.seek((number - 1) * size)
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
