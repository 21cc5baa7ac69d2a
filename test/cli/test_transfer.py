"""`robotmem export` and `import`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.cli import export_file
from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage.connection import register_functions


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("hold the glass with 5 N", {"arm": "left"}, "s1", "lab", tags=["glass"], confidence=0.8)
        memory.save_perception("a red mug", label="mug", pose=(1.0, 2.0, 3.0), data=b"\1\2", metadata={"format": "raw"})
        memory.forget(memory.learn("mugs can fly").memory_id, "a mistake")
    return path


def test_active_memories_are_carried_to_another_file(db: Path, tmp_path: Path) -> None:
    lines, new = tmp_path / "memories.jsonl", tmp_path / "new.db"
    before = db.read_bytes()
    assert main(["export", str(lines), "--db", str(db)]) == 0
    assert db.read_bytes() == before
    assert main(["import", str(lines), "--db", str(new)]) == 0
    with RobotMemory(new, embedding_model="") as memory:
        fact = memory.recall("glass", collection="lab")[0]
        assert (fact.memory.content, fact.memory.context["arm"], fact.memory.session_id) == (
            "hold the glass with 5 N",
            "left",
            "s1",
        )
        assert fact.memory.tags == ("glass",)
        assert fact.memory.confidence == pytest.approx(0.8, abs=1e-6)
        mug = memory.recall("mug")[0]
        assert (mug.memory.content, mug.memory.label, mug.memory.pose and mug.memory.pose[:3]) == (
            "a red mug",
            "mug",
            (1.0, 2.0, 3.0),
        )
        data = memory.data(mug.id)
        assert (data.data, data.data_format) == (b"\1\2", "raw")
        assert (memory.status().facts, memory.status().perceptions) == (1, 1)


def test_an_export_overwrites_nothing(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for taken in (db, tmp_path / "taken.jsonl"):
        taken.touch()
        before = taken.read_bytes()
        assert main(["export", str(taken), "--db", str(db)]) == 1
        assert "cannot be written (File exists)" in capsys.readouterr().err
        assert taken.read_bytes() == before


def test_an_export_into_a_pipe_is_the_same_lines(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "memories.jsonl"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    assert main(["export", "-", "--db", str(db)]) == 0
    output = capsys.readouterr()
    assert output.out.partition("\n")[2] == lines.read_text()
    assert output.err == "exported: 3 memories\n"
    assert not Path("-").exists()


@pytest.mark.parametrize("line", ["{", "[]", json.dumps({"type": "fact"})])
def test_a_line_that_is_no_memory_is_named(tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "memories.jsonl"
    lines.write_text(line + "\n")
    assert main(["import", str(lines), "--db", str(tmp_path / "new.db")]) == 1
    assert f"line 1 of {lines}" in capsys.readouterr().err


def test_a_file_that_cannot_be_imported_makes_no_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken").write_text("{\n")
    for name, why in {
        "missing": "cannot be read (No such file or directory)", "folder": "cannot be read (Is a directory)",
        "binary": "is no UTF-8 text", "broken": "was not written by `robotmem export`",
    }.items():  # fmt: skip
        assert main(["import", str(tmp_path / name), "--db", str(tmp_path / "new" / "new.db")]) == 1
        told = capsys.readouterr().err
        assert why in told
        assert name in told
        assert not (tmp_path / "new").exists()


def test_an_export_that_fails_leaves_nothing_behind(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(db) as connection:
        register_functions(connection)
        connection.execute("UPDATE memories SET perception_metadata = '{' WHERE type = 'perception'")
    connection.close()
    lines = tmp_path / "memories.jsonl"
    for _ in range(2):
        assert main(["export", str(lines), "--db", str(db)]) == 1
        assert "File exists" not in capsys.readouterr().err
        assert [one.name for one in tmp_path.iterdir() if not one.name.startswith(db.name)] == []
    missing = tmp_path / "no folder" / "memories.jsonl"
    assert main(["export", str(missing), "--db", str(db)]) == 1
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err
    assert main(["export", str(tmp_path), "--db", str(db)]) == 1
    assert "cannot be written (File exists)" in capsys.readouterr().err


def test_a_hostile_row_is_named_by_line_field_and_value_and_what_came_before_stays(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, new = tmp_path / "memories.jsonl", tmp_path / "new.db"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    head, *rows = lines.read_text().splitlines()
    place = next(number for number, row in enumerate(rows) if '"label": "mug"' in row)
    rows[place] = rows[place].replace('"confidence": 0.9', '"confidence": NaN', 1)
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_text("\n".join([head, *rows]) + "\n")
    capsys.readouterr()
    assert main(["import", str(hostile), "--db", str(new)]) == 1
    told = capsys.readouterr().err
    assert f"line {place + 2} of {hostile}, confidence: nan must be a finite number" in told
    assert "what came before it was imported (0 memories)" in told
    assert not new.exists()
    both = tmp_path / "both.jsonl"
    both.write_text(lines.read_text() + hostile.read_text())
    assert main(["import", str(both), "--db", str(new)]) == 1
    assert "what came before it was imported (3 memories)" in capsys.readouterr().err
    with RobotMemory(new, embedding_model="") as memory:
        assert [hit.memory.label for hit in memory.recall("mug")] == ["mug"]


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"batch": 1, "rows": ' + "[" * 100_000,
        '{"batch": 1, "robot": 5, "rows": 1}',
        '{"unit": "memory", "context": ' + '{"a": ' * 200 + "1" + "}" * 202,
        json.dumps({"type": "path", "points": [{"x": float("nan")}]}),
        json.dumps({"type": "path", "points": 5}),
        "9" * 10_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_line_that_is_nested_too_deeply_or_of_another_shape_is_one_error(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "memories.jsonl"
    lines.write_text(line + "\n")
    assert main(["import", str(lines), "--db", str(tmp_path / "new.db")]) == 1
    told = capsys.readouterr().err
    assert f"line 1 of {lines}" in told
    assert told.count("\n") == 1
    assert len(told) < 1000


def test_a_line_without_an_end_is_read_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(export_file, "_MAX_LINE", 10_000)
    lines = tmp_path / "memories.jsonl"
    lines.write_text('{"end": 0, "epoch": ""}\n' + '{"a": "' + "x" * 20_000)
    assert main(["import", str(lines), "--db", str(tmp_path / "new.db")]) == 1
    assert f"line 2 of {lines}: " in (told := capsys.readouterr().err)
    assert "is longer than 10,000 characters" in told


def test_an_import_of_a_robot_without_a_name_stores_nothing(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = str(tmp_path / "memories.jsonl")
    assert main(["export", lines, "--db", str(db)]) == 0
    assert main(["import", lines, "--robot", "", "--db", str(tmp_path / "new.db")]) == 1
    assert "--robot: '' must be up to 40 small letters" in capsys.readouterr().err
    assert not (tmp_path / "new.db").exists()
