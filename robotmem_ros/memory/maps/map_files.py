"""Read and write the files of map_server: a YAML file, and the image that it names.

The formula is that of nav2_map_server (https://docs.nav2.org/configuration/packages/configuring-map-server.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import validation
from ..errors import InvalidFieldError
from ..yaml_file import read_yaml
from .occupancy_grid import OCCUPIED, UNKNOWN, OccupancyGrid, Origin
from .pixels import read_pixels, write_pgm

FIELD = "FILE.yaml"
_FREE = 0
_MOST_BYTES = 1 << 20
_BLACK, _WHITE, _GREY = 0, 254, 205
"""Of occupied, free and unknown cells, as map_saver draws them."""
_OCCUPIED_FROM, _FREE_BELOW = 0.65, 0.196
"""The grey of unknown cells stands for 0.19608, so it is not below the limit of free ones."""


class Mode(str, Enum):
    """How brightness becomes cells."""

    TRINARY = "trinary"
    SCALE = "scale"
    RAW = "raw"


class MapFile(NamedTuple):
    """What a YAML file of map_server says."""

    image: Path
    resolution: float
    """Metres per cell."""
    origin: Origin
    occupied_thresh: float
    free_thresh: float
    negate: bool
    mode: Mode


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
        validation.number(name, _number(_required(file, values, name)), low=0.0, high=1.0)
        for name in ("occupied_thresh", "free_thresh")
    )
    if free > occupied:
        raise InvalidFieldError("free_thresh", free, f"must not be above occupied_thresh, which is {occupied:g}")
    image = _required(file, values, "image")
    if not isinstance(image, str) or not image:
        raise InvalidFieldError("image", image, "must name the file of an image")
    origin = _required(file, values, "origin")
    numbers = [_number(value) for value in origin] if isinstance(origin, list) else origin
    return MapFile(
        image=file.parent / image,
        resolution=validation.number("resolution", _number(_required(file, values, "resolution"))),
        origin=Origin(*validation.vector("origin", numbers, sizes=(3,), wanted="must be 3 numbers (x, y, yaw)")),
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
    pixels = read_pixels(map_file.image, mixes_alpha=map_file.mode is Mode.TRINARY)
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
        InvalidFieldError: a file cannot be written, or exists.
    """
    import yaml

    cells = grid.array()[::-1]
    is_trinary = bool(np.isin(cells, (UNKNOWN, _FREE, OCCUPIED)).all())
    levels = np.arange(256).astype(np.uint8)
    levels[np.array(UNKNOWN).astype(np.uint8)] = 255
    if is_trinary:
        levels[[_FREE, OCCUPIED, 255]] = _WHITE, _BLACK, _GREY
    image = file.with_suffix(".pgm")
    content = {
        "image": image.name, "mode": (Mode.TRINARY if is_trinary else Mode.RAW).value, "resolution": grid.resolution,
        "origin": list(grid.origin), "negate": 0, "occupied_thresh": _OCCUPIED_FROM, "free_thresh": _FREE_BELOW,
    }  # fmt: skip
    written = image
    try:
        write_pgm(image, levels[cells.view(np.uint8)])
        written = file
        with file.open("x", encoding="utf-8") as text:
            yaml.safe_dump(content, text, sort_keys=False, allow_unicode=True, default_flow_style=None)
    except OSError as cause:
        raise InvalidFieldError(FIELD, written, f"cannot be written ({cause.strerror or cause})") from cause
    return image


def _required(file: Path, values: Mapping[object, object], name: str) -> object:
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
