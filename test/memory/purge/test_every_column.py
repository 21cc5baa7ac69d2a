"""After a purge, no column of any table holds what the purged memories, sessions and sightings told."""

from __future__ import annotations

import dataclasses
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory
from robotmem_ros.memory.maps import Move, PathPart
from robotmem_ros.memory.models import NewFact, NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.consistency import check_file
from ...support.raw_bytes import found
from ..conftest import OpenMemory

SECOND = 10**9
MARK = "qzxjv"
FRIEND = f"{MARK}friend"
# What no caller's text can reach: fixed words, times, digests, numbers as text, and what an operator configures.
NO_TEXT = {
    "memories": {"type", "perception_type", "status", "content_hash", "last_accessed", "created_at",
                 "updated_at", "superseded_at", "uuid", "origin"},
    "tag_meta": {"tag", "parent", "display_name", "updated_at", "uuid", "origin"},
    "sessions": {"external_id", "status", "client_type", "end_reason", "uuid", "origin"},
    "session_recalls": {"session_id"},
    "settings": {"name", "value"},
    "table_blocks": {"columns"},  # see table/test_kept.py
    "memory_history": {"changed_at", "change"},
    "recalls": {"caller", "digest", "mode"},
    "imports": {"recording", "topic", "configuration", "path", "started_at", "finished_at"},
    "contributions": {"learned_at", "method"},
    "doubtful_times": {"of_table", "key", "boot"},
    "fact_links": {"kind", "reason"},
    "vectors": {"embedding"},
    "path_points": {"session_id"},
    "areas": {"map_id", "frame_id", "polygons", "updated_at", "uuid", "origin"},
    "occupancy_grids": {"digest", "cells", "uuid", "origin"},
    "deleted": {"uuid"},
    "objects": {"sizes"},
    "events": {"kind", "state", "pose_before"},
    "epochs": {"epoch"},
    "note_files": {"path", "collection", "stamp", "digest", "error", "text"},
}  # fmt: skip
# Tables that SQLite and its extensions keep; the raw bytes of the file are searched for these.
INTERNAL = ("sqlite_", "memories_fts_", "objects_rtree")


def columns(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The columns of all tables that can hold text or bytes."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [
        (table, column)
        for table in tables
        if not table.startswith(INTERNAL)
        for column, kind in connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        if kind not in {"INTEGER", "REAL"}
    ]


def holding(path: Path, mark: str = MARK) -> set[tuple[str, str]]:
    """The columns in which a text stands anywhere, in bytes and in JSON too."""
    connection = sqlite3.connect(path)
    try:
        return {
            (table, column)
            for table, column in columns(connection)
            if connection.execute(
                f"SELECT 1 FROM {table} WHERE instr(CAST({column} AS BLOB), CAST(? AS BLOB)) LIMIT 1", (mark,)
            ).fetchone()
        }
    finally:
        connection.close()


def traces(memory: RobotMemory) -> tuple[set[tuple[str, str]], set[str]]:
    """Where the mark still stands: in which columns, and whether in any byte of the files."""
    return holding(memory.path), found(memory.path, {MARK: MARK.encode()})


def fields(which: str) -> dict[str, Any]:
    """Give every text and every list of names that a fact can have, each marked."""
    kinds = {one.name: one.type for one in dataclasses.fields(NewFact) if one.kw_only}
    texts = {name: f"{MARK}{name}{which}" for name, kind in kinds.items() if kind == "str | None"}
    lists = {name: [f"{MARK}{name}{which}"] for name, kind in kinds.items() if kind == "Iterable[str]"}
    return {**texts, **lists, "confidence": 0.7}


def context(which: str) -> dict[str, object]:
    """A marked context: a name, a value and the name of a position."""
    return {f"{MARK}key{which}": {"inner": f"{MARK}value"}, "spatial": {f"{MARK}spot{which}": [1.0, 2.0]}}


def sighting(memory: RobotMemory, second: int, label: str, mark: str, **others: Any) -> NewMemory:
    """One sighting of a thing at a place, with a mark in every text, the image, the metadata and the tracking id."""
    chosen = {"label", "session_id", "collection", "frame_id"}
    texts = {one.name for one in dataclasses.fields(NewPerception) if one.type == "str | None"} - chosen
    others |= {name: f"{mark} {name}" for name in texts}
    new = new_perception(
        memory.parameters,
        NewPerception(
            description=f"{mark} seen",
            label=label,
            pose=[5.0, 5.0, 0.0],
            data=f"{mark} image".encode(),
            metadata={"camera": f"{mark} lens"},
            observed_at=second * SECOND,
            **others,
        ),
        now=lambda: 1,
    )
    return replace(new, source=f"{mark}said", stream=f"{mark}source", identity=f"{mark}track")


