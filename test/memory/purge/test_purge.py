"""What a purge takes and what it leaves."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from typing import Any

import pytest

from robotmem_ros.memory import (
    InvalidFieldError,
    MemoryNotFoundError,
    Purged,
    RobotMemory,
)
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage import rows

from ...support.consistency import check_file
from ..conftest import OpenMemory

SECOND = 10**9


def contents(memory: RobotMemory, **conditions: Any) -> set[str]:
    """The texts of the active memories."""
    return {one.memory.content for one in memory.recall(n=100, context_filter={"id": {"$exists": True}}, **conditions)}


def test_a_purge_by_id_deletes_only_these_memories(memory: RobotMemory) -> None:
    ids = [memory.learn(f"mug {number}").memory_id for number in range(5)]
    memory.flush()
    done = memory.purge(ids=[ids[1], ids[3], ids[3]])
    assert (done.memories, done.sightings, done.sessions) == (2, 0, 0)
    assert done.bytes_after == memory.status().db_bytes
    assert contents(memory) == {"mug 0", "mug 2", "mug 4"}


def test_forgotten_memories_can_be_purged_too(memory: RobotMemory) -> None:
    forgotten = memory.learn("old mug").memory_id
    memory.forget(forgotten, "a test")
    assert memory.purge(ids=[forgotten]).memories == 1
    with pytest.raises(MemoryNotFoundError, match=f"memory_id: {forgotten} cannot be used, there is no such memory"):
        memory.history(forgotten)


def test_an_unknown_id_is_said_and_nothing_is_deleted(memory: RobotMemory) -> None:
    known = memory.learn("mug").memory_id
    with pytest.raises(MemoryNotFoundError, match="memory_id: 77 cannot be used, there is no such memory"):
        memory.purge(ids=[known, 99, 77])
    assert contents(memory) == {"mug"}


def test_a_purge_by_session_deletes_the_session_and_its_memories(memory: RobotMemory) -> None:
    for session in ("s1", "s2"):
        memory.learn(f"mug of {session}", session_id=session)
        add_session(memory, session, "default")
    done = memory.purge(session_id="s1")
    assert (done.memories, done.sessions) == (1, 1)
    assert contents(memory) == {"mug of s2"}
    assert sessions(memory) == ["s2"]
    memory.flush()
    assert memory.purge(session_id="s1") == Purged(0, 0, 0, memory.status().db_bytes, memory.status().db_bytes)


def add_session(memory: RobotMemory, session: str, collection: str) -> None:
    """Notes a session."""
    with sqlite3.connect(memory.path) as connection:
        connection.execute(
            "INSERT INTO sessions (external_id, collection, uuid, revision) VALUES (?, ?, randomblob(16), 1)",
            (session, collection),
        )
    connection.close()


def sessions(memory: RobotMemory) -> list[str]:
    """The sessions that are known."""
    with sqlite3.connect(memory.path) as connection:
        found = connection.execute("SELECT external_id FROM sessions ORDER BY id").fetchall()
    connection.close()
    return [session for (session,) in found]


def test_what_other_tables_tell_of_a_session_goes_with_it(memory: RobotMemory) -> None:
    with sqlite3.connect(memory.path) as connection:
        connection.execute("CREATE TABLE later_tales (session_id TEXT, tale TEXT)")
        connection.executemany("INSERT INTO later_tales VALUES (?, 'x')", [("s1",), ("s2",), ("",)])
    connection.close()
    memory.purge(session_id="s1", collection="default")
    memory.purge(session_id="s1", before=9)
    told = "SELECT session_id FROM later_tales ORDER BY session_id"
    assert connection_rows(memory, told) == ["", "s1", "s2"]
    memory.purge(session_id="s1")
    assert connection_rows(memory, told) == ["", "s2"]


def connection_rows(memory: RobotMemory, sql: str) -> list[str]:
    """The first column of what a query gives."""
    with sqlite3.connect(memory.path) as connection:
        rows = [row[0] for row in connection.execute(sql)]
    connection.close()
    return rows


def test_a_purge_by_collection_and_session_needs_both_to_match(memory: RobotMemory) -> None:
    for collection in ("lab", "home"):
        for session in ("s1", "s2"):
            memory.learn(f"{collection} {session}", collection=collection, session_id=session)
        add_session(memory, f"of {collection}", collection)
    assert memory.purge(collection="lab", session_id="s1").memories == 1
    assert contents(memory, collection="lab") == {"lab s2"}
    assert contents(memory, collection="home") == {"home s1", "home s2"}
    done = memory.purge(collection="lab")
    assert (done.memories, done.sessions) == (1, 1)
    assert sessions(memory) == ["of home"]


def test_a_purge_by_age_deletes_memories_observed_before(memory: RobotMemory) -> None:
    for second in (1, 2, 3):
        memory.learn(f"second {second}", observed_at=second * SECOND, session_id="s")
    add_session(memory, "s", "default")
    assert memory.purge(before=2 * SECOND).memories == 1
    assert contents(memory) == {"second 2", "second 3"}
    assert memory.purge(before=3 * SECOND, session_id="s").memories == 1
    assert contents(memory) == {"second 3"}
    assert sessions(memory) == ["s"]


def test_by_age_an_object_that_was_seen_again_loses_its_earlier_sightings_but_not_their_count(
    memory: RobotMemory,
) -> None:
    cup = 0
    for second in range(10, 20):
        new = new_perception(
            memory.parameters,
            NewPerception(description="a cup", label="cup", pose=[1, 2, 3], observed_at=second * SECOND),
            now=lambda: 1,
        )
        cup = memory.store_sightings([new]).result()[0].memory_id
    memory.purge(before=17 * SECOND, collection="elsewhere")
    assert len(memory.object_history(cup)) == 10
    done = memory.purge(before=17 * SECOND)
    assert (done.memories, done.sightings) == (0, 7)
    history = memory.object_history(cup)
    assert [(one.observed_at // SECOND, one.subsampled) for one in history] == [(19, 0), (18, 0), (17, 7)]
    (found,) = memory.recall(context_filter={"label": "cup"})
    assert (found.memory.times_seen, found.memory.first_seen) == (10, 17 * SECOND)


def test_an_object_may_keep_no_sighting_at_all(memory: RobotMemory) -> None:
    memory.parameters = memory.parameters.changed(sighting_interval=100.0)
    for second in (10, 20, 30):
        new = new_perception(
            memory.parameters,
            NewPerception(description="a cup", label="cup", pose=[1, 2, 3], observed_at=second * SECOND),
            now=lambda: 1,
        )
        cup = memory.store_sightings([new]).result()[0].memory_id
    memory.purge(before=25 * SECOND)
    assert memory.object_history(cup) == ()
    (found,) = memory.recall(context_filter={"label": "cup"})
    assert (found.memory.times_seen, found.memory.first_seen) == (3, 30 * SECOND)
    with sqlite3.connect(memory.path) as connection:
        assert connection.execute("SELECT subsampled FROM objects").fetchone() == (3,)
    connection.close()


def supersede(memory: RobotMemory, old: int, new: int) -> None:
    superseded = {"status": "superseded", "superseded_by": new}
    memory.parts.database.write(lambda connection: rows.update(connection, old, superseded)).result()


def test_what_a_memory_superseded_goes_with_it(memory: RobotMemory) -> None:
    ids = [memory.learn(f"grip {number}").memory_id for number in range(4)]
    for old, new in pairwise(ids[:3]):
        supersede(memory, old, new)
    assert memory.purge(ids=[ids[2]]).memories == 3
    assert contents(memory) == {"grip 3"}
    path = memory.path
    memory.close()
    assert check_file(path) == 1


def test_what_superseded_a_memory_stays(memory: RobotMemory) -> None:
    old, new = (memory.learn(f"grip {number}").memory_id for number in range(2))
    supersede(memory, old, new)
    assert memory.purge(ids=[old]).memories == 1
    assert contents(memory) == {"grip 1"}


def test_more_memories_than_one_step_takes_all_go(memory: RobotMemory) -> None:
    for pending in [
        memory.store(
            new_perception(
                memory.parameters, NewPerception(description=f"mug {number}", collection="lab"), now=lambda: 1
            )
        )
        for number in range(600)
    ]:
        pending.result()
    assert memory.purge(collection="lab").memories == 600
    assert memory.status().memories == 0


def test_in_memory_a_purge_deletes_as_well(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:")
    chosen = memory.learn("red mug").memory_id
    memory.learn("blue mug")
    assert memory.purge(ids=[chosen]) == Purged(1, 0, 0, 0, 0)
    assert contents(memory) == {"blue mug"}


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({}, "ids: None chooses nothing; give ids, a session_id, a collection or a time before"),
        ({"ids": 1.5}, "ids: 1.5 must be a whole number"),
        ({"ids": "12"}, "ids: '12' must be a whole number"),
        ({"ids": [1, "2"]}, "ids: '2' must be a whole number"),
        ({"ids": [True]}, "ids: True must be a whole number"),
        ({"session_id": " "}, "session_id: ' ' is empty; leave it out for any"),
        ({"collection": ""}, "collection: '' is empty; leave it out for any"),
        ({"collection": "a\nb"}, "collection: .* contains control characters"),
        ({"before": -1}, "before: -1 lies before 1970"),
        ({"before": 1.5}, "before: 1.5 has no unit"),
    ],
)
def test_a_bad_choice_is_named_and_nothing_is_deleted(
    memory: RobotMemory, choice: dict[str, Any], message: str
) -> None:
    memory.learn("mug", session_id="s")
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        memory.purge(**choice)
    assert memory.status().memories == 1


def test_a_purge_of_no_ids_deletes_nothing(memory: RobotMemory) -> None:
    memory.learn("mug")
    assert memory.purge(ids=[]).memories == 0
    assert contents(memory) == {"mug"}
