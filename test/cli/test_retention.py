"""`robotmem retention`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Twelve memories, one of them a constraint."""
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("never lift it by the lid", category="constraint", confidence=0.9, observed_at=1)
        for number in range(11):
            collection = "lab" if number % 2 else "default"
            memory.learn(f"mug {number}", confidence=0.9, observed_at=number + 2, collection=collection)
    return path


def memories(db: Path) -> int:
    """Count the memories of a file."""
    with RobotMemory(db, embedding_model="") as memory:
        return memory.status().memories


def test_a_dry_run_shows_what_would_go_and_removes_nothing(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retention", "--db", str(db), "--rows", "9", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "budget  collection  kind  memories  bytes",
        "rows    default     fact         2     14",
        "rows    lab         fact         1      7",
        "would go: 3 memories, 0 sightings",
        "",
        "first:",
        "id  protection  usefulness  collection  content",
        "2            1  0.900       default     mug 0",
        "3            1  0.900       lab         mug 1",
        "4            1  0.900       default     mug 2",
        "",
    ]
    assert memories(db) == 12


def test_budgets_come_from_the_parameter_file_and_from_the_command_line(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "memory.yaml"
    config.write_text("/**:\n  ros__parameters:\n    max_memories: 10\n    retention_budgets: 'lab: 3 rows'\n")
    arguments = ["retention", "--db", str(db), "--config", str(config), "--dry-run", "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(share["collection"], share["memories"]) for share in told["shares"]} == {("lab", 2)}
    assert main([*arguments, "--rows", "9"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(share["collection"], share["memories"]) for share in told["shares"]} == {("lab", 2), ("default", 1)}
    assert told["first"][0] == {"id": 3, "protection": 1, "usefulness": 0.9, "content": "mug 1"}


def test_retention_exports_and_deletes_after_confirmation(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    export = tmp_path / "gone.jsonl"
    arguments = ["retention", "--db", str(db), "--rows", "2", "--export", str(export)]
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(arguments) == 1
    assert capsys.readouterr().err == "robotmem: this cannot be undone and there is no terminal to ask at; give --yes\n"
    assert memories(db) == 12
    assert main([*arguments, "--yes"]) == 0
    assert "went: 10 memories, 0 sightings\n" in capsys.readouterr().out
    assert len(export.read_text().splitlines()) == 10
    assert main(["recall", "--db", str(db), "lid", "--no-model"]) == 0
    assert "never lift it by the lid" in capsys.readouterr().out


def test_retention_asks_nothing_if_nothing_exceeds_the_budget(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retention", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "would go: 0 memories, 0 sightings\n"
    assert main(["retention", "--db", str(db), "--rows", "12", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "memories": 0, "sightings": 0, "path_points": 0, "shares": [], "first": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--rows", "-1"], "max_memories: -1 must lie in 0 to"),
        (["--bytes", "5"], "retention_bytes: 5 must be 0 or at least 1000000"),
        (["--age", "nan"], "retention_age: nan must be a finite number"),
        (["--budgets", "lab"], "retention_budgets: 'lab' must be such as"),
        (["--config", "/no/such.yaml"], "config: '/no/such.yaml' cannot be read"),
        (["--rows", "1", "--export", "/proc/none/x", "--yes"], "retention_export: '/proc/none/x' cannot be written"),
    ],
)
def test_an_invalid_budget_is_reported_and_deletes_nothing(
    db: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert main(["retention", "--db", str(db), *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"robotmem: {error}")
    assert memories(db) == 12
