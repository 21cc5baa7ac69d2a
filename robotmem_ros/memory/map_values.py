"""The values of a map: a grid of cells, as nav_msgs/OccupancyGrid has it, and its picture; and the path of the robot.

A path is poses over time, in segments without a jump.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import validation
from .errors import InvalidFieldError

MAX_CELLS = 100_000_000
"""Cells of the largest grid: 500 m x 500 m at 5 cm."""
UNKNOWN, OCCUPIED = -1, 100
_MAX_RESOLUTION = 1000.0
BLACK, WHITE, GREY = 0, 254, 205
"""Grey levels of an occupied, a free and an unknown cell, as map_saver draws them."""


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY_8_BITS = bytes((8, 0, 0, 0, 0))
"""Bit depth, colour type, and the only methods of compression, filter and interlacing that are needed."""
_LEVEL = 3
"""Level of compression: maps are large and plain, and higher levels gain little."""


class Origin(NamedTuple):
    """The lower left corner of the first cell in the frame of the grid: metres, and radians about z."""

    x: float
    y: float
    yaw: float = 0.0


@dataclass(frozen=True, kw_only=True)
class OccupancyGrid:
    """A checked grid of one map.

    Raises:
        InvalidFieldError: a field cannot be used; or the grid has too many cells, or another number than it says.
    """

    map_id: str = ""
    frame_id: str
    resolution: float
    """Metres per cell."""
    origin: Origin
    width: int
    """Cells along x."""
    height: int
    """Cells along y."""
    cells: bytes = field(repr=False)
    """One int8 for each cell, row by row from the origin: -1 is unknown, 0 free, 100 occupied."""
    observed_at: int = 0
    """Nanoseconds of the robot's clock."""

    def __post_init__(self) -> None:
        values = {
            "map_id": validation.name("map_id", self.map_id),
            "frame_id": _frame(self.frame_id),
            "resolution": _resolution(self.resolution),
            "origin": _origin(self.origin),
            "width": _side("width", self.width),
            "height": _side("height", self.height),
            "observed_at": validation.time_ns("observed_at", self.observed_at),
        }
        check_size(self.width, self.height)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "cells", _cells(self.cells, self.width, self.height))

    def array(self) -> npt.NDArray[np.int8]:
        """Return the cells as (height, width), the row of the origin first; not to be written to."""
        return np.frombuffer(self.cells, np.int8).reshape(self.height, self.width)

    def digest(self) -> bytes:
        """Return a digest of the map, its frame, place and cells; when it was observed does not matter."""
        numbers = struct.pack("<dddd", self.resolution, *self.origin)
        sizes = f"{self.map_id}\0{self.frame_id}\0{self.width}\0{self.height}\0".encode()
        return hashlib.sha256(sizes + numbers + self.cells).digest()[:16]

    def png(self) -> bytes:
        """Return a grey PNG with the row of the largest y at the top: occupied is black, free white, unknown grey.

        It shows the cells as they lie in the grid; a yaw of the origin is left to whoever draws it.
        """
        grey = np.full(256, GREY, np.uint8)
        grey[: OCCUPIED + 1] = np.rint(np.linspace(WHITE, BLACK, OCCUPIED + 1))
        return _grey_png(grey[self.array().view(np.uint8)][::-1])


