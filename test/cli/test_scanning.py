"""Commands that list memories in brief and show some in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory

Out = pytest.CaptureFixture[str]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception(
            "a red mug on the table", label="mug", pose=[1, 2, 3], data=b"\1\2", metadata={"format": "raw"},
            observed_at=928_500_000_000,
        )  # fmt: skip
        memory.learn("grasp mugs by the handle", tags=["mug"], category="grasp", observed_at=4 * 10**18)
        memory.forget(memory.learn("mugs can fly", observed_at=3 * 10**18).memory_id, "a mistake")
    return path


def test_the_timeline_is_a_table(db: Path, capsys: Out) -> None:
    assert main(["timeline", "--db", str(db)]) == 0
    head, newest, oldest = capsys.readouterr().out.splitlines()
    assert head.split() == ["observed_at", "id", "kind", "category", "label", "snippet", "tags", "status"]
    assert " ".join(newest.split()[3:]) == "2 fact grasp grasp mugs by the handle mug active"
    assert oldest.strip().startswith("928.500 s")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["timeline", "--min-confidence", "much"], "argument --min-confidence: 'much' is no number, such as 0.5"),
        (["get", "one"], "argument ID: 'one' is no whole number, such as 5"),
        (["recall", "mug", "--ids", "1.5"], "argument --ids: '1.5' is no whole number, such as 5"),
    ],
)
def test_options_that_are_no_numbers_are_told_with_an_example(arguments: list[str], problem: str, capsys: Out) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert problem in capsys.readouterr().err


def test_the_timeline_goes_on_where_its_cursor_stands(db: Path, capsys: Out) -> None:
    arguments = ["timeline", "--db", str(db), "--n", "1", "--include-forgotten", "--oldest-first", "--json"]
    ids, cursor = [], ""
    for _ in range(3):
        assert main([*arguments, "--cursor", cursor]) == 0
        page = json.loads(capsys.readouterr().out)
        ids += [one["id"] for one in page["entries"]]
        cursor = page["cursor"]
    assert (ids, cursor) == ([1, 3, 2], "")
    assert main(["timeline", "--db", str(db), "--n", "1"]) == 0
    assert "\ncursor: " in capsys.readouterr().out


def test_an_empty_timeline_names_the_collections(db: Path, capsys: Out) -> None:
    assert main(["timeline", "--db", str(db), "--collection", "nowhere"]) == 0
    told = capsys.readouterr()
    assert told.out == "no entries\nreason: there is no memory in the collection 'nowhere'\n"
    assert told.err == "robotmem: there are the collections 'default' (2)\n"


def test_a_wrong_cursor_is_named(db: Path, capsys: Out) -> None:
    assert main(["timeline", "--db", str(db), "--cursor", "x"]) == 1
    assert capsys.readouterr().err.startswith("robotmem: cursor: 'x' is no cursor of a timeline")


def test_memories_are_shown_in_full(db: Path, capsys: Out) -> None:
    assert main(["get", "1", "3", "9", "--db", str(db)]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("id: 1\nkind: perception\ncontent: a red mug on the table\nobserved at: 928.500 s\n")
    assert '\ndata: {"bytes": 2, "data_format": "raw", "metadata": {"format": "raw"}}\n' in told.out
    assert "\n    928.500 s  (1.00, 2.00, 3.00)        0.90  mug " in told.out
    assert told.err.startswith("robotmem: not found: memory 3 is invalidated (")
    assert told.err.endswith("; include_forgotten reads it; memory 9 is unknown: no memory had this id\n")
    assert main(["get", "3", "--db", str(db), "--include-forgotten", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["memories"]
    assert (found["content"], found["status"], found["status_reason"]) == (
        "mugs can fly", "invalidated", "a mistake",
    )  # fmt: skip
    assert found["history"][0]["change"] == "forget"


def test_values_are_listed_with_their_counts(db: Path, capsys: Out) -> None:
    assert main(["list", "categories", "--db", str(db)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["value", "memories"], ["grasp", "1"]]
    assert main(["list", "labels", "--db", str(db), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"labels": [{"value": "mug", "memories": 1}]}
    assert main(["list", "sessions", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "no sessions\n"


def test_a_brief_recall_marks_what_matched(db: Path, capsys: Out) -> None:
    assert main(["recall", "red mug", "--db", str(db), "--no-model", "--brief", "--n", "1"]) == 0
    first, _ = capsys.readouterr().out.splitlines()
    assert first == "1.00  a **red** **mug** on the table at (1.00, 2.00, 3.00) in map  [928.500 s, id 1]"
    assert main(["recall", "red mug", "--db", str(db), "--no-model", "--brief", "--n", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["memories"]
    assert found["snippet"] == "a **red** **mug** on the table"
    assert "content" not in found


def test_a_text_cannot_command_the_terminal(db: Path, capsys: Out) -> None:
    orders = "a jar \x1b]0;title\x07\x1b[2J\x9b31m on\ttwo\nlines\r"
    with RobotMemory(db, embedding_model="") as memory:
        number = memory.save_perception(orders, label="jar", pose=[1, 2, 3]).memory_id
    options = ["--db", str(db)]
    commands: list[list[str]] = [
        ["timeline"],
        ["get", str(number)],
        ["recall", "jar", "--no-model"],
        ["list", "labels"],
    ]
    commands += [[*command, "--json"] for command in commands]
    commands += [
        ["call", "digest", '{"task": "jar"}', "--no-model"],
        ["call", "recall", '{"query": "jar"}', "--no-model"],
    ]
    for command in commands:
        assert main([*command, *options]) == 0
        told = capsys.readouterr().out
        assert all(one.isprintable() or one in "\n\t" for one in told), command
        if command == ["get", str(number), "--json"]:
            assert json.loads(told)["memories"][0]["content"].strip() == orders.strip()  # no less is told