def test_every_column_that_can_hold_text_is_emptied_with_a_collection(open_memory: OpenMemory) -> None:
    memory = open_memory(
        map_id=f"{MARK}map", memory_frame=f"{MARK}frame", object_confusions=f"{MARK}chair = {MARK}stool",
        recall_log_texts=True,
    )  # fmt: skip
    lab = f"{MARK}collection"
    session = memory.start_session(context(""), collection=lab).session_id
    first = memory.learn(f"{MARK} one holds it with 5 N", context("a"), f"{MARK}session", lab, **fields("a")).memory_id
    memory.learn(f"{MARK} one holds it with 5 N", context("b"), f"{MARK}other", lab, **fields("b"))
    memory.learn(f"{MARK} one holds it with 9 N", None, session, lab)
    memory.update(first, f"{MARK} new text")
    forgotten = memory.save_perception(
        f"{MARK} scene", data=MARK.encode(), metadata={MARK: 1}, label=f"{MARK}label", pose=[1, 2, 3],
        frame_id=f"{MARK}frame", collection=lab, session_id=session,
    ).memory_id  # fmt: skip
    memory.forget(forgotten, f"{MARK} reason")
    memory.restore(forgotten)
    memory.forget(forgotten, f"{MARK} reason again")
    for second, label in enumerate((f"{MARK}chair", f"{MARK}stool"), start=10):
        there = {"spatial": {"area": f"{MARK}area"}}
        seen = [sighting(memory, second, label, MARK, collection=lab, session_id=f"{MARK}session", context=there)]
        (chair,) = memory.store_sightings(seen).result()
    memory.update(chair.memory_id, label=f"{MARK}bench")
    for confidence in (0.9, 0.1):
        memory.update(chair.memory_id, confidence=confidence)
    memory.recall(f"{MARK}", collection=lab)
    kept = memory.parameters
    memory.parameters = kept.changed(collection=lab)
    memory.maps.save(
        OccupancyGrid(
            map_id=f"{MARK}map", frame_id=f"{MARK}frame", resolution=1.0, origin=Origin(0, 0), width=5, height=1,
            cells=bytes(5),
        )
    )  # fmt: skip
    memory.parameters = kept
    now = memory.sessions.latest()[0].started_at
    memory.maps.store_path(PathPart([Move(now, 1.0, 2.0, 0.0, now)], f"{MARK}frame", f"{MARK}map", lab)).result()
    memory.flush()
    connection = sqlite3.connect(memory.path)
    exempt = {(table, column) for table, names in NO_TEXT.items() for column in names}
    assert exempt <= set(columns(connection))
    assert set(columns(connection)) - exempt == holding(memory.path)
    connection.close()
    memory.purge(collection=lab)
    assert traces(memory) == (set(), set())


def visited(memory: RobotMemory) -> tuple[int, int, int]:
    """A fact, a fact in other words and an object: each told of in a session of a visitor, and before and after."""
    facts = [
        memory.learn(text, {"robot": "r2"}, "before", tags=["glass"], observed_at=10 * SECOND).memory_id
        for text in ("hold the thin glass with 8 N", "the sink of the kitchen drips")
    ]
    again: dict[str, Any] = {"session_id": FRIEND, "observed_at": 20 * SECOND}
    assert memory.learn("hold the thin glass with 8 N", context("a"), **again, **fields("a")).memory_id == facts[0]
    assert memory.learn(f"the sink of the kitchen drips {MARK}", None, **again).memory_id == facts[1]
    memory.learn("hold the thin glass with 8 N", {"arm": "left"}, "after", category="grasp", observed_at=30 * SECOND)
    memory.update(facts[0], human_summary="thin glass")
    thing = 0
    for second, label, told, session in (
        (20, f"{MARK}chair", f"{MARK} stool", FRIEND), (21, f"{MARK}chair", f"{MARK} stool", FRIEND),
        (30, "chair", "a chair", "after"),
    ):  # fmt: skip
        new = sighting(memory, second, label, told, session_id=session)
        (stored,) = memory.store_sightings([new]).result()
        thing = stored.memory_id
    memory.flush()
    return facts[0], facts[1], thing


@pytest.fixture
def house(open_memory: OpenMemory) -> RobotMemory:
    """Open a memory in which a chair may be mistaken for a marked thing, and facts in other words are merged."""
    return open_memory(object_confusions=f"{MARK}chair = chair", deduplication="seed")