def read_grid(row: Mapping[str, Any]) -> OccupancyGrid:
    """Return the grid of a unit of a feed, whose cells are compressed and in Base64.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    check_size(row["width"], row["height"])
    try:
        cells = zlib.decompressobj().decompress(base64.b64decode(row["cells"]), row["width"] * row["height"] + 1)
    except zlib.error as cause:
        raise InvalidFieldError("cells", row["cells"], f"cannot be decompressed ({cause})") from cause
    return OccupancyGrid(
        map_id=row["map_id"], frame_id=row["frame_id"], resolution=row["resolution"],
        origin=Origin(row["origin_x"], row["origin_y"], row["origin_yaw"]),
        width=row["width"], height=row["height"], cells=cells, observed_at=row["observed_at"],
    )  # fmt: skip


def check_size(width: int, height: int) -> None:
    """Check that a grid of this size is not too large, before its cells are read.

    Raises:
        InvalidFieldError: it is.
    """
    if width * height > MAX_CELLS:
        size = f"{width} x {height}"
        raise InvalidFieldError("width * height", size, f"is {width * height:,} cells; at most {MAX_CELLS:,} are kept")


def _frame(value: object) -> str:
    clean = validation.frame("frame_id", value)
    if not clean:
        raise InvalidFieldError("frame_id", value, "is empty; name the frame of the map, such as 'map'")
    return clean


def _resolution(value: object) -> float:
    result = validation.number("resolution", value)
    if not 0.0 < result <= _MAX_RESOLUTION:
        raise InvalidFieldError("resolution", value, f"must be metres a cell, above 0, at most {_MAX_RESOLUTION:g}")
    return result


def _origin(value: object) -> Origin:
    numbers = validation.coordinates("origin", value, sizes=(3,), rule="must be 3 numbers (x, y, yaw)")
    return Origin(*numbers)


def _side(name: str, value: object) -> int:
    result = validation.whole(name, value)
    if result < 1:
        raise InvalidFieldError(name, value, "must be 1 cell or more")
    return result


def _cells(value: object, width: int, height: int) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidFieldError("cells", type(value).__name__, "must be bytes, one int8 for each cell")
    cells = bytes(value)
    if len(cells) != width * height:
        problem = f"cells are given, but width * height is {width} * {height} = {width * height:,}"
        raise InvalidFieldError("cells", len(cells), problem)
    values = np.frombuffer(cells, np.int8)
    low, high = int(values.min()), int(values.max())
    if low < UNKNOWN or high > OCCUPIED:
        wrong = low if low < UNKNOWN else high
        problem = f"is the value of cell {int(np.argmax(values == wrong))}; a cell is -1 (unknown) or 0 to 100"
        raise InvalidFieldError("cells", wrong, problem)
    return cells


def _grey_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    # Of (height, width) pixels, the top row first; 0 is black, 255 white.
    height, width = pixels.shape
    # Each row begins with its filter, which is none.
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = pixels
    head = struct.pack(">II", width, height) + _GREY_8_BITS
    data = zlib.compress(rows.tobytes(), _LEVEL)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


MAX_POINTS = 100_000
"""Points that one query returns at most."""


class Move(NamedTuple):
    """A pose of the robot that is to be stored."""

    observed_at: int
    """Nanoseconds of the robot's clock."""
    x: float
    y: float
    yaw: float
    """Radians about z, from -pi to pi."""
    segment: int
    """Time of the first pose of its segment: between two of one segment the robot drove, and did not jump."""


def check_moves(moves: Sequence[Move]) -> None:
    """Check the poses that are to be stored.

    Raises:
        InvalidFieldError: one lies too far out, or is not finite.
    """
    for index, move in enumerate(moves):
        validation.check_coordinates(f"moves[{index}]", (move.x, move.y))
        validation.number(f"moves[{index}].yaw", move.yaw)


class PathPart(NamedTuple):
    """Poses of one robot in one frame of one map, in the order of time."""

    moves: Sequence[Move]
    frame_id: str
    map_id: str
    collection: str
    """Collection of the robot."""
    import_id: int | None = None
    """Import of the poses, which stores each of them only once; None if they come from a robot."""
    session_id: str | None = None
    """Session of all poses; None means the session that was open at the time of each."""


class PathPoint(NamedTuple):
    """A pose of the robot as it was stored: metres and radians in the memory frame."""

    observed_at: int
    """Nanoseconds of the robot's clock."""
    x: float
    y: float
    yaw: float
    session_id: str
    """The session that was open then; empty for none."""
    segment: int = 0
    """Number of its segment in the result, from 0: draw no line between two segments."""
