"""Small ONNX models, written field by field as the format's own description (onnx.proto) has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FLOAT, INT8 = 1, 3
_VARINT, _BYTES = 0, 2


def varint(number: int) -> bytes:
    """A whole number, seven bits to a byte, the least ones first."""
    low, rest = number % 128, number // 128
    return bytes([low + 128]) + varint(rest) if rest else bytes([low])


def number_field(number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return varint(number * 8 + _VARINT) + varint(value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """A field that holds a text or a message."""
    kept = content.encode() if isinstance(content, str) else content
    return varint(number * 8 + _BYTES) + varint(len(kept)) + kept


def node(operator: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    """A node of a graph, as a field of it."""
    names = b"".join(bytes_field(1, name) for name in inputs) + bytes_field(2, output)
    return bytes_field(1, names + bytes_field(4, operator) + attribute)


def cast(value: str, output: str) -> bytes:
    """A node that makes floats of what it gets."""
    to = bytes_field(1, "to") + number_field(3, FLOAT) + number_field(20, 2)
    return node("Cast", [value], output, bytes_field(5, to))


def tensor(name: str, values: npt.NDArray[np.float32] | npt.NDArray[np.int8]) -> bytes:
    """An initializer, as a field of a graph."""
    dims = b"".join(number_field(1, size) for size in values.shape)
    kind = INT8 if values.dtype == np.int8 else FLOAT
    content = dims + number_field(2, kind) + bytes_field(8, name) + bytes_field(9, values.tobytes())
    return bytes_field(5, content)


def value(field: int, name: str, shape: Sequence[int]) -> bytes:
    """An input (field 11) or an output (field 12) of a graph, of floats."""
    dims = b"".join(bytes_field(1, number_field(1, size)) for size in shape)
    kind = bytes_field(1, number_field(1, FLOAT) + bytes_field(2, dims))
    return bytes_field(field, bytes_field(1, name) + bytes_field(2, kind))


def model(parts: Sequence[bytes]) -> bytes:
    """A model whose graph has these fields."""
    graph = b"".join(parts) + bytes_field(2, "a graph")
    return number_field(1, 8) + bytes_field(7, graph) + bytes_field(8, bytes_field(1, "") + number_field(2, 13))
