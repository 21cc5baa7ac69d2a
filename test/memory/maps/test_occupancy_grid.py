"""Occupancy grids: what is refused, what is kept, what is drawn."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from robotmem_ros.memory import InvalidFieldError, OccupancyGrid, Origin, ReadOnlyError, RobotMemory

from ..conftest import OpenMemory

SECOND = 10**9


def grid(drawn: list[list[int]] | None = None, /, **fields: Any) -> OccupancyGrid:
    """A small map, its lowest row first."""
    rows = np.array(drawn or [[0, 100, -1], [50, 0, 100]], np.int8)
    height, width = rows.shape
    given: dict[str, Any] = {
        "frame_id": "map", "resolution": 0.05, "origin": (-1.0, 2.0, 0.5), "width": width, "height": height,
        "cells": rows.tobytes(), "observed_at": 7 * SECOND,
    }  # fmt: skip
    return OccupancyGrid(**(given | fields))


BAD: dict[str, list[tuple[dict[str, Any], str]]] = {
    "width": [({"width": 0}, "width: 0 must be 1 cell or more"), ({"width": -3}, "width: -3 must be 1 cell or more")],
    "height": [({"height": 0}, "height: 0 must be"), ({"height": 2.5}, "height: 2.5 must be a whole number")],
    "size": [
        ({"width": 100_000, "height": 100_000}, r"'100000 x 100000' is 10,000,000,000 cells; at most 100,000,000"),
        ({"width": 2**31, "height": 2**31}, "at most 100,000,000 are kept"),
    ],
    "cells": [
        ({"width": 4}, r"cells: 6 cells are given, but width \* height is 4 \* 2 = 8"),
        ({"cells": b""}, "cells: 0 cells are given"),
        ({"cells": "000000"}, "cells: 'str' must be bytes"),
        ({"cells": bytes([0, 0, 101, 0, 0, 0])}, r"cells: 101 is the value of cell 2; a cell is -1"),
        ({"cells": bytes([0, 0, 0, 0xFE, 0, 0])}, "cells: -2 is the value of cell 3"),
    ],
    "resolution": [
        ({"resolution": 0.0}, r"resolution: 0.0 must be metres a cell, above 0"),
        ({"resolution": -0.05}, "resolution: -0.05 must be metres a cell"),
        ({"resolution": math.nan}, "resolution: nan must be a finite number"),
        ({"resolution": "fine"}, "resolution: 'fine' must be a number"),
    ],
    "origin": [
        ({"origin": (math.nan, 0, 0)}, r"origin\[0\]: nan must be a finite number"),
        ({"origin": (0, 0, math.inf)}, r"origin\[2\]: inf must be a finite number"),
        ({"origin": (1e300, 0, 0)}, r"origin\[0\]: 1e\+300 must lie within"),
        ({"origin": (0, 0)}, r"origin: \(0, 0\) must be 3 numbers"),
    ],
    "frame": [({"frame_id": ""}, "frame_id: '' is empty"), ({"frame_id": "a\nb"}, "frame_id: 'a.nb' contains control")],
    "time": [({"observed_at": -1}, "observed_at: -1 must not lie before the epoch")],
}


@pytest.mark.parametrize(("fields", "wanted"), [case for cases in BAD.values() for case in cases])
def test_a_grid_that_cannot_be_is_refused_by_its_field_and_value(fields: dict[str, Any], wanted: str) -> None:
    with pytest.raises(InvalidFieldError, match=wanted):
        grid(**fields)


def test_a_saved_map_is_the_one_that_is_read(memory: RobotMemory) -> None:
    assert memory.maps.grid() is None
    assert memory.maps.save(grid())
    assert memory.maps.grid() == memory.maps.grid("") == grid()
    assert memory.maps.grid("another") is None


def test_the_same_map_is_not_written_again_and_another_one_replaces_it(memory: RobotMemory) -> None:
    assert memory.maps.save(grid())
    assert not memory.maps.save(grid(observed_at=9 * SECOND))
    (found,) = memory.maps.all()
    assert found.observed_at == 9 * SECOND
    for fields in ({"cells": bytes(6)}, {"resolution": 0.1}, {"origin": (0, 0, 0)}, {"width": 2, "height": 3}):
        assert memory.maps.save(grid(**fields))
        (other,) = memory.maps.all()
        assert other.digest != found.digest
        assert memory.maps.grid() == grid(**fields)


def test_a_recorded_map_does_not_replace_a_newer_one(memory: RobotMemory) -> None:
    memory.maps.save(grid())
    assert not memory.maps.store(grid([[0, 0]], observed_at=6 * SECOND), keeps_newer=True).result()
    assert memory.maps.grid() == grid()
    assert memory.maps.store(grid([[0, 0]], observed_at=8 * SECOND), keeps_newer=True).result()
    assert memory.maps.save(grid(observed_at=1 * SECOND))


def test_each_map_has_its_own_grid_and_the_parameter_names_the_present_one(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.maps.save(grid(map_id="first"))
    memory.maps.save(grid([[0]], map_id="second", observed_at=8 * SECOND))
    newest = memory.maps.grid()
    assert newest is not None
    assert newest.map_id == "second"
    memory.parameters = memory.parameters.changed(map_id="first")
    assert memory.maps.grid() == grid(map_id="first")
    assert [one.map_id for one in memory.maps.all()] == ["first", "second"]


def test_a_map_in_another_frame_is_refused(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="frame_id: 'odom' is the frame of the map, but the memory frame is"):
        memory.maps.save(grid(frame_id="odom"))
    assert memory.maps.save(grid(frame_id="/map"))


def test_a_reader_sees_the_map_and_may_not_save_one(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.maps.save(grid())
    reader = open_memory(memory.path, read_only=True)
    assert reader.maps.grid() == grid()
    with pytest.raises(ReadOnlyError):
        reader.maps.save(grid())


def test_another_process_sees_the_map_that_was_saved_and_the_next_one(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    memory.maps.save(grid())
    script = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="", read_only=True) as memory:
    for line in sys.stdin:
        print(memory.maps.grid().cells.hex(), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(memory.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for cells in (grid().cells, bytes(6)):
            memory.maps.save(grid(cells=cells))
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline().strip() == cells.hex()
        reader.stdin.close()
        assert reader.wait(120) == 0


GREY = {-1: 205, 0: 254, 100: 0}
"""What map_server draws for unknown, free and occupied."""


@given(
    st.integers(1, 9).flatmap(
        lambda width: st.lists(st.lists(st.integers(-1, 100), min_size=width, max_size=width), min_size=1, max_size=9)
    )
)
def test_the_image_has_the_cells_with_the_largest_y_at_the_top(cells: list[list[int]]) -> None:
    image = Image.open(io.BytesIO(grid(cells).png()))
    assert (image.mode, image.size, image.format) == ("L", (len(cells[0]), len(cells)), "PNG")
    pixels = np.asarray(image)
    for y, row in enumerate(reversed(cells)):
        for x, cell in enumerate(row):
            wanted = GREY.get(cell, 254 - 2.54 * cell)
            assert abs(int(pixels[y, x]) - wanted) <= 0.5


@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.floats(0.001, 10.0), st.tuples(*[st.floats(-1e6, 1e6)] * 2, st.floats(-4.0, 4.0)), st.randoms(),
)  # fmt: skip
def test_every_map_comes_back_as_it_was(size: tuple[int, int], resolution: float, origin: Any, chance: Any) -> None:
    width, height = size
    cells = [[chance.randint(-1, 100) for _ in range(width)] for _ in range(height)]
    wanted = grid(cells, resolution=resolution, origin=origin)
    with RobotMemory(":memory:", embedding_model="") as memory:
        memory.maps.save(wanted)
        assert memory.maps.grid() == wanted
    assert wanted.origin == Origin(*origin)
