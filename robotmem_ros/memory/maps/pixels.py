"""Read images of maps, as brightness: PGM with what Python brings along, PNG and BMP with Pillow."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidFieldError
from .occupancy_grid import MAX_CELLS, check_size

FIELD = "image"
_HEAD = 1 << 16
_MOST_BYTES = 6 * MAX_CELLS
"""A pixel of a plain PGM takes at most 5 digits and a space."""
_PGM = re.compile(rb"(P[25])" + rb"(?:\s|#[^\n]*\n)+(\d+)" * 3 + rb"(?:\s|#[^\n]*\n)*?\s")
_COMMENT = re.compile(rb"#[^\n]*")
_WHITE_16 = 65_535
Levels = npt.NDArray[np.uint16]


class Pixels(NamedTuple):
    """An image, the top row first."""

    levels: Levels
    """(height, width): 0 is black."""
    white: int
    """The level of white."""
    transparent: npt.NDArray[np.bool_] | None = None
    """Which pixels are not opaque; None if all are."""


def read_pixels(file: Path, *, mixes_alpha: bool) -> Pixels:
    """Read an image. With `mixes_alpha` its opacity counts as a fourth colour, as map_server wants it.

    Raises:
        InvalidFieldError: it cannot be read, is no such image, or has too many pixels.
    """
    try:
        if not file.is_file():
            raise InvalidFieldError(FIELD, file, "is no file")
        size = file.stat().st_size
        with file.open("rb") as content:
            head = content.read(_HEAD)
        if size > _MOST_BYTES:
            raise InvalidFieldError(FIELD, file, f"has {size:,} bytes; at most {_MOST_BYTES:,} are read")
        return _pgm(file, head, size) if head[:2] in (b"P2", b"P5") else _decoded(file, mixes_alpha=mixes_alpha)
    except OSError as cause:
        raise InvalidFieldError(FIELD, file, f"cannot be read ({cause.strerror or cause})") from cause


def write_pgm(file: Path, levels: npt.NDArray[np.uint8]) -> None:
    """Write a new PGM of (height, width) levels, the top row first.

    Raises:
        OSError: it cannot be written, or exists.
    """
    height, width = levels.shape
    with file.open("xb") as content:
        content.write(b"P5\n%d %d\n255\n" % (width, height))
        content.write(levels.tobytes())


def _pgm(file: Path, head: bytes, size: int) -> Pixels:
    found = _PGM.match(head)
    if found is None:
        raise InvalidFieldError(FIELD, file, "is no PGM image: its head must name width, height and white")
    kind, (width, height, white) = found[1], (int(number) for number in found.groups()[1:])
    if not (width and height and 0 < white <= _WHITE_16):
        raise InvalidFieldError(FIELD, file, f"has a head that cannot be: {width} x {height}, white is {white}")
    check_size(width, height)
    wide = 1 + (white > 255)
    least = width * height * (wide if kind == b"P5" else 2) - (kind == b"P2")
    if size - found.end() < least:
        why = f"is cut: {width} x {height} pixels take {least:,} bytes, and there are {size - found.end():,}"
        raise InvalidFieldError(FIELD, file, why)
    with file.open("rb") as content:
        content.seek(found.end())
        values = _plain(file, content.read(), width * height) if kind == b"P2" else _raw(content.read(least), wide)
    if values.max() > white:
        raise InvalidFieldError(FIELD, file, f"has a pixel of {values.max()}, and white is {white}")
    return Pixels(values.reshape(height, width), white)


def _raw(data: bytes, wide: int) -> Levels:
    return np.frombuffer(data, ">u2" if wide == 2 else np.uint8).astype(np.uint16)


def _plain(file: Path, data: bytes, count: int) -> Levels:
    words = _COMMENT.sub(b"", data).split(None, count)[:count]
    try:
        values = np.array(words, np.uint32) if len(words) == count else None
    except (ValueError, OverflowError):
        values = None
    if values is None:
        raise InvalidFieldError(FIELD, file, f"must have a whole number for each of its {count:,} pixels")
    return np.minimum(values, _WHITE_16).astype(np.uint16)


def _decoded(file: Path, *, mixes_alpha: bool) -> Pixels:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        why = "is no PGM image; other images need Pillow: pip install 'robotmem_ros[maps]'"
        raise InvalidFieldError(FIELD, file, why) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit of a map is lower
            with Image.open(file, formats=("PNG", "BMP")) as image:
                check_size(*image.size)
                return _levels(image, mixes_alpha=mixes_alpha)
    except Image.DecompressionBombError as cause:
        raise InvalidFieldError(FIELD, file, f"has more than {MAX_CELLS:,} pixels ({cause})") from None
    except UnidentifiedImageError:
        raise InvalidFieldError(FIELD, file, "is no PGM, PNG or BMP image") from None
    except (SyntaxError, ValueError, EOFError) as cause:  # what Pillow raises for damaged images, beside OSError
        raise InvalidFieldError(FIELD, file, f"is damaged ({cause})") from None


def _levels(image: Any, *, mixes_alpha: bool) -> Pixels:
    if image.mode.startswith("I"):
        return Pixels(np.asarray(image).astype(np.uint16), _WHITE_16)
    if "A" not in image.mode and "a" not in image.mode and "transparency" not in image.info:
        if image.mode in {"1", "L"}:
            return Pixels(np.asarray(image.convert("L")).astype(np.uint16), 255)
        return Pixels(np.asarray(image.convert("RGB")).sum(axis=2, dtype=np.uint16), 3 * 255)
    channels = np.asarray(image.convert("RGBA"))
    transparent = channels[:, :, 3] < 255
    mixed = 4 if mixes_alpha else 3
    return Pixels(channels[:, :, :mixed].sum(axis=2, dtype=np.uint16), mixed * 255, transparent)
