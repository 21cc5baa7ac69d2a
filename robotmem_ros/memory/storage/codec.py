"""Encode vectors in 12 bits a component, the upper 8 of which are a vector of signed bytes by themselves.

A component is a whole number in -2032..2032, where 2032 stands for the greatest component of the vector: the length is
lost, and only the direction counts. First come the components in sixteenths, rounded, one signed byte each, from which
the index is made. Then come the remainders, -8..7, two in a byte. That is 576 bytes for 384 components instead of 1536
as float32 or 768 as float16. The bytes are also what sqlite-vec takes as vec_int8().

Measured with 200 queries among 200,000 synthetic vectors of 384 components in 5,000 clusters: of the ten nearest by
float32, 12 bits keep 99.9 %, as float16 does, and the signed bytes alone 98.9 %. A cosine distance is off by 2.3e-5
(root mean square; 1.5e-4 at most), of the signed bytes by 3.7e-4 (2.9e-3 at most).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..models import Vector, Vectors

Bytes = npt.NDArray[np.int8]
"""Vectors as signed bytes, shape (n, dim), each scaled by a factor of its own."""

_PEAK = 2032  # rounds to 127 sixteenths


def size(dim: int) -> int:
    """Return the number of bytes that encode a vector of `dim` components."""
    return dim + (dim + 1) // 2


def dimension(size: int) -> int:
    """Return the number of components of a vector that `size` bytes encode."""
    return 2 * size // 3


def encode(vectors: Vectors) -> list[bytes]:
    """Encode vectors."""
    whole = _scale(vectors, _PEAK).astype(np.int16)
    high = (whole + 8) >> 4
    low = (whole - (high << 4) + 8).astype(np.uint8)
    if low.shape[1] % 2:
        low = np.pad(low, ((0, 0), (0, 1)))
    rows = np.hstack([high.astype(np.int8).view(np.uint8), low[:, 0::2] | low[:, 1::2] << 4])
    return [row.tobytes() for row in rows]


def decode(codes: Sequence[bytes], dim: int) -> Vectors:
    """Decode the directions of encoded vectors: float32, shape (parts of codes, dim), rows of unit length."""
    rows = np.frombuffer(b"".join(codes), np.uint8).reshape(-1, size(dim))
    vectors = rows[:, :dim].view(np.int8).astype(np.float32)
    vectors *= 16
    low = rows[:, dim:]
    vectors[:, 0::2] += (low & 15).astype(np.float32) - 8
    vectors[:, 1::2] += ((low >> 4).astype(np.float32) - 8)[:, : dim // 2]
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


def nearest(codes: Sequence[bytes], query: Vector) -> tuple[Vectors, npt.NDArray[np.float32]]:
    """Decode the part of each text that is nearest to a query, as `decode` does; with its cosine distance (0 to 2).

    A code has the parts of a text, one at least, of the length of the query.
    """
    return nearest_of(decode(codes, len(query)), codes, query)


def nearest_of(vectors: Vectors, codes: Sequence[bytes], query: Vector) -> tuple[Vectors, npt.NDArray[np.float32]]:
    """Return the same of codes that are decoded already."""
    # Not `@`: BLAS would use all cores, and its threads stand in the way of the model's. This is as fast on one.
    far = 1.0 - np.einsum("ij,j->i", vectors, query)
    if len(vectors) > len(codes):
        counts = np.array([len(code) // size(len(query)) for code in codes])
        texts = np.repeat(np.arange(len(codes)), counts)
        at = np.lexsort((far, texts))[np.cumsum(counts) - counts]
        vectors, far = vectors[at], far[at]
    return vectors, far


def upper_bytes(codes: Sequence[bytes], dim: int) -> Bytes:
    """Extract the signed bytes of encoded vectors, those of each part of a code in a row."""
    return np.frombuffer(b"".join(codes), np.int8).reshape(-1, size(dim))[:, :dim]


def as_bytes(vectors: Vectors) -> Bytes:
    """Convert float32 vectors to signed bytes."""
    return _scale(vectors, 127).astype(np.int8)


def scales(rows: Bytes) -> npt.NDArray[np.float32]:
    """Compute 1 / length of vectors of signed bytes; 0 for one of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.int32)).astype(np.float32)
    inverse: npt.NDArray[np.float32] = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return inverse


def _scale(vectors: Vectors, peak: int) -> Vectors:
    greatest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.rint(vectors * (peak / np.where(greatest > 0, greatest, 1)))
