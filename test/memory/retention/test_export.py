"""What retention removes can be written out before."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.retention import ExportError

from ...support.forks import output_of
from ..conftest import OpenMemory


def cup(memory: RobotMemory, second: int) -> int:
    """Sees a cup; its id."""
    new = new_perception(
        memory.parameters,
        NewPerception(
            description="a cup",
            label="cup",
            pose=[1, 2, 3],
            data=b"\xff\x00",
            metadata={"camera": 1},
            observed_at=second * 10**9,
        ),
        now=lambda: 1,
    )
    return memory.store_sightings([new]).result()[0].memory_id


def test_every_exported_line_holds_the_whole_memory(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    seen, _ = (cup(memory, second) for second in (1, 3))
    fact = memory.learn("红色的杯子", {"task": {"success": True}}, tags=["b", "a"], observed_at=5 * 10**9).memory_id
    memory.update(fact, "蓝色的杯子")
    kept = memory.learn("grip", category="constraint").memory_id
    path = tmp_path / "new" / "removed.jsonl"
    memory.parameters = memory.parameters.changed(max_memories=1, retention_export=str(path))
    memory.retain()
    assert [one.id for one in memory.recall(n=9, context_filter={"id": {"$exists": True}})] == [kept]
    exported = {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}
    assert set(exported) == {seen, fact}
    line = exported[fact]
    assert (line["content"], line["context"], [*line["tags"]]) == (
        "蓝色的杯子",
        {"task": {"success": True}},
        ["a", "b"],
    )
    assert (line["type"], line["collection"], line["observed_at"]) == ("fact", "default", 5 * 10**9)
    assert [change["before"] for change in line["history"]] == [{"content": "红色的杯子"}]
    line = exported[seen]
    assert (line["label"], line["x"], line["perception_metadata"]) == ("cup", 1.0, {"camera": 1})
    assert base64.b64decode(line["perception_data"]) == b"\xff\x00"
    assert [sighting["observed_at"] for sighting in line["sightings"]] == [10**9, 3 * 10**9]
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_export_appends_lines(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "removed.jsonl"
    path.write_text('{"id": 0}\n')
    memory = open_memory(retention_export=str(path))
    for number in range(3):
        memory.learn(f"mug {number}", observed_at=number)
    memory.parameters = memory.parameters.changed(max_memories=1)
    memory.retain()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [0, 1, 2]


@pytest.mark.parametrize("path", ["/proc/none/removed.jsonl", "{folder}"])
def test_a_memory_that_cannot_be_exported_is_not_deleted(open_memory: OpenMemory, tmp_path: Path, path: str) -> None:
    memory = open_memory()
    for number in range(3):
        memory.learn(f"mug {number}")
    export = path.format(folder=tmp_path)
    memory.parameters = memory.parameters.changed(max_memories=1, retention_export=export)
    with pytest.raises(ExportError, match=r"^retention_export: '.*' cannot be written \(.*\); until it can, "):
        memory.retain()
    assert memory.status().memories == 3
    assert memory.retain(dry_run=True).memories == 2


def test_an_export_that_fails_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "removed.jsonl"
    code = """
import resource, sys
from pathlib import Path
from robotmem_ros.memory.retention import ExportError, append
path = Path(sys.argv[1])
append(path, ["first"], database=Path("memory.db"))
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
try:
    append(path, ["second", "third"], database=Path("memory.db"))
except ExportError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
append(path, ["fourth"], database=Path("memory.db"))
"""
    assert "cannot be written (File too large)" in output_of(code, path)
    assert path.read_text() == "first\nfourth\n"


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_the_export_is_never_the_database(open_memory: OpenMemory, suffix: str) -> None:
    memory = open_memory()
    memory.learn("red mug")
    memory.learn("blue mug")
    memory.parameters = memory.parameters.changed(max_memories=1, retention_export=f"{memory.path}{suffix}")
    with pytest.raises(ExportError, match="it is the database"):
        memory.retain()
    assert memory.status().memories == 2
