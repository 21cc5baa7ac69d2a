"""Read an MCAP file, whoever wrote it: https://mcap.dev/spec.

Definitions, encodings and qualities of service are not looked into: what cannot be read of one channel keeps no other
from being read. A file without a whole summary is scanned.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ..perception.mcap import CHANNEL, DATA_END, FOOTER, MAGIC, MESSAGE, MESSAGE_HEAD, RECORD_HEAD, SCHEMA
from ..perception.message_types import full_name
from .recorded_file import END_OF_TIME, Channel, DefinitionText, Received, distro_in, merged

_CHUNK, _CHUNK_INDEX, _STATISTICS, _METADATA, _METADATA_INDEX = 0x06, 0x08, 0x0B, 0x0C, 0x0D
_FOOTER_SIZE = RECORD_HEAD.size + 20
_LENGTH = struct.Struct("<I")
_LONG = struct.Struct("<Q")
_CHUNK_HEAD = struct.Struct("<QQQII")
"""First and last time, size and checksum of the content, length of the name of the compression."""
_STATISTICS_HEAD = struct.Struct("<QHIIIIQQ")
_RUN = 1 << 20
"""Bytes of messages outside of chunks that are read at once."""


class _Part(NamedTuple):
    """A chunk, or records that stand in no chunk."""

    offset: int
    size: int
    start_ns: int = 0
    end_ns: int = END_OF_TIME
    """Time of the last message."""
    channel_ids: frozenset[int] | None = None
    """Channels that have messages in it; None if that is not known."""


class _Schema(NamedTuple):
    name: str
    definition: DefinitionText | None


@dataclass
class _Index:
    """What a file says about its content."""

    parts: list[_Part]
    schemas: dict[int, _Schema]
    channels: dict[int, tuple[int, str, str, dict[str, str]]]
    """Id of the schema, topic, encoding and metadata by id."""
    counts: Counter[int]
    start_ns: int = END_OF_TIME
    end_ns: int = 0
    distro: str = ""

    def count(self, channel_id: int, receipt_ns: int) -> None:
        self.counts[channel_id] += 1
        self.start_ns, self.end_ns = min(self.start_ns, receipt_ns), max(self.end_ns, receipt_ns + 1)


class McapFile:
    """An open MCAP file; see RecordedFile.

    Raises:
        ValueError: it is no MCAP file.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self.damage = ""
        try:
            self._check_start()
            index = self._summary() or self._scan()
        except BaseException:
            self.close()
            raise
        self._parts = index.parts
        self.channels = tuple(_channel(number, index) for number in sorted(index.channels))
        self.start_ns = index.start_ns if index.counts.total() else 0
        self.end_ns = index.end_ns
        self.distro = index.distro

    def messages(self, channels: Collection[Channel], start_ns: int, stop_ns: int) -> Iterator[Received]:
        """Yield messages; a chunk that is damaged is skipped."""
        by_id = {channel.id: channel for channel in channels}
        parts = [
            part
            for part in self._parts
            if part.start_ns < stop_ns
            and part.end_ns >= start_ns
            and (part.channel_ids is None or not part.channel_ids.isdisjoint(by_id))
        ]
        read = partial(self._messages_of, by_id, start_ns, stop_ns)
        return merged((part.start_ns, partial(read, part)) for part in parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check_start(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not start as an MCAP file")

    def _messages_of(self, by_id: dict[int, Channel], start_ns: int, stop_ns: int, part: _Part) -> list[Received]:
        content = self._content(part)
        found = []
        for opcode, at, end in _records(content):
            if opcode != MESSAGE or end - at < MESSAGE_HEAD.size:
                continue
            channel_id, _, receipt_ns, _ = MESSAGE_HEAD.unpack_from(content, at)
            channel = by_id.get(channel_id)
            if channel is not None and start_ns <= receipt_ns < stop_ns:
                found.append(Received(receipt_ns, channel, content[at + MESSAGE_HEAD.size : end]))
        found.sort(key=attrgetter("receipt_ns"))
        return found

    def _content(self, part: _Part) -> bytes:
        """Return the records of a part; those that are whole, of a chunk that was cut."""
        self._file.seek(part.offset)
        data = self._file.read(part.size)
        if data[:1] != bytes([_CHUNK]):
            return data
        try:
            return _chunk_content(data, is_cut=part.offset + part.size >= self._size)
        except Exception as cause:
            # Each library has its own errors for bytes that are none of its own.
            self._report(f"{cause} in the chunk at byte {part.offset:,}")
            return b""

    def _report(self, problem: str) -> None:
        self.damage = self.damage or f"is damaged: {problem}"

    def _summary(self) -> _Index | None:
        """Read the summary; return None if there is none that can be used."""
        footer_at = self._size - len(MAGIC) - _FOOTER_SIZE
        self._file.seek(max(0, footer_at))
        footer = self._file.read()
        is_whole = footer_at >= len(MAGIC) and footer[-len(MAGIC) :] == MAGIC
        if not is_whole or RECORD_HEAD.unpack_from(footer) != (FOOTER, 20):
            self._report("it has no end, so it was cut off or not closed")
            return None
        summary_at = _LONG.unpack_from(footer, RECORD_HEAD.size)[0]
        if not summary_at:
            return None
        self._file.seek(summary_at)
        index = _Index([], {}, {}, Counter())
        try:
            self._read_summary(self._file.read(max(0, footer_at - summary_at)), index)
        except (ValueError, struct.error) as cause:
            self._report(f"its summary cannot be read: {cause}")
            return None
        # Some writers leave out the index of chunks or the channels; what they wrote is scanned.
        return index if index.parts and index.counts and index.channels.keys() >= index.counts.keys() else None

    def _read_summary(self, data: bytes, index: _Index) -> None:
        for opcode, at, end in _records(data):
            if opcode == _CHUNK_INDEX:
                index.parts.append(_indexed_part(data[at:end]))
            elif opcode == _STATISTICS:
                statistics = _STATISTICS_HEAD.unpack_from(data, at)
                index.start_ns, index.end_ns = statistics[6], statistics[7] + 1
                pairs, _ = _sized(data, at + _STATISTICS_HEAD.size)
                index.counts.update(dict(struct.iter_unpack("<HQ", pairs)))
            elif opcode == _METADATA_INDEX:
                offset, size = struct.unpack_from("<QQ", data, at)
                self._file.seek(offset + RECORD_HEAD.size)
                _note_metadata(self._file.read(size - RECORD_HEAD.size), index)
            else:
                _note(opcode, data[at:end], index)

    def _scan(self) -> _Index:
        """Read the whole file; what follows a record that is cut is lost."""
        index = _Index([], {}, {}, Counter())
        for part in self._scanned_parts(index):
            starts = _Index([], index.schemas, index.channels, Counter())
            content = self._content(part)
            for opcode, at, end in _records(content):
                if opcode == MESSAGE and end - at >= MESSAGE_HEAD.size:
                    channel_id, _, receipt_ns, _ = MESSAGE_HEAD.unpack_from(content, at)
                    starts.count(channel_id, receipt_ns)
                else:
                    _note(opcode, content[at:end], index)
            if starts.counts:
                ids = frozenset(starts.counts)
                index.parts.append(part._replace(start_ns=starts.start_ns, end_ns=starts.end_ns - 1, channel_ids=ids))
                index.counts.update(starts.counts)
                index.start_ns = min(index.start_ns, starts.start_ns)
                index.end_ns = max(index.end_ns, starts.end_ns)
        return index

    def _scanned_parts(self, index: _Index) -> Iterator[_Part]:
        """Yield the chunks, and what stands between them in pieces."""
        at = run_at = len(MAGIC)
        while True:
            self._file.seek(at)
            head = self._file.read(RECORD_HEAD.size)
            opcode, length = RECORD_HEAD.unpack(head) if len(head) == RECORD_HEAD.size else (DATA_END, 0)
            end = at + RECORD_HEAD.size + length
            if opcode in {0x00, FOOTER, DATA_END}:
                end = at
            is_last = end == at or end > self._size
            is_record = opcode in {SCHEMA, CHANNEL, MESSAGE} and not is_last
            if run_at < at and (not is_record or end - run_at > _RUN):
                yield _Part(run_at, at - run_at)
                run_at = at
            if opcode == _CHUNK and end > at:
                yield _Part(at, min(end, self._size) - at)
            elif opcode == _METADATA and not is_last:
                self._file.seek(at + RECORD_HEAD.size)
                _note_metadata(self._file.read(length), index)
            if is_last:
                return
            at = end
            run_at = run_at if is_record else at


def _records(data: bytes, at: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield the opcode of each whole record, and where its content begins and ends."""
    size = len(data)
    while at + RECORD_HEAD.size <= size:
        opcode, length = RECORD_HEAD.unpack_from(data, at)
        at += RECORD_HEAD.size
        if at + length > size:
            return
        yield opcode, at, at + length
        at += length


def _indexed_part(data: bytes) -> _Part:
    start_ns, end_ns, offset, size = struct.unpack_from("<QQQQ", data)
    indexes, _ = _sized(data, 32)
    ids = frozenset(channel_id for channel_id, _ in struct.iter_unpack("<HQ", indexes))
    return _Part(offset, size, start_ns, end_ns, ids or None)


def _note(opcode: int, data: bytes, index: _Index) -> None:
    """Note a schema or a channel."""
    if opcode not in {SCHEMA, CHANNEL}:
        return
    number = int.from_bytes(data[:2], "little")
    if opcode == SCHEMA:
        name, at = _text(data, 2)
        encoding, at = _text(data, at)
        text, _ = _text(data, at)
        index.schemas[number] = _Schema(name, DefinitionText(text, encoding) if encoding and text.strip() else None)
    else:
        topic, at = _text(data, 4)
        encoding, at = _text(data, at)
        pairs, _ = _sized(data, at)
        index.channels[number] = int.from_bytes(data[2:4], "little"), topic, encoding, _mapping(pairs)


def _note_metadata(data: bytes, index: _Index) -> None:
    """Note the distribution, which rosbag2 keeps in a record of metadata."""
    name, at = _text(data, 0)
    if name != "rosbag2":
        return
    values = _mapping(_sized(data, at)[0])
    index.distro = values.get("ROS_DISTRO") or distro_in(values.get("serialized_metadata", "")) or index.distro


def _channel(number: int, index: _Index) -> Channel:
    schema_id, topic, encoding, metadata = index.channels[number]
    schema = index.schemas.get(schema_id, _Schema("", None))
    return Channel(
        number,
        topic,
        full_name(schema.name),
        encoding,
        schema.definition,
        metadata.get("topic_type_hash", ""),
        index.counts[number],
    )


def _chunk_content(record: bytes, *, is_cut: bool) -> bytes:
    """Return the records of a chunk.

    Raises:
        Exception: they cannot be decompressed, or their checksum is another one.
    """
    _, _, size, checksum, name_size = _CHUNK_HEAD.unpack_from(record, RECORD_HEAD.size)
    at = RECORD_HEAD.size + _CHUNK_HEAD.size + name_size
    compression = record[at - name_size : at]
    content = _decompressed(compression, record[at + _LONG.size :])
    if is_cut:
        return content
    if len(content) != size:
        raise ValueError(f"{len(content):,} bytes, not {size:,}")
    if checksum and crc32(content) != checksum:
        raise ValueError("a wrong checksum")
    return content


def _decompressed(compression: bytes, start: bytes) -> bytes:
    """Decompress as much as can be of the start of something; rosbags brings what it takes."""
    if not compression:
        return start
    return bytes(_decompressor(compression).decompress(start))


def _decompressor(compression: bytes) -> Any:
    if compression == b"lz4":
        return import_module("lz4.frame").LZ4FrameDecompressor()
    if compression == b"zstd":
        return zstd().ZstdDecompressor()
    raise ValueError(f"compression {compression.decode(errors='replace')!r}, which is not read,")


def zstd() -> Any:
    """Return the module that decompresses zstd."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    """Return bytes that follow their length, and where they end."""
    end = at + _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
    if end > len(data):
        raise ValueError(f"{end - len(data):,} bytes are missing")
    return data[at + _LENGTH.size : end], end


def _text(data: bytes, at: int) -> tuple[str, int]:
    content, end = _sized(data, at)
    # A schema may be binary.
    return content.decode(errors="replace"), end


def _mapping(data: bytes) -> dict[str, str]:
    values, at = {}, 0
    while at < len(data):
        key, at = _text(data, at)
        values[key], at = _text(data, at)
    return values
