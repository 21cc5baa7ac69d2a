"""Write grey PNG images with what Python brings along."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY_8_BITS = bytes((8, 0, 0, 0, 0))
"""Bit depth, colour type, and the only methods of compression, filter and interlacing that are needed."""
_LEVEL = 3
"""Of compression: maps are large and plain, and higher levels gain little."""


def grey_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return a PNG of (height, width) pixels, the top row first; 0 is black, 255 white."""
    height, width = pixels.shape
    # Each row begins with its filter, which is none.
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = pixels
    head = struct.pack(">II", width, height) + _GREY_8_BITS
    data = zlib.compress(rows.tobytes(), _LEVEL)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
