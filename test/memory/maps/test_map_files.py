"""Files of map_server: its formula, and what is refused before it is read."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from robotmem_ros.memory import InvalidFieldError, OccupancyGrid, Origin
from robotmem_ros.memory.maps.map_files import load_map, read_map_file, write_map

from ...support.forks import output_of
from ...support.subprocesses import without

HEAD: dict[str, Any] = {
    "image": "map.pgm", "resolution": 0.05, "origin": [-1.5, 2.0, 0.25], "negate": 0, "occupied_thresh": 0.65,
    "free_thresh": 0.25,
}  # fmt: skip
PLAIN = b"P2 # a comment\n# and another\n3 1\n255\n0 205 254\n"


def write(folder: Path, image: bytes = PLAIN, /, name: str = "map.pgm", **changes: Any) -> Path:
    """Write a map; a change of None leaves a line out."""
    (folder / name).write_bytes(image)
    file = folder / "map.yaml"
    lines = {key: value for key, value in {**HEAD, "image": name, **changes}.items() if value is not None}
    file.write_text(yaml.safe_dump(lines))
    return file


def load(file: Path) -> OccupancyGrid:
    return load_map(read_map_file(file), frame_id="map", map_id="", observed_at=0)


def cells(file: Path) -> list[list[int]]:
    """Return the cells of a map, the top row first."""
    rows: list[list[int]] = load(file).array()[::-1].tolist()
    return rows


# From the documentation of nav2's map server, by hand: occ = (255 - p) / 255, or p / 255 if negated.
BY_HAND: list[tuple[str, int, dict[int, int]]] = [
    # free_thresh 0.25, occupied_thresh 0.65: occupied above 0.65 (p < 89.25), free below 0.25 (p > 191.25)
    ("trinary", 0, {0: 100, 89: 100, 90: -1, 191: -1, 192: 0, 205: 0, 254: 0, 255: 0}),
    ("trinary", 1, {0: 0, 63: 0, 64: -1, 165: -1, 166: 100, 255: 100}),
    # Between the limits the share of the way: (occ - 0.25) / 0.4 * 100, rounded
    ("scale", 0, {0: 100, 89: 100, 90: 99, 127: 63, 128: 62, 191: 0, 192: 0, 255: 0}),
    ("scale", 1, {0: 0, 63: 0, 64: 0, 127: 62, 128: 63, 165: 99, 166: 100}),
    # The brightness itself; negate says nothing
    ("raw", 0, {0: 0, 1: 1, 99: 99, 100: 100, 101: -1, 205: -1, 255: -1}),
    ("raw", 1, {0: 0, 50: 50, 100: 100, 101: -1}),
]


@pytest.mark.parametrize(("mode", "negate", "wanted"), BY_HAND)
def test_brightness_becomes_cells_as_map_server_says(
    tmp_path: Path, mode: str, negate: int, wanted: dict[int, int]
) -> None:
    image = b"P5\n%d 1\n255\n" % len(wanted) + bytes(wanted)
    assert cells(write(tmp_path, image, mode=mode, negate=negate)) == [list(wanted.values())]


def test_the_bottom_row_of_the_image_is_the_row_of_the_origin(tmp_path: Path) -> None:
    grid = load(write(tmp_path, b"P5 2 2 255\n" + bytes([0, 0, 254, 254])))
    assert grid.array().tolist() == [[0, 0], [100, 100]]
    assert (grid.origin, grid.resolution, grid.width, grid.height) == (Origin(-1.5, 2.0, 0.25), 0.05, 2, 2)


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        (PLAIN, [[100, 0, 0]]),
        (b"P5 3 1 255 " + bytes([0, 205, 254]), [[100, 0, 0]]),
        (b"P5\n# CREATOR: map_saver\n3 1\n100\n" + bytes([0, 50, 100]), [[100, -1, 0]]),
        (b"P5 2 1 65535\n" + struct.pack(">HH", 0, 65_535), [[100, 0]]),
        (b"P2\n2 2\n255\n0 0 # black\n255 255\n", [[100, 100], [0, 0]]),
    ],
)
def test_plain_and_raw_pgm_are_read(tmp_path: Path, image: bytes, wanted: list[list[int]]) -> None:
    assert cells(write(tmp_path, image)) == wanted


def saved(folder: Path, image: Image.Image, **changes: Any) -> Path:
    image.save(folder / "map.png")
    return write(folder, (folder / "map.png").read_bytes(), name="map.png", **changes)


def test_a_png_of_any_colours_is_read(tmp_path: Path) -> None:
    grey = Image.fromarray(np.array([[0, 128, 255]], np.uint8))
    for image in (grey, grey.convert("RGB"), grey.convert("P"), grey.convert("RGBA"), grey.convert("LA")):
        assert cells(saved(tmp_path, image)) == [[100, -1, 0]]
    wide = Image.fromarray(np.array([[0, 32_768, 65_535]], np.uint16))
    assert cells(saved(tmp_path, wide)) == [[100, -1, 0]]
    assert cells(saved(tmp_path, grey.convert("1", dither=Image.Dither.NONE))) == [[100, 0, 0]]


def test_opacity_counts_as_a_colour_in_trinary_and_is_unknown_in_scale(tmp_path: Path) -> None:
    pixels = [(255, 255, 255, 255), (255, 255, 255, 0), (0, 0, 0, 255), (0, 0, 0, 0)]
    image = Image.fromarray(np.array([pixels], np.uint8))
    # occ = 1 - mean of the four: 0, 0.25, 0.75, 1
    assert cells(saved(tmp_path, image)) == [[0, -1, 100, 100]]
    assert cells(saved(tmp_path, image, mode="scale")) == [[0, -1, 100, -1]]


GRIDS = st.tuples(
    st.tuples(st.integers(1, 8), st.integers(1, 8)), st.sampled_from([(-1, 0, 100), range(-1, 101)]),
    st.floats(0.001, 100.0), st.tuples(*[st.floats(-1e5, 1e5)] * 2, st.floats(-3.2, 3.2)),
)  # fmt: skip


@given(GRIDS, st.randoms())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_written_map_is_read_as_it_was(tmp_path: Path, drawn: tuple[Any, ...], chance: random.Random) -> None:
    (width, height), choice, resolution, origin = drawn
    grid = OccupancyGrid(
        frame_id="map", resolution=resolution, origin=origin, width=width, height=height,
        cells=np.array([chance.choice(choice) for _ in range(width * height)], np.int8).tobytes(),
    )  # fmt: skip
    for file in tmp_path.iterdir():
        file.unlink()
    image = write_map(grid, tmp_path / "house.yaml")
    assert load(tmp_path / "house.yaml") == grid
    with Image.open(image) as drawing:
        assert drawing.size == (width, height)


def test_a_written_map_replaces_no_file(tmp_path: Path) -> None:
    grid = load(write(tmp_path))
    with pytest.raises(InvalidFieldError, match=r"FILE\.yaml: '.*map\.pgm' cannot be written \(File exists\)"):
        write_map(grid, tmp_path / "map.yaml")
    with pytest.raises(InvalidFieldError, match="cannot be written"):
        write_map(grid, tmp_path / "nowhere" / "map.yaml")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    (tmp_path / "house.yaml").touch()
    with pytest.raises(InvalidFieldError, match=r"FILE\.yaml: '.*house\.yaml' cannot be written \(File exists\)"):
        write_map(grid, tmp_path / "house.yaml")
    with pytest.raises(InvalidFieldError, match=r"'.*hall\.pgm' is the name of the image; end it in \.yaml"):
        write_map(grid, tmp_path / "hall.pgm")
    (tmp_path / "house.yaml").unlink()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def png_head(width: int, height: int) -> bytes:
    """Return a PNG that claims a size and has next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        (b"P5 100000 100000 255\n", r"width \* height: '100000 x 100000' is 10,000,000,000 cells; at most 100,000,000"),
        (png_head(100_000, 100_000), "has more than 100,000,000 pixels|at most 100,000,000 are kept"),
        (png_head(12_000, 12_000), r"width \* height: '12000 x 12000' is 144,000,000 cells"),
        (png_head(30, 30), "cannot be read|is damaged"),
        (b"P5 4 4 255\n" + bytes(15), r"is cut: 4 x 4 pixels take 16 bytes, and there are 15"),
        (b"P5 0 4 255\n", "has a head that cannot be: 0 x 4, white is 255"),
        (b"P5 4 4 70000\n", "white is 70000"),
        (b"P5 -4 4 255\n", "is no PGM image: its head must name width, height and white"),
        (b"P2 2 1 255\n0 x\n", "must have a whole number for each of its 2 pixels"),
        (b"P2 2 1 255\n0  \n", "must have a whole number for each of its 2 pixels"),
        (b"P2 2 1 255\n0 256", "has a pixel of 256, and white is 255"),
        (b"P6 1 1 255\nabc", "is no PGM, PNG or BMP image"),
        (b"", "is no PGM, PNG or BMP image"),
    ],
)
def test_an_image_that_cannot_be_is_refused(tmp_path: Path, image: bytes, wanted: str) -> None:
    with pytest.raises(InvalidFieldError, match=wanted):
        load(write(tmp_path, image))


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"image": None}, "has no image"),
        ({"image": 3}, "image: 3 must name the file of an image"),
        ({"image": "none.pgm"}, r"image: '.*none\.pgm' is no file"),
        ({"image": "/dev/zero"}, "image: '/dev/zero' is no file"),
        ({"resolution": None}, "has no resolution"),
        ({"resolution": 0}, "resolution: 0.0 must be metres a cell"),
        ({"resolution": ".nan"}, "resolution: '.nan' must be a number"),
        ({"resolution": float("nan")}, "resolution: nan must be a finite number"),
        ({"origin": None}, "has no origin"),
        ({"origin": [0, 0]}, r"origin: \[0, 0\] must be 3 numbers"),
        ({"origin": "here"}, "origin: 'here' must be 3 numbers"),
        ({"origin": [0, 0, float("inf")]}, r"origin\[2\]: inf must be a finite number"),
        ({"occupied_thresh": None}, "has no occupied_thresh"),
        ({"occupied_thresh": 1.5}, "occupied_thresh: 1.5 must lie in 0 to 1"),
        ({"free_thresh": 0.7}, "free_thresh: 0.7 must not be above occupied_thresh, which is 0.65"),
        ({"negate": 2}, "negate: 2 must be 0 or 1"),
        ({"mode": "grey"}, "mode: 'grey' is unknown; use one of trinary, scale, raw"),
    ],
)
def test_a_file_that_says_nothing_usable_is_refused(tmp_path: Path, changes: dict[str, Any], wanted: str) -> None:
    with pytest.raises(InvalidFieldError, match=wanted):
        load(write(tmp_path, **changes))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in ("[1, 2]", "a: b: c", "x" * (1 << 21)):
        (tmp_path / "map.yaml").write_text(content)
        with pytest.raises(InvalidFieldError, match=r"FILE\.yaml: '.*map\.yaml' "):
            read_map_file(tmp_path / "map.yaml")


def test_a_number_may_be_written_as_map_server_allows(tmp_path: Path) -> None:
    file = write(tmp_path)
    file.write_text(file.read_text().replace("0.05", "5e-2").replace("negate: 0", "negate: false"))
    assert load(file).resolution == 0.05


def test_without_pillow_a_pgm_is_read_and_a_png_says_what_is_missing(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from robotmem_ros.memory import InvalidFieldError
from robotmem_ros.memory.maps.map_files import load_map, read_map_file
for name in sys.argv[1:]:
    try:
        print(load_map(read_map_file(Path(name)), frame_id="map", map_id="", observed_at=0).width)
    except InvalidFieldError as error:
        print(str(error).rpartition(": ")[2])
"""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    files = write(one), saved(two, Image.new("L", (3, 1)))
    assert output_of(without("PIL") + code, *files).splitlines() == ["3", "pip install 'robotmem_ros[maps]'"]
