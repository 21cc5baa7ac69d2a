"""The doctor: each thing that can be wrong is broken, seen, and mended where that loses nothing."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import Finding, ReadOnlyError, RobotMemory, Severity
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.doctor import CHECKS, worst
from robotmem_ros.memory.storage.connection import register_functions

from ..support.clock import Clock
from ..support.consistency import check_file
from ..support.subprocesses import output_of
from .conftest import OpenMemory
from .storage.test_disk_full import small_disk

OK, WARN, ERROR = Severity


def seed(memory: RobotMemory) -> None:
    """Store facts, objects, contexts and a withdrawn memory: something for each index."""
    for number in range(20):
        memory.learn(f"hold mug {number} with force {number} N because it slips", {"task": {"name": f"t{number}"}})
        memory.save_perception(
            f"a Red_mug no. {number} 杯子", label="mug", pose=[3 * number, 2, 1],
            context={"spatial": {"target": [number, 1.5]}, "tags": ["x", "y"], "ok": True},
        )  # fmt: skip
    memory.forget(3, "a mistake")
    memory.flush()


@pytest.fixture
def db(open_memory: OpenMemory) -> Path:
    """Return the closed file of a memory."""
    memory = open_memory()
    seed(memory)
    memory.close()
    return memory.path


def findings(memory: RobotMemory, *, fix: bool = False) -> dict[str, Finding]:
    return {finding.name: finding for finding in memory.doctor(fix=fix)}


def severities(memory: RobotMemory) -> dict[str, Severity]:
    """Return what is not ok, but for packages that a machine may lack and its disk."""
    told = {name: finding.severity for name, finding in findings(memory).items() if finding.severity is not OK}
    return {name: severity for name, severity in told.items() if name not in {"versions", "disk"}}


def alter(path: Path, statement: str) -> None:
    """Change a file behind the back of the package; triggers name functions that only the package has."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        register_functions(connection)
        assert connection.execute(statement).rowcount, statement


def test_a_sound_memory_has_an_ok_for_each_check(open_memory: OpenMemory, db: Path) -> None:
    memory = open_memory(db)
    assert [*findings(memory)] == [check.name for check in CHECKS]
    assert severities(memory) == {}
    assert [finding.name for finding in memory.findings] == [check.name for check in CHECKS]
    assert findings(open_memory(":memory:"))["disk"].seen == "nothing is kept on disk"


