"""`robotmem update`, `purge` and `restore`, and `history` after them."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory

SECOND = 10**9
YEAR_2023 = 1_700_000_000 * SECOND


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Three memories: of a simulation, of the year 2023 in a session, and forgotten."""
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red mug\non the table", observed_at=928_500_000_000)
        memory.learn("grasp mugs by the handle", session_id="s1", observed_at=YEAR_2023)
        memory.learn("红色的杯子", collection="lab", observed_at=YEAR_2023)
        memory.forget(memory.learn("mugs can fly", observed_at=YEAR_2023).memory_id, "a mistake")
    return path


class Terminal(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


def memories(db: Path) -> list[int]:
    """Return the ids of all memories in a file."""
    with sqlite3.connect(db) as connection:
        found = [memory_id for (memory_id,) in connection.execute("SELECT id FROM memories ORDER BY id")]
    connection.close()
    return found


def test_purge_shows_what_goes_and_deletes_after_a_yes(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert main(["purge", "--db", str(db), "--id", "1", "2", "4"]) == 0
    written = capsys.readouterr()
    assert written.err == "Delete 3 memories for good? Type yes to go on: "
    lines = written.out.splitlines()
    assert lines[:7] == [
        "collection  kind        memories  first observed           last observed",
        "default     fact               2  2023-11-14 22:13:20 UTC  2023-11-14 22:13:20 UTC",
        "default     perception         1  928.500 s                928.500 s",
        "",
        "id  content",
        "1   a red mug on the table",
        "2   grasp mugs by the handle",
    ]
    assert lines[-1].startswith("deleted: 3 memories, 0 sightings, 0 sessions, 0 repetitions; the file had ")
    assert memories(db) == [3]
    assert b"handle" not in db.read_bytes()


@pytest.mark.parametrize("answer", ["no\n", "y\n", "\n", ""])
def test_without_a_yes_nothing_is_deleted(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main(["purge", "--db", str(db), "--collection", "default"]) == 1
    assert capsys.readouterr().err.endswith("robotmem: nothing was deleted\n")
    assert memories(db) == [1, 2, 3, 4]


def test_purge_without_a_terminal_requires_the_option_yes(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(["purge", "--db", str(db), "--id", "1"]) == 1
    assert capsys.readouterr().err == "robotmem: this cannot be undone and there is no terminal to ask at; give --yes\n"
    assert main(["purge", "--db", str(db), "--id", "1", "--yes"]) == 0
    assert memories(db) == [2, 3, 4]


@pytest.mark.parametrize("pose", [["-1", "2", "3"], ["-1,2,3"], ["[-1, 2, 3]"], ["-1,", "2,", "3"]])
def test_a_pose_is_given_as_its_numbers(db: Path, pose: list[str]) -> None:
    assert main(["update", "1", "--pose", *pose, "--db", str(db)]) == 0
    with RobotMemory(db, embedding_model="") as memory:
        (seen,) = memory.recall(kinds=["perception"], min_confidence=0.0)
    assert tuple(seen.memory.pose or ())[:3] == (-1.0, 2.0, 3.0)


def test_what_is_no_pose_is_refused_with_what_is(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", "1", "--pose", "1", "2", "x", "--db", str(db)]) == 1
    assert (
        capsys.readouterr().err
        == "robotmem: pose: '1 2 x' must be 3 numbers (x, y, z), 4 (and a yaw in radians) or 7 (and qx, qy, qz, qw)\n"
    )


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        (["--session", "s1"], [1, 3, 4]),
        (["--collection", "lab"], [1, 2, 4]),
        (["--older-than", "30"], []),
        (["--older-than", "30", "--collection", "lab"], [1, 2, 4]),
        (["--before", "2001-01-01"], [2, 3, 4]),
        (["--before", "2023-11-14T23:13:20+01:00"], [2, 3, 4]),
        (["--before", "2023-11-14T22:13:21"], []),
        (["--session", "none"], [1, 2, 3, 4]),
    ],
)
def test_purge_takes_what_is_chosen_and_writes_json(
    db: Path, capsys: pytest.CaptureFixture[str], choice: list[str], left: list[int]
) -> None:
    assert main(["purge", "--db", str(db), *choice, "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memories"] == 4 - len(left)
    assert memories(db) == left


def test_a_dry_run_of_purge_lists_memories_and_deletes_none(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["purge", "--db", str(db), "--collection", "lab", "--dry-run", "--json"]) == 0
    share = {
        "collection": "lab", "kind": "fact", "memories": 1, "first_observed": YEAR_2023, "last_observed": YEAR_2023,
    }  # fmt: skip
    assert json.loads(capsys.readouterr().out) == {
        "memories": 1, "sightings": 0, "sessions": 0, "shares": [share],
        "examples": [{"id": 3, "content": "红色的杯子"}], "repetitions": 0, "path_points": 0, "maps": 0,
    }  # fmt: skip
    assert main(["purge", "--db", str(db), "--session", "none", "--dry-run"]) == 0
    assert capsys.readouterr().out == "no memories\n\n0 sightings, 0 sessions, 0 repetitions\n"
    assert memories(db) == [1, 2, 3, 4]


def test_finish_says_whether_there_was_anything_left(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["purge", "--db", str(db), "--finish"]) == 0
    assert capsys.readouterr().out == "there are no traces\n"
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO settings VALUES ('last_purge', '[0, \"1\", true]')")
    connection.close()
    assert main(["purge", "--db", str(db), "--finish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"finished": True}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "robotmem: nothing is chosen; give --id, --session, --collection, --older-than or --before\n"),
        (["--id", "9"], "robotmem: memory_id: 9 cannot be used, there is no such memory\n"),
        (["--collection", ""], "robotmem: collection: '' is empty; leave it out for any\n"),
    ],
)
def test_an_invalid_selection_for_purge_is_reported(
    db: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert main(["purge", "--db", str(db), "--yes", *arguments]) == 1
    assert capsys.readouterr().err == error
    assert memories(db) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--older-than", "-1"], "'-1' is no number from 0 to 100,000"),
        (["--older-than", "nan"], "'nan' is no number from 0 to 100,000"),
        (["--before", "soon"], "time: 'soon' is no time; write ISO 8601 (2026-01-31T12:00"),
        (["--before", "2026-01-01", "--older-than", "1"], "not allowed with argument"),
    ],
)
def test_invalid_times_are_refused(
    db: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    with pytest.raises(SystemExit):
        main(["purge", "--db", str(db), "--yes", *arguments])
    assert error in capsys.readouterr().err
    assert memories(db) == [1, 2, 3, 4]


def test_restore_brings_back_and_history_tells(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "--db", str(db), "4"]) == 0
    assert capsys.readouterr().out == "restored: 4\n"
    assert main(["restore", "--db", str(db), "4"]) == 1
    assert "it is active; there is nothing to restore" in capsys.readouterr().err
    assert main(["history", "--db", str(db), "4"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["changed_at", "change", "reason", "before"]
    assert [line.split()[1:] for line in lines] == [
        ["restore", "a", "mistake", "status:", "invalidated"],
        ["forget", "a", "mistake"],
    ]
    assert main(["history", "--db", str(db), "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [change["change"] for change in told["changes"]] == ["restore", "forget"]
    assert main(["history", "--db", str(db), "1"]) == 0
    assert capsys.readouterr().out == "never changed\n"


def test_restore_writes_json(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "--db", str(db), "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"restored": [4]}


@pytest.mark.parametrize("command", [["restore", "9"], ["history", "9"]])
def test_an_unknown_id_is_reported(db: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main([*command, "--db", str(db)]) == 1
    assert capsys.readouterr().err == "robotmem: memory_id: 9 cannot be used, there is no such memory\n"


def test_update_sets_empties_and_moves_what_its_options_name(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--label", "mug", "--add-tags", "red", "hot", "--pose", "-1", "2", "3", "--decay-rate", "0.5"]
    assert main(["update", "1", "--db", str(db), *options]) == 0
    assert main(["update", "1", "--db", str(db), "--clear", "decay-rate", "label", "--remove-tags", "hot"]) == 0
    assert capsys.readouterr().out == "updated: 1\nupdated: 1\n"
    with RobotMemory(db, embedding_model="") as memory:
        (seen,) = memory.recall(kinds=["perception"], min_confidence=0.0)
    assert (seen.memory.label, seen.memory.tags, seen.memory.pose and seen.memory.pose[:3]) == (
        "",
        ("red",),
        (-1.0, 2.0, 3.0),
    )
    assert main(["history", "1", "--db", str(db), "--json"]) == 0
    last, first = (change["before"] for change in json.loads(capsys.readouterr().out)["changes"])
    assert last == {"decay_rate": 0.5, "label": "mug", "tags": ["hot", "red"]}
    assert first == {"decay_rate": None, "label": "", "pose": None, "tags": []}


def test_update_says_what_is_wrong(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", "1", "--db", str(db)]) == 1
    assert main(["update", "2", "--db", str(db), "--label", "mug"]) == 1
    assert main(["update", "1", "--db", str(db), "--label", "mug", "--clear", "label"]) == 1
    nothing, fact, both = capsys.readouterr().err.splitlines()
    assert "memory_id: 1 gets no correction" in nothing
    assert "label: 'mug' is for perceptions only, and memory 2 is a fact" in fact
    assert "label: 'mug' is given, and `clear` names label" in both
