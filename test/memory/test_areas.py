"""Areas tag what lies in them, and follow their file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters
from robotmem_ros.memory.areas import Area, Areas

from ..support.sightings import see, sighting, the
from .conftest import OpenMemory

TEXT = """
areas:
  lab: [[0, 0], [6, 0], [6, 4], [0, 4]]
  desk: [[1, 1], [2, 1], [2, 2], [1, 2]]
  corner: [[10, 0], [14, 0], [14, 4], [12, 4], [12, 2], [10, 2]]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "areas.yaml"
    path.write_text(TEXT)
    return path


def areas(file: Path, **options: Any) -> Areas:
    """Read a file of areas."""
    parameters = Parameters(areas_file=str(file))
    return Areas(lambda: parameters, **options)


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [(3, 3, "lab"), (1.5, 1.5, "desk"), (11, 3, ""), (11, 1, "corner"), (13, 3, "corner"), (-1, 1, ""), (7, 1, "")],
)
def test_a_point_lies_in_the_smallest_area_around_it(file: Path, x: float, y: float, wanted: str) -> None:
    assert areas(file).at(x, y) == wanted


def test_every_point_of_a_tiled_plane_lies_in_exactly_one_tile() -> None:
    tiles = [Area(f"{i}{j}", ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))) for i in range(3) for j in range(3)]
    points = [(i / 2, j / 2) for i in range(6) for j in range(6)]
    assert all(sum(tile.holds(x, y) for tile in tiles) == 1 for x, y in points)


def test_memories_and_objects_are_tagged_and_the_area_is_a_condition(file: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(areas_file=str(file))
    memory.learn("the valve sticks", {"spatial": {"object_position": [3, 3, 0]}})
    memory.save_perception("a smell", pose=(1.5, 1.5, 0.0))
    memory.save_perception("a noise", pose=(1.5, 1.5, 0.0), context={"spatial": {"area": "shelf"}})
    memory.save_perception("elsewhere", pose=(3.0, 3.0, 0.0), frame_id="odom")
    memory.save_perception("nowhere", context={"spatial": "dark"})
    assert see(memory, sighting(3.0, 3.0, context='{"task":{"name":"patrol"}}')) == [6]
    found = memory.recall(context_filter={"spatial.area": {"$exists": True}}, n=10, include_unconfirmed=True)
    assert {each.id: each.memory.context["spatial"]["area"] for each in found} == {
        1: "lab",
        2: "desk",
        3: "shelf",
        6: "lab",
    }
    assert the(memory, 6).context["task"] == {"name": "patrol"}


def test_an_object_that_moves_gets_the_area_of_its_new_place(file: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(areas_file=str(file), object_window=2, object_radius=2.0)
    told = []
    for t in range(12):
        assert see(memory, sighting(5.0 + t / 4, 1.0, t=t)) == [1]
        told.append(the(memory, 1).context.get("spatial", {}).get("area"))
    assert (told[0], told[-1]) == ("lab", None)
    assert memory.recall(context_filter={"spatial.area": "lab"}).memories == ()


def test_a_changed_file_is_read_again_and_a_broken_one_is_not(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    known = areas(file, clock=lambda: now[0])
    file.write_text("areas: {kitchen: [[0, 0], [6, 0], [6, 4]]}")
    assert known.at(3, 1) == "lab"
    now[0] = 2.0
    assert known.at(3, 1) == "kitchen"
    with caplog.at_level(logging.WARNING):
        for text in ("areas: {kitchen: 5}", None):
            file.write_text(text) if text else file.unlink()
            now[0] += 2.0
            assert (known.at(3, 1), known.at(3, 1)) == ("kitchen", "kitchen")
    assert len(caplog.records) == 2
    assert "areas_file.areas.kitchen: 5 must be a list of at least 3 corners" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("areas: [", "cannot be read"),
        ("lab: [[0, 0], [1, 0], [1, 1]]", "must hold `areas:`"),
        ("", "must hold `areas:`"),
        ("areas: {lab: [[0, 0], [1, 0]]}", "areas.lab: .* at least 3 corners"),
        ("areas: {lab: [[0, 0], [1, 0], [1]]}", r"areas.lab\[2\]: .* must be a corner"),
        ("areas: {lab: [[0, 0], [1, 0], [1, .nan]]}", r"areas.lab\[2\]\[1\]: nan must be a finite number"),
        ("areas: {lab: [[0, 0], [1, 0], [2, 0]]}", "areas.lab: .* has no inside"),
        ("areas: {'': [[0, 0], [1, 0], [1, 1]]}", "is no name"),
        ("areas: {5: [[0, 0], [1, 0], [1, 1]]}", "areas.5: 5 must be text"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_start(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidFieldError, match=f"^areas_file.*{message}"):
        areas(file)


def test_a_file_that_is_not_there_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidFieldError, match=r"areas_file: .* cannot be read"):
        areas(tmp_path / "none.yaml")


def test_a_change_of_the_file_is_known_at_once_if_it_is_told(open_memory: OpenMemory, tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text("areas: {}\n")
    memory = open_memory(areas_file=str(file))
    memory.save_perception("a mug", pose=(1, 1, 0))
    with pytest.raises(InvalidFieldError, match="areas: 'dock' is unknown"):
        memory.recall(areas="dock")
    file.write_text("areas: {dock: [[0, 0], [2, 0], [2, 2], [0, 2]]}\n")
    memory.reload_areas()
    assert [found.memory.content for found in memory.recall(areas="dock")] == ["a mug"]
