"""Shrink images to thumbnails, as JPEG if Pillow is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .counters import DropError, DropReason

Pixels = npt.NDArray[Any]

MAX_PIXELS = 50_000_000
_OVERSAMPLED = 4
_JPEG_QUALITY = 80


class Layout(NamedTuple):
    """Layout of one pixel in an encoding."""

    dtype: str
    channels: int
    channel_order: tuple[int, ...]
    """Channels of the result, in its order."""
    result: str


_GREY = Layout("u1", 1, (0,), "mono8")
_DEPTH = Layout("u2", 1, (0,), "16UC1")
_LAYOUTS = {
    "rgb8": Layout("u1", 3, (0, 1, 2), "rgb8"),
    "bgr8": Layout("u1", 3, (2, 1, 0), "rgb8"),
    "8UC3": Layout("u1", 3, (2, 1, 0), "rgb8"),
    "rgba8": Layout("u1", 4, (0, 1, 2), "rgb8"),
    "bgra8": Layout("u1", 4, (2, 1, 0), "rgb8"),
    "mono8": _GREY,
    "8UC1": _GREY,
    "16UC1": _DEPTH,
    "mono16": _DEPTH,
    "32FC1": Layout("f4", 1, (0,), "32FC1"),
}


class Thumbnail(NamedTuple):
    """A reduced image."""

    data: bytes
    format: str
    """ "jpeg"; else "<encoding>/<width>x<height>": rgb8, mono8, 16UC1 or 32FC1, row by row, little-endian."""


def thumbnail(message: Any, *, width: int, height: int) -> Thumbnail:
    """Return a thumbnail of at most `width` by `height` pixels, with the proportions of the image and never larger.

    Colours are averaged; depths (16UC1, 32FC1) are picked, as the mean of two surfaces is none. A width or height of 0
    keeps the size; a compressed image then stays as it is.

    Raises:
        DropError: the image is empty, shorter than it says, damaged, or in an encoding that is not known.
    """
    if hasattr(message, "encoding"):
        pixels, result = pixels_of(message)
    elif not width or not height:
        data = bytes(message.data)
        if not data:
            raise DropError(DropReason.BAD_IMAGE, "the image is empty")
        return Thumbnail(data, str(message.format))
    else:
        pixels, result = _decompress(message, width, height)
    if width and height:
        pixels = shrink(pixels, width, height, averaged=pixels.dtype == np.uint8)
    return _pack(pixels, result)


def shrink(pixels: Pixels, width: int, height: int, *, averaged: bool) -> Pixels:
    """Shrink pixels (rows, columns, channels) to fit; each is a mean, or the one in the middle."""
    rows, columns = pixels.shape[:2]
    scale = min(width / columns, height / rows, 1.0)
    if scale == 1.0:
        return pixels
    new_rows, new_columns = max(1, round(rows * scale)), max(1, round(columns * scale))
    if not averaged:
        samples: Pixels = pixels[_middles(rows, new_rows)][:, _middles(columns, new_columns)]
        return samples
    # Of a large image a part of the pixels is enough for a mean.
    pixels = pixels[:: max(1, rows // (_OVERSAMPLED * new_rows)), :: max(1, columns // (_OVERSAMPLED * new_columns))]
    tops, row_counts = _bands(pixels.shape[0], new_rows)
    lefts, column_counts = _bands(pixels.shape[1], new_columns)
    sums = np.add.reduceat(np.add.reduceat(pixels, tops, axis=0, dtype=np.uint32), lefts, axis=1)
    areas = (row_counts[:, None] * column_counts[None, :])[:, :, None]
    means: Pixels = ((sums + areas // 2) // areas).astype(np.uint8)
    return means


def _bands(size: int, parts: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    edges = np.arange(parts + 1) * size // parts
    return edges[:-1], np.diff(edges)


def _middles(size: int, parts: int) -> npt.NDArray[np.int64]:
    return (2 * np.arange(parts) + 1) * size // (2 * parts)


def pixels_of(message: Any) -> tuple[Pixels, str]:
    """Return the pixels of a raw image, rows by columns by channels, and the encoding of the result.

    Raises:
        DropError: the image is empty, shorter than it says, or in an encoding that is not known.
    """
    layout = _LAYOUTS.get(message.encoding)
    if layout is None:
        raise DropError(DropReason.UNKNOWN_ENCODING, f"encoding {str(message.encoding)[:40]!r} is not known")
    rows, columns, step = int(message.height), int(message.width), int(message.step)
    dtype = np.dtype(layout.dtype).newbyteorder(">" if message.is_bigendian else "<")
    row_bytes = columns * layout.channels * dtype.itemsize
    if not 0 < rows * columns <= MAX_PIXELS or step < row_bytes or len(message.data) < rows * step:
        size = f"{columns}x{rows} pixels of {message.encoding}, step {step}"
        raise DropError(DropReason.BAD_IMAGE, f"an image of {size} has {len(message.data)} bytes")
    lines = np.frombuffer(message.data, np.uint8, count=rows * step).reshape(rows, step)[:, :row_bytes]
    pixels = np.ascontiguousarray(lines).view(dtype).reshape(rows, columns, layout.channels)
    return pixels[:, :, list(layout.channel_order)] if layout.channels > 1 else pixels, layout.result


def _decompress(message: Any, width: int, height: int) -> tuple[Pixels, str]:
    if "compressedDepth" in message.format:
        raise DropError(DropReason.UNKNOWN_ENCODING, "compressedDepth cannot be read")
    with compressed_image(bytes(message.data)) as image:
        image.draft("RGB", (2 * width, 2 * height))
        return np.asarray(image.convert("RGB")), "rgb8"


@contextmanager
def compressed_image(data: bytes, kind: str = "image") -> Iterator[Any]:
    """Open a compressed image of a kind with Pillow.

    Raises:
        DropError: Pillow is not installed, or the image is none, too large or damaged, as reading it may show.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise DropError(DropReason.NO_DECODER, f"a compressed {kind} needs Pillow: pip install pillow") from None
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise DropError(DropReason.BAD_IMAGE, f"{image.width}x{image.height} pixels are too many")
            yield image
    except UnidentifiedImageError:
        raise DropError(DropReason.BAD_IMAGE, f"{len(data)} bytes are no compressed {kind}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as cause:
        raise DropError(DropReason.BAD_IMAGE, f"cannot be decompressed: {cause}") from None


def _pack(pixels: Pixels, result: str) -> Thumbnail:
    rows, columns, channels = pixels.shape
    if pixels.dtype == np.uint8:
        try:
            from PIL import Image
        except ImportError:
            pass
        else:
            out = io.BytesIO()
            flat = np.ascontiguousarray(pixels if channels == 3 else pixels[:, :, 0])
            Image.fromarray(flat).save(out, "JPEG", quality=_JPEG_QUALITY)
            return Thumbnail(out.getvalue(), "jpeg")
    little = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder("<")))
    return Thumbnail(little.tobytes(), f"{result}/{columns}x{rows}")
