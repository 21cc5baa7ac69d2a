"""Read and write the files of map_server: a YAML file, and the image that it names.

The formula is that of nav2_map_server (https://docs.nav2.org/configuration/packages/configuring-map-server.html). Of
images, PGM is read with what Python brings along, PNG and BMP with Pillow.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import validation
from ..errors import InvalidFieldError
from ..map_values import BLACK, GREY, MAX_CELLS, OCCUPIED, UNKNOWN, WHITE, OccupancyGrid, Origin, check_size
from ..new_file import new_file
from ..yaml_file import read_yaml, yaml_text

FIELD = "FILE.yaml"
_FREE = 0
_MOST_BYTES = 1 << 20
_OCCUPIED_FROM, _FREE_BELOW = 0.65, 0.196
"""The grey of unknown cells stands for 0.19608, so it is not below the limit of free ones."""


_IMAGE = "image"
_HEAD = 1 << 16
_MOST_OF_IMAGE = 6 * MAX_CELLS
"""A pixel of a plain PGM takes at most 5 digits and a space."""
_PGM = re.compile(rb"(P[25])" + rb"(?:\s|#[^\n]*\n)+(\d+)" * 3 + rb"(?:\s|#[^\n]*\n)*?\s")
_COMMENT = re.compile(rb"#[^\n]*")
_WHITE_16 = 65_535
_Levels = npt.NDArray[np.uint16]


class Mode(str, Enum):
    """Conversion of brightness into cells."""

    TRINARY = "trinary"
    SCALE = "scale"
    RAW = "raw"


class MapFile(NamedTuple):
    """Content of a YAML file of map_server."""

    image: Path
    resolution: float
    """Metres per cell."""
    origin: Origin
    occupied_thresh: float
    free_thresh: float
    negate: bool
    mode: Mode


class _Pixels(NamedTuple):
    """An image, the top row first."""

    levels: _Levels
    """(height, width): 0 is black."""
    white: int
    """The level of white."""
    transparent: npt.NDArray[np.bool_] | None = None
    """Pixels that are not opaque; None if all are."""


def read_map_file(file: Path) -> MapFile:
    """Read a YAML file, but not its image.

    Raises:
        InvalidFieldError: it cannot be read, or says nothing usable.
    """
    if file.is_file() and file.stat().st_size > _MOST_BYTES:
        raise InvalidFieldError(FIELD, file, f"has {file.stat().st_size:,} bytes; that is no YAML of a map")
    values = read_yaml(FIELD, file).value
    if not isinstance(values, Mapping):
        raise InvalidFieldError(FIELD, file, "must hold image, resolution and origin of a map")
    occupied, free = (
        validation.number(name, _number(_require(file, values, name)), low=0.0, high=1.0)
        for name in ("occupied_thresh", "free_thresh")
    )
    if free > occupied:
        raise InvalidFieldError("free_thresh", free, f"must not be above occupied_thresh, which is {occupied:g}")
    image = _require(file, values, "image")
    if not isinstance(image, str) or not image:
        raise InvalidFieldError("image", image, "must name the file of an image")
    origin = _require(file, values, "origin")
    numbers = [_number(value) for value in origin] if isinstance(origin, list) else origin
    return MapFile(
        image=file.parent / image,
        resolution=validation.number("resolution", _number(_require(file, values, "resolution"))),
        origin=Origin(*validation.vector("origin", numbers, sizes=(3,), rule="must be 3 numbers (x, y, yaw)")),
        occupied_thresh=occupied,
        free_thresh=free,
        negate=_negate(values.get("negate", False)),
        mode=validation.member("mode", values.get("mode", Mode.TRINARY.value), Mode),
    )


def load_map(map_file: MapFile, *, frame_id: str, map_id: str, observed_at: int) -> OccupancyGrid:
    """Read the image of a map.

    Raises:
        InvalidFieldError: the image cannot be read or is too large, or a value of the YAML file cannot be used.
    """
    pixels = _read_pixels(map_file.image, mixes_alpha=map_file.mode is Mode.TRINARY)
    cells = cells_by_level(map_file, pixels.white)[pixels.levels]
    if map_file.mode is Mode.SCALE and pixels.transparent is not None:
        cells[pixels.transparent] = UNKNOWN
    height, width = cells.shape
    return OccupancyGrid(
        map_id=map_id, frame_id=frame_id, resolution=map_file.resolution, origin=map_file.origin,
        width=width, height=height, cells=cells[::-1].tobytes(), observed_at=observed_at,
    )  # fmt: skip


def cells_by_level(map_file: MapFile, white: int) -> npt.NDArray[np.int8]:
    """Return the cell of each brightness from 0 to `white`."""
    shade = np.arange(white + 1) / white
    if map_file.mode is Mode.RAW:
        percent = np.floor(shade * 255 + 0.5)
        return np.where(percent <= OCCUPIED, percent, UNKNOWN).astype(np.int8)
    occupied, free = map_file.occupied_thresh, map_file.free_thresh
    how_occupied = shade if map_file.negate else 1.0 - shade
    between = np.full(white + 1, float(UNKNOWN))
    if map_file.mode is Mode.SCALE and occupied > free:
        between = np.rint((how_occupied - free) / (occupied - free) * OCCUPIED)
    cells = np.where(how_occupied < free, _FREE, between)
    return np.where(how_occupied > occupied, OCCUPIED, cells).astype(np.int8)


def write_map(grid: OccupancyGrid, file: Path) -> Path:
    """Write a new YAML file and its image, `<name>.pgm` beside it; return the image. Reading them gives the same cells.

    Raises:
        InvalidFieldError: a file cannot be written, or exists, or both would have the same name.
    """
    cells = grid.array()[::-1]
    is_trinary = bool(np.isin(cells, (UNKNOWN, _FREE, OCCUPIED)).all())
    levels = np.arange(256).astype(np.uint8)
    levels[np.array(UNKNOWN).astype(np.uint8)] = 255
    if is_trinary:
        levels[[_FREE, OCCUPIED, 255]] = WHITE, BLACK, GREY
    image = file.with_suffix(".pgm")
    if image == file:
        raise InvalidFieldError(FIELD, file, "is the name of the image; end it in .yaml")
    content = {
        "image": image.name, "mode": (Mode.TRINARY if is_trinary else Mode.RAW).value, "resolution": grid.resolution,
        "origin": list(grid.origin), "negate": 0, "occupied_thresh": _OCCUPIED_FROM, "free_thresh": _FREE_BELOW,
    }  # fmt: skip
    try:
        with new_file(image) as pixels, new_file(file) as description:
            pixels.write(b"P5\n%d %d\n255\n" % (grid.width, grid.height))
            pixels.write(levels[cells.view(np.uint8)].tobytes())
            description.write(yaml_text(content).encode())
    except OSError as cause:
        target = Path(cause.filename) if isinstance(cause, FileExistsError) else file
        raise InvalidFieldError(FIELD, target, f"cannot be written ({cause.strerror or cause})") from cause
    return image


def _require(file: Path, values: Mapping[object, object], name: str) -> object:
    if name not in values:
        raise InvalidFieldError(FIELD, file, f"has no {name}")
    return values[name]


def _number(value: object) -> object:
    # PyYAML takes `5e-2` for a text, unlike the YAML library of map_server.
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _negate(value: object) -> bool:
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise InvalidFieldError("negate", value, "must be 0 or 1")


def _read_pixels(file: Path, *, mixes_alpha: bool) -> _Pixels:
    """Read an image. With `mixes_alpha` its opacity counts as a fourth colour, as map_server wants it.

    Raises:
        InvalidFieldError: it cannot be read, is no such image, or has too many pixels.
    """
    try:
        if not file.is_file():
            raise InvalidFieldError(_IMAGE, file, "is no file")
        size = file.stat().st_size
        with file.open("rb") as content:
            head = content.read(_HEAD)
        if size > _MOST_OF_IMAGE:
            raise InvalidFieldError(_IMAGE, file, f"has {size:,} bytes; at most {_MOST_OF_IMAGE:,} are read")
        return _pgm(file, head, size) if head[:2] in (b"P2", b"P5") else _decode(file, mixes_alpha=mixes_alpha)
    except OSError as cause:
        raise InvalidFieldError(_IMAGE, file, f"cannot be read ({cause.strerror or cause})") from cause


def _pgm(file: Path, head: bytes, size: int) -> _Pixels:
    match = _PGM.match(head)
    if match is None:
        raise InvalidFieldError(_IMAGE, file, "is no PGM image: its head must name width, height and white")
    kind, (width, height, white) = match[1], (int(number) for number in match.groups()[1:])
    if not (width and height and 0 < white <= _WHITE_16):
        raise InvalidFieldError(_IMAGE, file, f"has a head that cannot be: {width} x {height}, white is {white}")
    check_size(width, height)
    wide = 1 + (white > 255)
    min_bytes = width * height * (wide if kind == b"P5" else 2) - (kind == b"P2")
    if size - match.end() < min_bytes:
        problem = f"is cut: {width} x {height} pixels take {min_bytes:,} bytes, and there are {size - match.end():,}"
        raise InvalidFieldError(_IMAGE, file, problem)
    with file.open("rb") as content:
        content.seek(match.end())
        values = _plain(file, content.read(), width * height) if kind == b"P2" else _raw(content.read(min_bytes), wide)
    if values.max() > white:
        raise InvalidFieldError(_IMAGE, file, f"has a pixel of {values.max()}, and white is {white}")
    return _Pixels(values.reshape(height, width), white)


def _raw(data: bytes, wide: int) -> _Levels:
    return np.frombuffer(data, ">u2" if wide == 2 else np.uint8).astype(np.uint16)


def _plain(file: Path, data: bytes, count: int) -> _Levels:
    words = _COMMENT.sub(b"", data).split(None, count)[:count]
    try:
        values = np.array(words, np.uint32) if len(words) == count else None
    except (ValueError, OverflowError):
        values = None
    if values is None:
        raise InvalidFieldError(_IMAGE, file, f"must have a whole number for each of its {count:,} pixels")
    return np.minimum(values, _WHITE_16).astype(np.uint16)


def _decode(file: Path, *, mixes_alpha: bool) -> _Pixels:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        problem = "is no PGM image; other images need Pillow: pip install 'robotmem_ros[maps]'"
        raise InvalidFieldError(_IMAGE, file, problem) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit of a map is lower
            with Image.open(file, formats=("PNG", "BMP")) as image:
                check_size(*image.size)
                return _levels(image, mixes_alpha=mixes_alpha)
    except Image.DecompressionBombError as cause:
        raise InvalidFieldError(_IMAGE, file, f"has more than {MAX_CELLS:,} pixels ({cause})") from None
    except UnidentifiedImageError:
        raise InvalidFieldError(_IMAGE, file, "is no PGM, PNG or BMP image") from None
    except (SyntaxError, ValueError, EOFError) as cause:  # what Pillow raises for damaged images, beside OSError
        raise InvalidFieldError(_IMAGE, file, f"is damaged ({cause})") from None


def _levels(image: Any, *, mixes_alpha: bool) -> _Pixels:
    if image.mode.startswith("I"):
        return _Pixels(np.asarray(image).astype(np.uint16), _WHITE_16)
    if "A" not in image.mode and "a" not in image.mode and "transparency" not in image.info:
        if image.mode in {"1", "L"}:
            return _Pixels(np.asarray(image.convert("L")).astype(np.uint16), 255)
        return _Pixels(np.asarray(image.convert("RGB")).sum(axis=2, dtype=np.uint16), 3 * 255)
    channels = np.asarray(image.convert("RGBA"))
    transparent = channels[:, :, 3] < 255
    mixed = 4 if mixes_alpha else 3
    return _Pixels(channels[:, :, :mixed].sum(axis=2, dtype=np.uint16), mixed * 255, transparent)
