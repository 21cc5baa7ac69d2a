"""What raises the revision, when a follower must start again, and what a batch may hold."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING, Batch
from robotmem_ros.memory.errors import InvalidFieldError, RewoundError
from robotmem_ros.memory.storage.revisions import uuid7

from ...support.raw_bytes import found
from ..conftest import OpenMemory


def whole(memory: RobotMemory) -> Batch:
    """Return all that a memory holds, as one batch of its last epoch."""
    batches = [batch := memory.changes_since(BEGINNING, 10**6)]
    while batch is not None:
        batches.append(batch := memory.changes_since(batch.cursor, 10**6))
    *_, last = (rows := [batch for batch in batches if batch is not None])
    rows_by_uuid = {row["uuid"]: row for batch in rows for row in batch.rows}
    deleted = tuple(uuid for batch in rows for uuid in batch.deleted)
    return replace(last, first=0, rows=tuple(rows_by_uuid.values()), deleted=deleted)


def test_a_transaction_has_one_revision_and_a_recall_has_none(memory: RobotMemory) -> None:
    memory.learn("the lab is open")
    before = whole(memory)
    memory.recall("lab")
    memory.flush()
    assert memory.changes_since(before.cursor) is None
    memory.learn("the lab is closed", tags=["lab"])
    after = memory.changes_since(before.cursor)
    assert after is not None
    assert (after.first, after.last) == (before.last, before.last + 1)
    assert [row["content"] for row in after.rows] == ["the lab is closed"]


def test_a_purge_leaves_the_uuid_and_nothing_else(memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path) -> None:
    gone = memory.learn("the password is swordfish").memory_id
    before = whole(memory)
    memory.purge(ids=[gone])
    after = memory.changes_since(before.cursor)
    assert after is not None
    assert (after.rows, after.deleted) == ((), (before.rows[0]["uuid"],))
    assert "swordfish" not in "".join(after.lines())
    # The export of before brings it back nowhere where it was deleted.
    assert memory.apply(before).refused == 1
    copy, late = open_memory(tmp_path / "copy.db"), open_memory(tmp_path / "late.db")
    late.apply(after)
    assert late.apply(before).refused == 1
    copy.apply(before)
    assert copy.apply(after).deleted == 1
    assert copy.finish_purge()
    assert [memory.status().memories, copy.status().memories, late.status().memories] == [0, 0, 0]
    assert not found(copy.path, {"code": b"4711"})


def test_a_follower_of_a_file_that_was_rewound_starts_again(open_memory: OpenMemory, tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    memory = open_memory(path)
    memory.learn("one")
    memory.close()
    shutil.copy(path, backup)
    memory = open_memory(path)
    seen_before = whole(memory).cursor
    memory.learn("two")
    memory.learn("three")
    seen_after = whole(memory).cursor
    memory.close()
    shutil.copy(backup, path)
    memory = open_memory(path)
    with pytest.raises(RewoundError, match="is no part of the history of this file"):
        memory.changes_since(seen_after)
    memory.learn("four")
    memory.learn("five")
    memory.learn("six")
    with pytest.raises(RewoundError, match=f"revision {seen_after.revision} of epoch"):
        memory.changes_since(seen_after)
    batch = memory.changes_since(seen_before)
    assert batch is not None
    assert [row["content"] for row in batch.rows] == ["four", "five", "six"]


def test_what_a_lost_change_hid_from_a_follower_is_not_passed_over(open_memory: OpenMemory, tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    memory = open_memory(path)
    hidden = memory.learn("one").memory_id
    memory.learn("two")
    memory.backup(backup)
    memory.update(hidden, human_summary="lost")
    first = memory.changes_since(n=1)
    assert first is not None
    assert [row["content"] for row in first.rows] == ["two"]
    memory.close()
    for name in ("memory.db-wal", "memory.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(backup, path)
    memory = open_memory(path)
    with pytest.raises(RewoundError):
        memory.changes_since(first.cursor)


def test_of_two_robots_the_later_change_stays_wherever_they_meet(open_memory: OpenMemory, tmp_path: Path) -> None:
    one, other = open_memory(tmp_path / "one.db"), open_memory(tmp_path / "other.db")
    first = one.learn("the lab is open").memory_id
    other.apply(whole(one))
    one.update(first, human_summary="earlier")
    (row,) = whole(other).rows
    other.update(row["id"], human_summary="later")
    of_one, of_other = whole(one), whole(other)
    for memory, batch in ((one, of_other), (other, of_one), (one, of_other), (other, of_one)):
        memory.apply(batch)
    assert [whole(memory).rows[0]["human_summary"] for memory in (one, other)] == ["later", "later"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"uuid": "0"}, r"rows\[1\]\.uuid: '0' must be a UUID of 32 hexadecimal digits"),
        ({"robot": "00"}, r"robot: '00' must be a UUID of 32 hexadecimal digits"),
        ({"type": "note"}, "type: 'note' must be one of 'fact', 'perception'"),
        ({"unit": "thing"}, "unit: 'thing' is unknown; use one of memory, session, map, tag, areas"),
        ({"content": None}, "content: None must be text"),
        ({"map_id": None}, "map_id: None must be text"),
        ({"context": []}, r"context: \[\] must be a JSON object"),
        ({"tags": ["a"]}, r"tags: \['a'\] must be a JSON object"),
        ({"tags": {"a": "rule"}}, r"tags\.a: 'rule' must be one of 'auto', 'user'"),
        ({"decisions": [["tag"]]}, r"decisions\[0\]: \['tag'\] must be a field, a value and a rule"),
        ({"status": "lost"}, "status: 'lost' must be one of 'active', 'superseded', 'invalidated'"),
        ({"history": [{}]}, r"history\[0\]\.changed_at: None is missing"),
        ({"x": 1e30}, "x: 1e[+]30 must lie in -1e[+]08 to 1e[+]08"),
    ],
)
def test_a_row_that_no_file_has_is_refused_and_nothing_of_its_batch_is_stored(
    memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    memory.learn("first")
    memory.learn("second")
    batch = whole(memory)
    copy = open_memory(tmp_path / "copy.db")
    with pytest.raises(InvalidFieldError, match=why):
        copy.apply(replace(batch, rows=(batch.rows[0], {**batch.rows[1], **changes})))
    assert copy.status().memories == 0
    with pytest.raises(InvalidFieldError, match=r"deleted: .* must be UUIDs in hexadecimal digits"):
        copy.apply(replace(batch, deleted=("0",)))
    assert copy.apply(batch).stored == 2


def test_a_memory_is_found_by_its_uuid_wherever_it_was_made(
    memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    copy = open_memory(tmp_path / "copy.db")
    copy.learn("here already")
    memory.learn("made elsewhere")
    copy.apply(whole(memory))
    assert copy.apply(whole(memory)).known == 1
    assert copy.apply(whole(copy)).known == 2
    with sqlite3.connect(copy.path) as connection:
        uuids = [uuid for (uuid,) in connection.execute("SELECT uuid FROM memories ORDER BY id")]
    connection.close()
    assert [int.from_bytes(uuid[-5:], "big") for uuid in uuids] == [1, 1]
    assert len(set(uuids)) == 2


def test_a_uuid_has_version_7_and_the_variant_of_its_rfc() -> None:
    made = [uuid7(number) for number in range(100)]
    assert {(len(uuid), uuid[6] >> 4, uuid[8] >> 6) for uuid in made} == {(16, 7, 2)}
    assert len(set(made)) == 100


def test_no_cursor_begins_at_the_first_memory(memory: RobotMemory) -> None:
    memory.learn("one")
    assert memory.changes_since(None) == memory.changes_since() == memory.changes_since(BEGINNING)
    with pytest.raises(InvalidFieldError, match=r"^seen: 5 must be the `cursor` of a batch"):
        memory.changes_since(5)  # type: ignore[arg-type]
