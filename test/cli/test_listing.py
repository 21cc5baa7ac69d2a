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
        ("get 1 2", "memories"),
        ("tag list", "tags"),
        ("map list", "maps"),
    ],
)
def test_comma_separated_values_are_those_of_json(db: Path, capsys: Out, line: str, name: str) -> None:
    code = main([*line.split(), "--json", "--db", str(db)])
    records = json.loads(capsys.readouterr().out)[name]
    assert records
    assert main([*line.split(), "--csv", "--db", str(db)]) == code
    rows = read(capsys)
    assert [list(row) for row in rows] == [list(record) for record in records]
    for row, record in zip(rows, records, strict=True):
        for column, value in record.items():
            assert row[column] == (
                "" if value is None else value if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)
            )  # fmt: skip


def test_findings_of_the_doctor_are_listed(db: Path, capsys: Out) -> None:
    code = main(["doctor", "--no-model", "--csv", "--columns", "name", "--db", str(db)])
    names = [row["name"] for row in read(capsys)]
    assert main(["doctor", "--no-model", "--json", "--db", str(db)]) == code
    assert names == [finding["name"] for finding in json.loads(capsys.readouterr().out)["findings"]]


def test_without_rows_there_is_no_line(tmp_path: Path, capsys: Out) -> None:
    RobotMemory(tmp_path / "empty.db", embedding_model="").close()
    assert main(["sessions", "--csv", "--db", str(tmp_path / "empty.db")]) == 0
    assert capsys.readouterr().out == ""


def test_columns_are_chosen_by_name(db: Path, capsys: Out) -> None:
    assert main(["timeline", "--columns", "id, label", "--csv", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "id,label\n2,\n1,mug\n"
    assert main(["timeline", "--columns", "id,label", "--db", str(db)]) == 0
    assert capsys.readouterr().out.splitlines() == ["id  label", " 2", " 1  mug"]
    assert main(["timeline", "--columns", "label", "--json", "--db", str(db)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "entries": [{"label": ""}, {"label": "mug"}],
        "cursor": "",
        "reason": "",
    }
    assert main(["timeline", "--columns", "id", "--csv", "--label", "nothing", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "id\n"


def test_a_column_is_a_path_into_the_context_with_any_key(tmp_path: Path, capsys: Out) -> None:
    context = {"params": {"controller.max_speed": 0.5, "a,b": [1]}, "": True}
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn("one", context)
        memory.learn("two")
    columns = 'id,context.params."controller.max_speed", context.params."a,b",context.""'
    line = ["recall", "--kinds", "fact", "--no-model", "--db", str(tmp_path / "memory.db"), "--columns", columns]
    assert main([*line, "--csv"]) == 0
    rows = [[*row.values()] for row in read(capsys)]
    assert rows == [["2", "", "", ""], ["1", "0.5", "[1]", "True"]]
    assert main([*line, "--json"]) == 0
    memories = json.loads(capsys.readouterr().out)["memories"]
    assert [*memories[1].values()] == [1, 0.5, [1], True]


@pytest.mark.parametrize(
    ("names", "error"),
    [
        ("id,lable", "'lable' is no column; did you mean 'label'?; there are id, "),
        (",", "',' is no column; there are id, "),
        ("", "'' is no column; there are id, "),
    ],
)
def test_an_unknown_column_is_named_with_those_there_are(db: Path, capsys: Out, names: str, error: str) -> None:
    assert main(["timeline", "--columns", names, "--db", str(db)]) == 1
    assert capsys.readouterr().err.startswith(f"robotmem: --columns: {error}")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("recall mug --n -1", " recall: argument --n: '-1' is no whole number from 1 to 100"),
        ("recall mug --n 0", " recall: argument --n: '0' is no whole number from 1 to 100"),
        ("timeline --n x", " timeline: argument --n: 'x' is no whole number from 1 to 1,000"),
        ("sessions --n 1.5", " sessions: argument --n: '1.5' is no whole number from 1 to 1,000,000"),
        ("list tags --n -1", " list: argument --n: '-1' is no whole number from 1 to 10,000"),
        ("recalls --n -1", " recalls: argument --n: '-1' is no whole number from 1 to 1,000"),
        ("path --n -3", " path: argument --n: '-3' is no whole number from 1 to 100,000"),
        ("timeline --lables mug", " timeline: '--lables mug' is not understood; did you mean '--labels'?"),
        ("map import a.yaml --frme map", " map import: '--frme map' is not understood; did you mean '--frame'?"),
        ("map import", " map import: the following arguments are required: FILE.yaml"),
        ("tag rename fridge", " tag rename: the following arguments are required: NEW_TAG"),
        ("model list --folder x", " model list: '--folder x' is not understood"),
        ("recal mug", ": 'recal' is no command; did you mean 'recall'?; a command comes first, then its options"),
        ("--db a.db status", ": 'a.db' is no command; a command comes first, then its options"),
    ],
)
def test_wrong_arguments_are_told_in_a_line(capsys: Out, line: str, error: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    assert end.value.code == 2
    name = error.partition(":")[0]
    assert capsys.readouterr().err == f"robotmem{error}; see robotmem{name} --help\n"


def test_what_is_not_found_is_an_exit_code(db: Path, capsys: Out) -> None:
    assert main(["get", "1", "--db", str(db)]) == 0
    assert main(["get", "1", "99", "--db", str(db)]) == 1
    assert "id: 1\nkind: perception\n" in (shown := capsys.readouterr()).out
    assert shown.err == "robotmem: not found: memory 99 is unknown: no memory had this id\n"


def test_memories_are_forgotten_and_come_back(db: Path, capsys: Out) -> None:
    assert main(["forget", "2", "--reason", "a mistake", "--db", str(db)]) == 0
    assert main(["forget", "2", "--reason", "a mistake", "--db", str(db)]) == 1
    assert main(["get", "2", "--db", str(db)]) == 1
    assert main(["restore", "2", "--db", str(db)]) == 0
    assert main(["get", "2", "--db", str(db)]) == 0
    assert "forgotten: 2" in capsys.readouterr().out