BROKEN = {
    "vectors": "UPDATE memories_vec SET vector_id = (SELECT max(id) FROM vectors) WHERE memory_id = 5",
    "boxes": "DELETE FROM objects_rtree WHERE id = 6",
    "moved boxes": "UPDATE objects_rtree SET x0 = x0 + 50, x1 = x1 + 50 WHERE id = 6",
    "memories": "UPDATE memories SET content = 'a green plate' WHERE id = 6",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_index_out_of_step_is_seen_and_rebuilt(open_memory: OpenMemory, db: Path, name: str) -> None:
    alter(db, BROKEN[name])
    memory = open_memory(db, read_only=True)
    finding = findings(memory)["indexes"]
    assert (finding.severity, finding.remedy) == (ERROR, "robotmem doctor --fix")
    memory.close()
    memory = open_memory(db)
    mended = findings(memory, fix=True)
    assert (mended["indexes"].severity, mended["vectors"].severity) == (OK, OK)
    if name != "memories":
        assert [hit.memory.content for hit in memory.recall("mug 2 force", kinds="facts", n=1)]
    memory.flush()
    memory.close()
    if name != "memories":
        assert check_file(db) == 40


def test_damaged_pages_are_seen_and_no_check_ends_the_others(open_memory: OpenMemory, db: Path) -> None:
    data = bytearray(db.read_bytes())
    with closing(sqlite3.connect(db)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_vec'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data[(page - 1) * size : (page - 1) * size + 500] = b"x" * 500
    db.write_bytes(bytes(data))
    told = findings(open_memory(db, read_only=True))
    assert [*told] == [check.name for check in CHECKS]
    assert (told["integrity"].severity, told["indexes"].severity, told["clock"].severity) == (ERROR, ERROR, OK)
    assert "robotmem export" in told["integrity"].remedy


def test_a_file_that_others_may_read_is_closed_to_them(open_memory: OpenMemory, db: Path) -> None:
    db.chmod(0o644)
    memory = open_memory(db)
    finding = findings(memory)["permissions"]
    assert (finding.severity, finding.remedy) == (WARN, f"chmod o= '{db}'")
    assert findings(memory, fix=True)["permissions"].severity is OK
    assert db.stat().st_mode & 0o777 == 0o640


FILL = """
import sys
from pathlib import Path
from shutil import disk_usage
from robotmem_ros.memory import RobotMemory
folder = Path(sys.argv[1])
with RobotMemory(folder / "memory.db", embedding_model="") as memory:
    memory.learn("x")
    for size in (0, disk_usage(folder).free - 300_000):
        (folder / "ballast").write_bytes(bytes(size))
        (disk,) = (finding for finding in memory.doctor() if finding.name == "disk")
        print(disk.severity.value, "left to forgetting" in disk.seen, "robotmem retention" in disk.remedy)
"""


def test_a_disk_with_little_room_is_a_warning_and_a_full_one_an_error(tmp_path: Path) -> None:
    told = output_of(FILL, tmp_path, before=small_disk(tmp_path)).splitlines()
    assert told == ["warn False True", "error True True"]


def test_a_missing_model_is_seen(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(embedder=None, embedding_model=str(tmp_path / "nowhere"))
    finding = findings(memory)["model"]
    assert finding.severity is WARN
    assert "nowhere" in finding.seen


def test_memories_that_stay_without_a_vector_are_seen_and_embedded(open_memory: OpenMemory, db: Path) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    memory.learn("no vector yet")
    assert findings(memory)["vectors"].severity is OK, "no model is configured"
    memory.close()
    alter(db, "UPDATE memories SET created_at = '2020-01-01T00:00:00.000000+00:00'")
    memory = open_memory(db, read_only=True)
    finding = findings(memory)["vectors"]
    assert (finding.severity, finding.seen[:22]) == (WARN, "1 active memories have")
    memory.close()
    assert findings(open_memory(db), fix=True)["vectors"].severity is OK


@pytest.mark.parametrize(("query", "share"), [("zeppelin", "100% found nothing"), ("mug", "0% found nothing")])
def test_recalls_that_find_nothing_are_seen(open_memory: OpenMemory, query: str, share: str) -> None:
    memory = open_memory()
    memory.learn("the mug is red")
    for _ in range(20):
        memory.recall(query, min_relevance=0.5)
    memory.flush()
    finding = findings(memory)["recalls"]
    assert finding.severity is (WARN if query == "zeppelin" else OK)
    assert share in finding.seen


def test_slow_recalls_are_seen(open_memory: OpenMemory, db: Path) -> None:
    memory = open_memory(db)
    for _ in range(20):
        memory.recall("mug")
    memory.close()
    alter(db, "UPDATE recalls SET milliseconds = 3000 WHERE id % 2")
    finding = findings(open_memory(db))["latency"]
    assert (finding.severity, "95 % 3000.0" in finding.seen) == (WARN, True)


def test_times_ahead_of_the_clock_are_seen(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = time.time_ns()
    memory.learn("now", observed_at=clock.now)
    assert findings(memory)["clock"].severity is OK
    memory.learn("later", observed_at=clock.now + 2 * 86_400 * 10**9)
    finding = findings(memory)["clock"]
    assert (finding.severity, "1 memories and 0 lived days lie ahead" in finding.seen) == (WARN, True)
    clock.now -= 5 * 86_400 * 10**9
    assert "2 memories and 1 lived days lie ahead" in findings(memory)["clock"].seen


def test_an_unfinished_purge_is_seen_and_finished(open_memory: OpenMemory, db: Path) -> None:
    alter(db, "INSERT INTO settings VALUES ('last_purge', '[0, \"1\", true]')")
    memory = open_memory(db)
    assert findings(memory)["purge"].remedy == "robotmem purge --finish"
    assert findings(memory, fix=True)["purge"].severity is OK


def test_a_log_that_a_reader_holds_back_is_seen_and_emptied_after_it(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.learn("first")
    with closing(sqlite3.connect(memory.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        for number in range(9):
            memory.save_perception(f"image {number}", data=bytes([number]) * 4_000_000)
        finding = findings(memory, fix=True)["size"]
        assert finding.severity is WARN
        assert "end what reads" in finding.remedy
        reader.execute("ROLLBACK")
    assert findings(memory, fix=True)["size"].severity is OK


def test_a_memory_that_is_only_read_is_examined_and_not_mended(open_memory: OpenMemory, db: Path) -> None:
    before = db.read_bytes()
    memory = open_memory(db, read_only=True)
    assert severities(memory) == {}
    with pytest.raises(ReadOnlyError):
        memory.doctor(fix=True)
    memory.close()
    assert db.read_bytes() == before


def test_the_worst_finding_counts() -> None:
    assert worst(()) is OK
    assert worst(Finding("x", severity, "") for severity in (OK, ERROR, WARN)) is ERROR
    assert worst(Finding("x", severity, "") for severity in (OK, WARN)) is WARN


UNREADABLE = (
    "UPDATE objects SET vxx = -1 WHERE memory_id = (SELECT min(memory_id) FROM objects)",
    "UPDATE objects SET times_seen = 'many' WHERE memory_id = (SELECT max(memory_id) FROM objects)",
    "UPDATE memories SET created_at = '' WHERE id = 1",
    "UPDATE memories SET context = '{' WHERE id = 5",
    "UPDATE memories SET access_count = 1, last_accessed = NULL WHERE id = 2",
    "UPDATE memories SET last_accessed = 'x' WHERE id = 3",
    """UPDATE memories SET decisions = '[["category", "rule"]]' WHERE id = 4""",
    "UPDATE memories SET decisions = '[1]' WHERE id = 4",
    'UPDATE objects SET votes = \'{"mug": "x"}\'',
    "UPDATE objects SET votes = json_object('mug', 1 << 62)",
    "UPDATE memories SET tags = '[1]' WHERE id = 7",
    "UPDATE memories SET observed_at = 'x' WHERE id = 9",
    "UPDATE memories SET x = NULL WHERE id = 10",
    "UPDATE memories SET content = x'ff00' WHERE id = 11",
    "UPDATE memory_history SET before = 'x'",
    "UPDATE sightings SET confidence = 'x' WHERE memory_id = 12",
    "UPDATE sessions SET context = 'x'",
)


@pytest.mark.parametrize("statements", [*((statement,) for statement in UNREADABLE), UNREADABLE])
def test_what_breaks_reading_is_named_and_set_aside(
    open_memory: OpenMemory, db: Path, statements: tuple[str, ...]
) -> None:
    with closing(open_memory(db)) as memory:
        memory.start_session({"place": "lab"})
    with closing(sqlite3.connect(db)) as connection:
        register_functions(connection)
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()
    memory = open_memory(db)
    seen = findings(memory)["rows"]
    assert seen.severity is ERROR
    assert "hold what no version writes" in seen.seen
    assert seen.remedy == "robotmem doctor --fix"
    mended = findings(memory, fix=True)
    assert not [finding for finding in mended.values() if finding.severity is ERROR]
    lines = [json.loads(line) for line in Path(f"{db}.aside.jsonl").read_text().splitlines()]
    assert lines
    assert all(next(iter(line)) == "broken" for line in lines)
    aside = sum(len(line.get("memories", ())) for line in lines)
    assert memory.status().memories >= 38 - aside
    memory.recall("hold mug red", n=100, collection="*", include_unconfirmed=True)
    memory.timeline(n=100)
    memory.objects(include_unconfirmed=True)
    memory.recalls()
    memory.density()
    memory.save_perception("a mug", label="mug", pose=(0, 2, 1))
    cursor = BEGINNING
    while batch := memory.changes_since(cursor, 1000):
        assert [*batch.lines()]
        cursor = batch.cursor
    memory.close()
    check_file(db)


def test_a_stamp_of_another_zone_keeps_no_recall_from_its_result(open_memory: OpenMemory, db: Path) -> None:
    alter(db, "UPDATE memories SET created_at = '2026-11-28T10:48:08-05:00' WHERE id = 5")
    with closing(open_memory(db)) as memory:
        assert memory.recall("hold mug red", n=100, collection="*", include_unconfirmed=True)


def test_a_word_that_the_text_index_cuts_is_no_error(open_memory: OpenMemory) -> None:
    memory = open_memory(content_limit=1_000_000)
    memory.learn("x" * 100_000)
    memory.learn("x" + "\u00e9" * 30_000)
    memory.flush()
    assert not [finding for finding in memory.doctor() if finding.severity is ERROR]
