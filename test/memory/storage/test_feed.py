"""A copy that follows the changes of a memory equals it, however it is fed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory
from robotmem_ros.memory.batch import BEGINNING, Batch, Cursor
from robotmem_ros.memory.errors import InvalidFieldError, MemoryNotFoundError, RobotMemoryError
from robotmem_ros.memory.storage import units
from robotmem_ros.memory.storage.applying import apply

from ...support.consistency import check
from ...support.sightings import see, sighting

DAY = 86_400 * 10**9
TEXTS = (
    "hold the glass with 5 N", "hold the glass with 8 N", "hold the thin glass with 5 N", "the door of the lab is open",
    "the door of the lab is closed", "the sink drips", "the sink of the kitchen drips",
)  # fmt: skip
USAGE = {"access_count", "return_count", "last_accessed", "recalled_at"}
numbers = st.integers(0, 9)
STEPS = st.one_of(
    *(
        st.tuples(st.just(verb), numbers, numbers)
        for verb in (
            "save", "learn", "learn", "see", "see", "see pair", "reword", "retag", "forget", "restore", "start",
            "recall", "end", "consolidate", "purge", "purge session", "purge before", "map", "retain", "feed", "feed",
            "fail", "import",
        )
    )
)  # fmt: skip


class World:
    """A memory, a copy that follows it, and a clock that both read."""

    def __init__(self) -> None:
        self.now = 20_000 * DAY
        self.source, self.copy = self.opened(), self.opened()
        self.seen = BEGINNING

    def opened(self) -> RobotMemory:
        """Open a memory that does nothing by itself."""
        return RobotMemory(
            ":memory:", embedding_model="", session_maintenance=False, clock=lambda: self.now, memory_frame="map",
            max_sightings_per_object=4, sighting_interval=0.0,
        )  # fmt: skip

    def run(self, step: tuple[str, int, int]) -> None:
        """Do one thing with the memory, or with the copy."""
        verb, one, two = step
        self.now += 10**9
        memory, text, session = self.source, TEXTS[one % len(TEXTS)], f"s{two % 3}"
        ids = [row["id"] for row in units_of(memory)] or [1]
        memory_id = ids[(one * 10 + two) % len(ids)]
        try:
            if verb == "save":
                memory.save_perception(text, data=b"\1\2", metadata={"n": one}, context={"at": [one, two]})
            elif verb == "learn":
                memory.learn(text, {"n": two}, session, tags=[f"t{two % 2}"])
            elif verb == "see":
                memory.save_perception("a chair", label=("chair", "stool")[two % 2], pose=(float(one % 3), 0, 0))
            elif verb == "see pair":
                pair = [sighting(x + 0.2 * (one % 2), t=self.now / 1e9, label="mug") for x in (5.0, 5.6)]
                see(memory, *pair[: 1 + two % 2])
            elif verb == "reword":
                memory.update(memory_id, TEXTS[two % len(TEXTS)])
            elif verb == "retag":
                memory.update(memory_id, add_tags=[f"x{two}"], confidence=0.5 + two / 20)
            elif verb == "forget":
                memory.forget(memory_id, "a test")
            elif verb == "restore":
                memory.restore(memory_id)
            elif verb == "start":
                memory.start_session({"task": text})
            elif verb == "recall":
                memory.recall(text)
            elif verb == "end":
                memory.end_session(memory.sessions()[0].session_id, two / 9)
            elif verb == "consolidate":
                memory.consolidate(session)
            elif verb == "purge":
                memory.purge(ids=[memory_id])
            elif verb == "purge session":
                memory.purge(session_id=session)
            elif verb == "purge before":
                memory.purge(before=self.now - one * 10**9)
            elif verb == "map":
                memory.save_map(grid(two))
            elif verb == "retain":
                memory.parameters = memory.parameters.changed(max_memories=3 + one, retention_sightings=4)
                memory.retain()
            elif verb == "import":
                for batch in batches(memory, n=one + 1):
                    assert memory.apply(batch).stored == 0
            else:
                self.feed(one, twice=two % 2 == 1, fails=verb == "fail")
        except (MemoryNotFoundError, IndexError):
            pass
        except RobotMemoryError as error:
            assert verb in ("reword", "retag", "end", "consolidate"), error

    def feed(self, n: int = 9, *, twice: bool = False, fails: bool = False) -> bool:
        """Let the copy see at least n changes; return whether there were any."""
        batch = self.source.changes_since(self.seen, n)
        if batch is None:
            return False
        if fails:

            def broken_off(connection: Any) -> None:
                apply(connection, batch)
                raise KeyError("broken off")

            assert self.copy._database.write(broken_off).exception() is not None
            return True
        for _ in range(1 + twice):
            self.copy.apply(received(batch))
        assert batch.first == self.seen.revision < batch.last
        self.seen = batch.cursor
        return True

    def close(self) -> None:
        """Close both."""
        self.source.close()
        self.copy.close()


def grid(value: int) -> OccupancyGrid:
    """Make a map of one cell."""
    return OccupancyGrid(
        map_id=f"m{value % 2}", frame_id="map", resolution=1.0, origin=Origin(0, 0), width=1, height=1,
        cells=bytes([value]),
    )  # fmt: skip


def received(batch: Batch) -> Batch:
    """Return a batch as its lines carry it."""
    head, *rows = map(json.loads, batch.lines())
    assert head["rows"] == len(rows)
    return Batch(head["robot"], head["epoch"], head["first"], head["last"], tuple(rows), tuple(head["deleted"]))


def batches(memory: RobotMemory, n: int = 1000, seen: Cursor = BEGINNING) -> Iterator[Batch]:
    """Yield all changes of a memory."""
    while batch := memory.changes_since(seen, n):
        yield batch
        seen = batch.cursor


def units_of(memory: RobotMemory) -> list[dict[str, Any]]:
    """Return all memories as rows, by id."""
    with memory._database.reader() as connection:
        ids = [memory_id for (memory_id,) in connection.execute("SELECT id FROM memories ORDER BY id")]
        return units.memories(connection, ids)


def stored(memory: RobotMemory, *, but: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    """Return all that is stored, by UUID, without what means something in this file alone."""
    but = {"id", "robot", "revision", *but}
    with memory._database.reader() as connection:
        rows = units_of(memory) + units.sessions(connection, 0, 2**62) + units.maps(connection, 0, 2**62)
    found = {row["uuid"]: {name: value for name, value in row.items() if name not in but} for row in rows}
    for row in found.values():
        for links in units.LINKS.keys() & row.keys():
            row[links] = sorted(row[links], key=str)
    return found


def as_read(memory: RobotMemory) -> dict[str, Any]:
    """Return what a reader sees, with UUIDs in place of ids."""
    rows = units_of(memory)
    uuids = {row["id"]: row["uuid"] for row in rows}
    details = {}
    for start in range(0, len(rows), 100):
        for detail in memory.get_memories([row["id"] for row in rows][start : start + 100], include_forgotten=True):
            one = detail.memory
            details[uuids[one.id]] = (
                replace(one, id=0, contradicted_by=0, similar_ids=(), similarity=0.0, distance=0.0),
                uuids.get(one.contradicted_by), {uuids[other] for other in one.similar_ids}, detail.status,
                detail.history, detail.sightings, detail.data and replace(detail.data, memory_id=0),
            )  # fmt: skip
    recalls = {text: {uuids[one.id] for one in memory.recall(text, n=100, min_confidence=0.0)} for text in TEXTS}
    status = memory.status()
    counts = (status.memories, status.facts, status.perceptions)
    sessions = {one.session_id: one for one in memory.sessions(n=100)}
    return {"details": details, "recalls": recalls, "counts": counts, "sessions": sessions}


@contextmanager
def world() -> Iterator[World]:
    """Open a world for one example."""
    made = World()
    try:
        yield made
    finally:
        made.close()


@settings(max_examples=60)
@given(steps=st.lists(STEPS, min_size=1, max_size=30), n=st.integers(1, 40))
def test_a_copy_that_follows_equals_its_source_however_it_is_fed(steps: list[tuple[str, int, int]], n: int) -> None:
    with world() as made:
        for step in steps:
            made.run(step)
        while made.feed(n):
            pass
        assert stored(made.copy, but=USAGE) == stored(made.source, but=USAGE)
        restored = made.opened()
        for batch in batches(made.source):
            restored.apply(received(batch))
        assert stored(restored) == stored(made.source)
        assert as_read(restored) == as_read(made.source)
        assert as_read(made.copy) == as_read(made.source)
        for memory in (made.copy, restored):
            memory._database.write(check).result()
        restored.close()
