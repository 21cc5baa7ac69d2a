"""Blocks of a table as they are kept in the file, so that a start need not read and cut all texts.

A block has the columns and the words of some rows, but no vectors. Bytes that were damaged, and those that another
program or version cut, are no block.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..models import Kind
from ..text import statement, tokens
from .column import Array, Coded
from .words import Segment

Ids = npt.NDArray[np.int64]

_FORMAT = 4
"""To be raised if what a column says of the same row becomes another."""
_PLAIN = ("ids", "word_keys", "lengths", "subjects", "claims")
"""Fields of a block that are arrays."""
_OF_SEGMENT = ("rows", "codes", "starts", "places")
_CHECKSUM = 4
_ALIGNED = 8
_READERS: Mapping[str, Callable[[Any], Any]] = {"kind": Kind, "space": tuple, "tags": tuple, "decay": tuple}
"""How to read the values of a column that JSON has no type for."""


@dataclass(frozen=True)
class Block:
    """Some rows of a table."""

    ids: Ids
    numbers: Mapping[str, Array]
    names: Mapping[str, Coded]
    word_keys: Array
    lengths: Array
    segment: Segment
    """Of the rows by their positions in the block."""
    terms: Segment
    """Of facts by their positions in the block, as are the next two."""
    subjects: Array
    claims: Array


def pack(block: Block, epoch: str) -> bytes:
    """Return a block as bytes, with the epoch of its revision."""
    arrays = _arrays(block)
    header = {
        "scheme": _scheme(),
        "epoch": epoch,
        "arrays": {name: (array.dtype.str, len(array)) for name, array in arrays.items()},
        "values": {name: values for name, (values, _) in block.names.items()},
    }
    parts = [_aligned(json.dumps(header, separators=(",", ":")).encode()), *map(_bytes_of, arrays.values())]
    data = b"".join((len(parts[0]).to_bytes(_ALIGNED, "little"), *parts))
    return data + zlib.crc32(data).to_bytes(_CHECKSUM, "little")


def unpack(data: bytes, epoch: str) -> Block | None:
    """Return the block that was packed; None if the bytes are no block of an epoch that this program can use."""
    body = memoryview(data)[:-_CHECKSUM]
    if len(body) < _ALIGNED or zlib.crc32(body).to_bytes(_CHECKSUM, "little") != data[-_CHECKSUM:]:
        return None
    at = _ALIGNED + int.from_bytes(body[:_ALIGNED], "little")
    header = json.loads(bytes(body[_ALIGNED:at]))
    if (header["scheme"], header["epoch"]) != (_scheme(), epoch):
        return None
    arrays = {}
    for name, (dtype, size) in header["arrays"].items():
        # Copies, since those of the words stay: they would hold all bytes.
        arrays[name] = np.frombuffer(body, dtype, size, at).copy()
        at += -(-arrays[name].nbytes // _ALIGNED) * _ALIGNED
    return _block(arrays, header["values"])


def _arrays(block: Block) -> dict[str, Array]:
    return {
        **{f"number {name}": array for name, array in block.numbers.items()},
        **{f"code {name}": codes for name, (_, codes) in block.names.items()},
        **{name: getattr(block, name) for name in _PLAIN},
        **_of_segment(block.segment, ""),
        **_of_segment(block.terms, "terms "),
    }


def _of_segment(segment: Segment, prefix: str) -> dict[str, Array]:
    arrays: Sequence[Array] = segment.rows.astype("<u4"), segment.codes, segment.starts, segment.places
    return {f"{prefix}{name}": array for name, array in zip(_OF_SEGMENT, arrays, strict=True)}


def _block(arrays: Mapping[str, Array], values: Mapping[str, Sequence[Any]]) -> Block:
    return Block(
        numbers={name.removeprefix("number "): array for name, array in arrays.items() if name.startswith("number ")},
        names={
            name: ([*map(_READERS.get(name, _same), some)], arrays[f"code {name}"]) for name, some in values.items()
        },
        segment=_segment(arrays, ""),
        terms=_segment(arrays, "terms "),
        **{name: arrays[name] for name in _PLAIN},
    )


def _segment(arrays: Mapping[str, Array], prefix: str) -> Segment:
    rows, *others = (arrays[f"{prefix}{name}"] for name in _OF_SEGMENT)
    return Segment(rows.astype(np.intp), *others)


def _scheme() -> str:
    return f"{_FORMAT}; {tokens.scheme()}; {statement.scheme()}"


def _same(value: Any) -> Any:
    return value


def _bytes_of(array: Array) -> bytes:
    return _aligned(np.ascontiguousarray(array).tobytes())


def _aligned(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // _ALIGNED) * _ALIGNED, b" ")
