"""`robotmem map` and `robotmem path`, and what an export carries of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robotmem_ros.cli.main import main
from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory
from robotmem_ros.memory.maps import Move, PathPart

SECOND = 10**9
YEAR_2023 = 1_700_000_000 * SECOND
YAML = "image: {image}\nresolution: 0.05\norigin: [-1, -2, 0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    grid = OccupancyGrid(
        map_id="house", frame_id="world", resolution=0.1, origin=Origin(1, 2, 0.5), width=2, height=1,
        cells=bytes([0, 100]), observed_at=YEAR_2023,
    )  # fmt: skip
    with RobotMemory(path, embedding_model="", memory_frame="world", collection="lab") as memory:
        memory.maps.save(grid)
        moves = [Move(YEAR_2023 + n * SECOND, float(n), 0.0, 0.5, YEAR_2023) for n in range(1200)]
        memory.maps.store_path(PathPart(moves, "world", "house", "lab", session_id="s1")).result()
        memory.learn("the house has two cells")
    return path


def test_a_map_is_imported_listed_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "images"
    elsewhere.mkdir()
    Image.fromarray(np.array([[0, 205, 254]], np.uint8)).save(elsewhere / "house.png")
    file, db = tmp_path / "maps" / "house.yaml", str(tmp_path / "memory.db")
    file.parent.mkdir()
    file.write_text(YAML.format(image="../images/house.png"))
    assert main(["map", "import", str(file), "--db", db, "--map-id", "house"]) == 0
    told = capsys.readouterr()
    assert told.out == "stored: 3 x 1 cells of 0.05 m\n"
    assert told.err == f"reading {file} and its image {elsewhere / 'house.png'}\n"
    assert main(["map", "import", str(file), "--db", db, "--map-id", "house"]) == 0
    assert capsys.readouterr().out == "known already: 3 x 1 cells of 0.05 m\n"
    assert main(["map", "list", "--db", db]) == 0
    assert "house   map           3       1        0.05  x: -1.0, y: -2.0, yaw: 0.0" in capsys.readouterr().out
    new = tmp_path / "new.yaml"
    assert main(["map", "export", str(new), "--db", db, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": [str(new), str(tmp_path / "new.pgm")]}
    assert (tmp_path / "new.pgm").read_bytes() == b"P5\n3 1\n255\n" + bytes([0, 205, 254])
    assert main(["map", "import", str(new), "--db", str(tmp_path / "other.db")]) == 0
    with RobotMemory(tmp_path / "other.db", embedding_model="") as memory:
        grid = memory.maps.grid("")
    assert grid is not None
    assert (grid.array().tolist(), grid.origin) == ([[100, -1, 0]], (-1, -2, 0))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["map", "import", "none.yaml"], "FILE.yaml: 'none.yaml' cannot be read"),
        (["map", "export", "new.yaml", "--map-id", "garden"], "there is no map of 'garden' in"),
    ],
)
def test_what_cannot_be_done_is_said(
    db: Path, arguments: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--db", str(db)]) == 1
    assert wanted in capsys.readouterr().err


def test_the_path_is_summed_up_and_listed(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "--db", str(db)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "1199.0 m in 1,200 points and 1 segments, from 2023-11-14 22:13:20 UTC to 2023-11-14 22:33:19"
    )
    assert told.endswith("last at x 1199.00 m, y 0.00 m, yaw 29 degrees\n")
    assert main(["path", "--db", str(db), "--json", "--n", "2", "--map-id", "house"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [(point["x"], point["session_id"]) for point in points] == [(0.0, "s1"), (1199.0, "s1")]
    assert main(["path", "--db", str(db), "--after", "2024-01-01"]) == 0
    assert capsys.readouterr().out == "no path\n"


def test_where_to_stand_is_listed(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RobotMemory(db, embedding_model="", map_id="") as memory:
        cells = bytes(40 * 40)
        memory.maps.save(
            OccupancyGrid(frame_id="map", resolution=0.1, origin=Origin(0, 0), width=40, height=40, cells=cells)
        )
        mug = memory.save_perception("a mug", label="mug", pose=(2, 2, 0.8)).memory_id
    assert main(["approach", str(mug), "--db", str(db), "--n", "1", "--distance", "1.0"]) == 0
    assert capsys.readouterr().out.split() == ["x", "y", "yaw", "in", "degrees", "1.00", "2.00", "0"]
    assert main(["approach", str(mug), "--db", str(db), "--distance", "3.0", "--json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["reason"]
        == "no place is free for 0.3 m around at 3 m; at 2.25 m there is one"
    )


def test_an_export_carries_maps_and_the_path(db: Path, tmp_path: Path) -> None:
    lines, new = tmp_path / "memories.jsonl", tmp_path / "new.db"
    for _ in range(2):
        lines.unlink(missing_ok=True)
        assert main(["export", str(lines), "--db", str(db)]) == 0
        assert main(["import", str(lines), "--db", str(new)]) == 0
    with (
        RobotMemory(db, embedding_model="", read_only=True) as old,
        RobotMemory(new, embedding_model="", read_only=True) as copy,
    ):
        assert copy.maps.grid("house") == old.maps.grid("house")
        assert copy.maps.path() == old.maps.path()
        assert len(copy.maps.path()) == 1200
    with RobotMemory(new, embedding_model="") as memory:
        purged = memory.purge(collection="lab")
    assert (purged.path_points, purged.maps) == (1200, 1)


@pytest.mark.parametrize("part", ["cells", "width", "frame_id", "points", "yaw"])
def test_a_line_that_was_changed_is_refused(
    db: Path, tmp_path: Path, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "memories.jsonl"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    lines.write_text(lines.read_text().replace(f'"{part}"', '"other"'))
    assert main(["import", str(lines), "--db", str(tmp_path / "new.db")]) == 1
    assert "was not written by `robotmem export`" in capsys.readouterr().err


def test_a_map_that_claims_more_than_it_holds_is_not_unpacked(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "memories.jsonl"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    text = lines.read_text()
    for width, wanted in ((1, "cells: 2 cells are given"), (10**10, "at most 100,000,000 are kept")):
        lines.write_text(text.replace('"width": 2', f'"width": {width}'))
        assert main(["import", str(lines), "--db", str(tmp_path / "new.db")]) == 1
        assert wanted in capsys.readouterr().err
