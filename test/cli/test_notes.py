"""Commands that read notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import open_memory


@pytest.fixture
def db(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "safety.md").write_text("# Safety\n\n## Doors\n\nWait before glass doors.\n")
    (folder / "binary.txt").write_bytes(b"\0")
    with open_memory(tmp_path / "memory.db", embedding_model="", notes_folders=[f"site={folder}"]) as memory:
        memory.flush()
    return tmp_path / "memory.db"


def test_note_prints_lines(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["note", "handbook/safety.md", "--from", "3", "--lines", "3", "--db", str(db)]) == 0
    assert capsys.readouterr().out == "## Doors\n\nWait before glass doors.\n"
    assert main(["note", "handbook/safety.md", "--from", "5", "--json", "--db", str(db)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": "handbook/safety.md", "first_line": 5, "last_line": 5, "lines": 5, "text": "Wait before glass doors.",
    }  # fmt: skip


def test_note_prints_nothing_outside_of_the_folders(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("/etc/passwd", "handbook/../memory.db", "handbook/binary.txt"):
        assert main(["note", path, "--db", str(db)]) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith(f"robotmem: path: '{path}' ")


def test_notes_lists_the_folders_and_what_is_not_read(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notes", "--db", str(db)]) == 0
    _, head, folder, _, _, unread, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["name", "path", "collection"]
    assert folder.split()[:3] == ["handbook", str(db.parent / "handbook"), "site"]
    assert unread.split()[0] == "handbook/binary.txt"
    assert "is no text (it contains a zero byte)" in unread
    assert main(["notes", "--json", "--db", str(db)]) == 0
    assert [one["path"] for one in json.loads(capsys.readouterr().out)["files"]] == [
        "handbook/binary.txt", "handbook/safety.md",
    ]  # fmt: skip


def test_recall_cites_a_note_with_its_lines(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--kinds", "notes", "--collection", "site", "--no-model", "--db", str(db)]
    assert main(["recall", "glass doors", *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "1.00  # Safety ## Doors Wait before glass doors.  [relevance 1.00, handbook/safety.md:1-5, id 1]"
    )


def test_an_unknown_kind_is_an_error_with_the_nearest_one(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "doors", "--kinds", "nots", "--no-model", "--db", str(db)]) == 1
    why = "kinds: 'nots' is unknown; use one of fact, perception, note; did you mean 'notes'?"
    assert capsys.readouterr().err == f"robotmem: {why}\n"
