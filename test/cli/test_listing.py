"""What a command lists, as CSV and by columns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.maps import OccupancyGrid, Origin

Out = pytest.CaptureFixture[str]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        session = memory.start_session({"task": "find, 找"}).session_id
        memory.save_perception('a "red" mug,\non the table', label="mug", pose=[1, 2, 3], session_id=session)
        memory.update(memory.learn("mugs can fly", tags=["mug"]).memory_id, content="mugs cannot fly")
        memory.maps.save(
            OccupancyGrid(frame_id="map", resolution=0.05, origin=Origin(0, 0), width=1, height=1, cells=b"0")
        )
    return path


def read(out: Out) -> list[dict[str, str]]:
    """Return the lines of the CSV that was printed."""
    return list(csv.DictReader(io.StringIO(out.readouterr().out)))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("recall mug --no-model", "memories"),
        ("timeline", "entries"),
        ("sessions", "sessions"),
        ("history 2", "changes"),
        ("list tags", "tags"),
        ("map list", "maps"),
    ],
)
def test_comma_separated_values_are_those_of_json(db: Path, capsys: Out, line: str, name: str) -> None:
    assert main([*line.split(), "--json", "--db", str(db)]) == 0
    records = json.loads(capsys.readouterr().out)[name]
    assert records
    assert main([*line.split(), "--csv", "--db", str(db)]) == 0
    rows = read(capsys)
    assert [list(row) for row in rows] == [list(record) for record in records]
    for row, record in zip(rows, records, strict=True):
        for column, value in record.items():
            assert row[column] == (
                "" if value is None else value if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)
            )  # fmt: skip


def test_columns_are_chosen_by_name(db: Path, capsys: Out) -> None:
    assert main(["timeline", "--columns", "id, label", "--csv", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "id,label\n2,\n1,mug\n"
    assert main(["timeline", "--columns", "id,label", "--db", str(db)]) == 0
    assert capsys.readouterr().out.splitlines() == ["id  label", " 2", " 1  mug"]
    assert main(["timeline", "--columns", "label", "--json", "--db", str(db)]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": [{"label": ""}, {"label": "mug"}], "cursor": ""}
    assert main(["timeline", "--columns", "id", "--csv", "--label", "nothing", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "id\n"


@pytest.mark.parametrize("names", ["id,lable", ",", ""])
def test_an_unknown_column_is_named_with_those_there_are(db: Path, capsys: Out, names: str) -> None:
    assert main(["timeline", "--columns", names, "--db", str(db)]) == 1
    assert capsys.readouterr().err.startswith(f"robotmem: --columns: {names!r} names no column of these: id, ")


def test_what_is_not_found_is_an_exit_code(db: Path, capsys: Out) -> None:
    assert main(["get", "1", "--db", str(db)]) == 0
    assert main(["get", "1", "99", "--db", str(db)]) == 1
    assert "memory 1, perception" in (shown := capsys.readouterr().out)
    assert "(not found: 99)" in shown


def test_memories_are_forgotten_and_come_back(db: Path, capsys: Out) -> None:
    assert main(["forget", "2", "--reason", "a mistake", "--db", str(db)]) == 0
    assert main(["forget", "2", "--reason", "a mistake", "--db", str(db)]) == 1
    assert main(["get", "2", "--db", str(db)]) == 1
    assert main(["restore", "2", "--db", str(db)]) == 0
    assert main(["get", "2", "--db", str(db)]) == 0
    assert "forgotten: 2" in capsys.readouterr().out
