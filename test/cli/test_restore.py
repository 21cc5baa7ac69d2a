"""An import brings back all that was exported, however often it is interrupted and repeated."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING

from ..support.clock import Clock
from ..support.sightings import see, sighting


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the clock of every memory: one that is imported after midnight has lived another day than its source."""
    defaults = RobotMemory.__init__.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "clock", Clock())


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with RobotMemory(path, embedding_model="") as memory:
        session = memory.start_session({"task": "tidy up"}).session_id
        for second in range(6):
            see(memory, sighting(1.0, t=100.0 + 10 * second, label="mug"))
        for arm in ("left", "right", "both"):
            memory.learn("hold the glass with 5 N", {arm: True}, session)
        for number in range(600):
            memory.save_perception(f"scene {number}", session_id=session)
        memory.update(memory.learn("the lab is open").memory_id, "the lab is closed")
        memory.recall("glass")
        memory.end_session(session, 0.9)
        memory.forget(memory.learn("mugs can fly").memory_id, "a mistake")
    return path


def content(path: Path) -> dict[str, object]:
    """Return all units of a file by UUID, without what means something in this file alone."""
    units: dict[str, object] = {}
    cursor = BEGINNING
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        while batch := memory.changes_since(cursor, 10**6):
            units |= {row["uuid"]: {name: row[name] for name in row if name != "id"} for row in batch.rows}
            cursor = batch.cursor
    return units


def imported(lines: Path, db: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Import a file, and return what is printed."""
    assert main(["import", str(lines), "--db", str(db)]) == 0
    return capsys.readouterr().out


def test_a_restored_memory_is_the_one_that_was_exported(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, new = tmp_path / "memory.jsonl.gz", tmp_path / "new.db"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    assert capsys.readouterr().out == "exported: 604 memories\n"
    assert imported(lines, new, capsys) == "imported: 604 memories\n"
    assert content(new) == content(db)
    assert imported(lines, new, capsys) == "imported: 0 memories, 604 were there before\n"
    assert imported(lines, db, capsys) == "imported: 0 memories, 604 were there before\n"
    with RobotMemory(new, embedding_model="", read_only=True) as memory:
        (mug,) = memory.recall("mug")
        assert (mug.memory.times_seen, mug.memory.confirmed, len(memory.object_history(mug.id))) == (6, True, 6)
        assert memory.explain(memory.recall("glass")[0].id).times_learned == 3
        (session,) = memory.sessions.latest()
        assert session.outcome == 0.9


def test_what_was_purged_does_not_come_back(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "memory.jsonl"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    with RobotMemory(db, embedding_model="") as memory:
        memory.purge(ids=[memory.recall("mug")[0].id])
    capsys.readouterr()
    assert imported(lines, db, capsys) == "imported: 0 memories, 603 were there before, 1 stay deleted\n"


@pytest.mark.parametrize("is_compressed", [False, True])
def test_an_import_that_was_cut_off_says_so_and_is_completed_by_another(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_compressed: bool
) -> None:
    lines, part, new = tmp_path / "memory.jsonl", tmp_path / "part.jsonl", tmp_path / "new.db"
    assert main(["export", str(lines), "--db", str(db)]) == 0
    whole = lines.read_text().splitlines(keepends=True)
    for number in (1, 2, len(whole) // 2, len(whole) - 1):
        text = "".join(whole[:number]).encode()
        part.write_bytes(gzip.compress(text)[:-9] if is_compressed else text)
        assert main(["import", str(part), "--db", str(new)]) == 1
        told = capsys.readouterr().err
        assert (
            "cannot be read (Compressed file ended" in told if is_compressed else "is cut off; what came before" in told
        )
    imported(lines, new, capsys)
    assert content(new) == content(db)


def test_what_retention_took_can_be_imported_elsewhere(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken, new = tmp_path / "taken.jsonl", tmp_path / "new.db"
    before = content(db)
    with RobotMemory(db, embedding_model="", retention_export=str(taken), max_memories=3) as memory:
        memory.retain()
    left = content(db)
    assert imported(taken, new, capsys) == "imported: 601 memories\n"
    memories = {uuid for uuid in before if uuid not in left}
    assert {uuid: before[uuid] for uuid in memories} == content(new)