def test_what_a_session_gave_to_the_memories_of_others_goes_with_it(house: RobotMemory) -> None:
    glass, sink, thing = visited(house)
    planned = house.purge(session_id=FRIEND, dry_run=True)
    assert (planned.memories, planned.sightings, planned.repetitions) == (0, 2, 2)
    done = house.purge(session_id=FRIEND)
    assert (done.memories, done.sightings, done.repetitions) == (0, 2, 2)
    assert traces(house) == (set(), set())
    told = {one.id: one for one in house.recall(n=9, min_confidence=0.0, context_filter={"id": {"$exists": True}})}
    assert told[glass].memory.context == {
        "robot": "r2", "arm": "left", "params": {"force": {"value": 8, "unit": "N"}},
    }  # fmt: skip
    assert (told[glass].memory.category, told[glass].memory.tags, told[glass].memory.human_summary) == (
        "grasp",
        ("glass",),
        "thin glass",
    )
    assert told[sink].memory.content == "the sink of the kitchen drips"
    assert house.explain(sink).times_learned == 1
    assert (told[thing].memory.label, told[thing].memory.content, told[thing].memory.times_seen) == (
        "chair",
        "chair",
        3,
    )
    path = house.path
    house.close()
    assert check_file(path) == 3


def test_what_was_told_before_a_time_goes_from_memories_that_stay(house: RobotMemory) -> None:
    glass, _, thing = visited(house)
    done = house.purge(before=25 * SECOND)
    assert (done.memories, done.sightings, done.repetitions) == (1, 2, 2)
    assert traces(house) == (set(), set())
    told = {one.id: one for one in house.recall(n=9, min_confidence=0.0, context_filter={"id": {"$exists": True}})}
    assert told.keys() == {glass, thing}
    assert told[glass].memory.context == {"arm": "left", "params": {"force": {"value": 8, "unit": "N"}}}
    assert (told[glass].memory.session_id, told[glass].memory.category) == ("after", "grasp")
    assert told[thing].memory.first_seen == 30 * SECOND


def test_a_fact_whose_first_learning_is_purged_has_the_text_of_the_next_one(house: RobotMemory) -> None:
    fact = house.learn(f"{MARK} the door of the lab squeaks loudly", observed_at=10 * SECOND).memory_id
    again = "the door of the lab squeaks loudly"
    assert house.learn(again, tags=["door"], observed_at=20 * SECOND).memory_id == fact
    other = house.learn("the door of the lab does not squeak loudly", observed_at=5 * SECOND).memory_id
    assert house.purge(before=15 * SECOND).memories == 1
    assert traces(house) == (set(), set())
    (told,) = house.recall("door squeaks")
    house.flush()
    assert (told.id, told.memory.content, told.memory.tags) == (fact, again, ("door",))
    assert house.status().pending_vectors == 0
    assert [one.value for one in house.explain(fact).decisions if one.field == "tag"] == ["door"]
    assert other not in {one.memory_id for one in house.explain(fact).contradictions}


def test_a_fact_that_another_session_learned_too_stays_as_that_one_told_it(house: RobotMemory) -> None:
    fact = house.learn("the lab is closed", context("a"), FRIEND, **fields("a")).memory_id
    house.learn("The lab is closed.", {"arm": "left"}, "other", category="constraint")
    planned = house.purge(session_id=FRIEND, dry_run=True)
    assert (planned.memories, planned.repetitions, planned.shares) == (0, 1, ())
    assert house.purge(session_id=FRIEND).repetitions == 1
    assert traces(house) == (set(), set())
    (told,) = house.recall("lab")
    assert (told.id, told.memory.content, told.memory.session_id) == (fact, "The lab is closed.", "other")
    assert (told.memory.context, told.memory.category, told.memory.human_summary) == ({"arm": "left"}, "constraint", "")
    assert house.purge(session_id="other").memories == 1
    assert house.status().memories == 0


def test_sessions_that_ended_before_a_time_go_when_none_of_their_memories_stays(open_memory: OpenMemory) -> None:
    now = [SECOND]
    memory = open_memory(clock=lambda: now[0])
    gone, stays, runs = (memory.start_session({"who": f"{MARK}{number}"}).session_id for number in range(3))
    memory.learn("a visitor came", session_id=gone)
    now[0] = 2 * SECOND
    memory.learn("the visitor left", session_id=stays)
    now[0] = 3 * SECOND
    for session in (gone, stays):
        memory.end_session(session, 0.5)
    done = memory.purge(before=2 * SECOND)
    assert (done.memories, done.sessions) == (1, 0)
    memory.purge(collection="elsewhere", before=9 * SECOND)
    now[0] = 4 * SECOND
    memory.end_session(runs)
    assert memory.purge(before=4 * SECOND, collection="default").sessions == 2
    assert [one.session_id for one in memory.sessions.latest()] == [runs]
