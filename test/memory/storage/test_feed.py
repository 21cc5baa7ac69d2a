"""A copy that follows the changes of a memory equals it, however it is fed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory
from robotmem_ros.memory.batch import BEGINNING, Batch, Cursor
from robotmem_ros.memory.errors import InvalidFieldError, MemoryNotFoundError, SessionNotFoundError
from robotmem_ros.memory.storage import feed, map_rows
from robotmem_ros.memory.storage.feed import apply
from robotmem_ros.memory.storage.map_rows import MapAreas

from ...support.consistency import check
from ...support.examples import examples
from ...support.sightings import see, sighting

DAY = 86_400 * 10**9
TEXTS = (
    "hold the glass with 5 N", "hold the glass with 8 N", "hold the thin glass with 5 N", "the door of the lab is open",
    "the door of the lab is closed", "the sink drips", "the sink of the kitchen drips",
)  # fmt: skip
USAGE = {"access_count", "return_count", "last_accessed", "recalled_at"}


class World:
    """A memory, a copy that follows it, and a clock that both read."""

    def __init__(self) -> None:
        # Later than the wall clock, so that what changed is older than what a purge takes, and far from midnight.
        self.now = (time.time_ns() // DAY + 1) * DAY + DAY // 2
        self.source, self.copy, self.copied_at_once = (self.opened() for _ in range(3))
        self.seen = self.seen_at_once = BEGINNING

    def opened(self) -> RobotMemory:
        """Open a memory that does nothing by itself."""
        return RobotMemory(
            ":memory:", embedding_model="", session_maintenance=False, clock=lambda: self.now, memory_frame="map",
            max_sightings_per_object=4, sighting_interval=0.0,
        )  # fmt: skip

    def run(self, verb: str, one: int, two: int) -> None:
        """Do one thing with the memory or the copy, and let another copy see each change at once."""
        self.now += 10**9
        try:
            VERBS[verb](self, one, two)
        except (InvalidFieldError, MemoryNotFoundError, SessionNotFoundError):
            assert verb in MAY_FAIL
        self.follow()
        assert stored(self.copied_at_once, but=USAGE) == stored(self.source, but=USAGE), verb

    def follow(self) -> None:
        """Let the other copy see what changed."""
        for batch in batches(self.source, seen=self.seen_at_once):
            self.seen_at_once = batch.cursor
            self.copied_at_once.apply(batch)

    def some(self, one: int, two: int) -> int:
        """Return the id of a memory, or one that no memory has."""
        ids: list[int] = [row["id"] for row in units_of(self.source)] or [1]
        return ids[(one * 10 + two) % len(ids)]

    def see(self, one: int, two: int) -> None:
        """See one thing, or two that are near each other."""
        pair = [sighting(x + 0.2 * (one % 2), t=self.now / 1e9, label="mug") for x in (5.0, 5.6)]
        see(self.source, *pair[: 1 + two % 2])

    def merge(self, one: int, two: int) -> None:
        """Group three facts of one session, two of which say the same; then perhaps change what stands for them."""
        texts = ("hold the thin glass softly", "hold the thin glass very softly", "the lift is slow today")
        ids = [self.source.learn(text, session_id="s", category="grasp", confidence=0.8).memory_id for text in texts]
        self.source.update(ids[2], texts[0])
        self.follow()
        (group, *_) = self.source.sessions.consolidate("s").groups or (None,)
        self.feed(two + 1)
        if group is None:
            return
        kept = group.representative.id
        if two % 3 == 0:
            self.source.update(kept, add_tags=["kept"])
        elif two % 3 == 1:
            self.source.forget(kept, "a test")
        else:
            self.source.update(kept, "the box is heavy")

    def outcome(self, one: int, two: int) -> None:
        """Recall something in a session that succeeds or fails."""
        session = self.source.start_session({"task": TEXTS[one % len(TEXTS)]}).session_id
        self.source.recall(TEXTS[one % len(TEXTS)])
        self.source.end_session(session, two / 9)

    def retain(self, one: int, two: int) -> None:
        """Delete what exceeds a budget: memories, or sightings of two objects."""
        budget = {"max_memories": 3 + one, "retention_sightings": 0}
        if two % 2:
            budget = {"max_memories": 0, "retention_sightings": 4}
            for _ in range(4):
                self.now += 10**9
                see(self.source, *(sighting(x, t=self.now / 1e9, label="mug") for x in (5.0, 9.0)))
            self.follow()
        self.source.parameters = self.source.parameters.changed(**budget)
        self.source.retain()

    def import_own(self, one: int, two: int) -> None:
        """Import what was exported: nothing is new."""
        for batch in batches(self.source, n=one + 1):
            assert self.source.apply(batch).stored == 0

    def break_off(self, one: int, two: int) -> None:
        """Let the copy fail after it has applied a batch, before its commit."""
        batch = self.source.changes_since(self.seen, one + 1)

        def broken_off(connection: Any) -> None:
            assert batch is not None
            apply(connection, batch)
            raise KeyError("broken off")

        assert self.copy.parts.database.write(broken_off).exception() is not None

    def feed(self, n: int, times: int = 1) -> bool:
        """Let the copy see at least n changes, each batch some times; return whether there were any."""
        batch = self.source.changes_since(self.seen, n)
        if batch is None:
            return False
        for _ in range(times):
            self.copy.apply(received(batch))
        assert batch.first == self.seen.revision < batch.last
        self.seen = batch.cursor
        return True

    def close(self) -> None:
        """Close all."""
        for memory in (self.source, self.copy, self.copied_at_once):
            memory.close()


VERBS: dict[str, Callable[[World, int, int], object]] = {
    "save": lambda world, one, two: world.source.save_perception(
        TEXTS[one % len(TEXTS)], data=b"\1\2", metadata={"n": one}, context={"at": [one, two]}
    ),
    "learn": lambda world, one, two: world.source.learn(
        TEXTS[one % len(TEXTS)], {"n": two}, f"s{two % 3}", tags=[f"t{two % 2}"]
    ),
    "see a chair": lambda world, one, two: world.source.save_perception(
        "a chair", label=("chair", "stool")[two % 2], pose=(float(one % 3), 0, 0)
    ),
    "see mugs": World.see,
    "reword": lambda world, one, two: world.source.update(world.some(one, two), TEXTS[two % len(TEXTS)]),
    "retag": lambda world, one, two: world.source.update(
        world.some(one, two), add_tags=[f"x{two}"], confidence=0.5 + two / 20
    ),
    "add tag": lambda world, one, two: world.source.tags.add(f"t{one % 4}", ("", f"t{two % 4}")[two % 2]),
    "rename tag": lambda world, one, two: world.source.tags.rename(f"t{one % 4}", f"t{two % 4}"),
    "remove tag": lambda world, one, two: world.source.tags.remove(f"t{one % 4}"),
    "forget": lambda world, one, two: world.source.forget(world.some(one, two), "a test"),
    "restore": lambda world, one, two: world.source.restore(world.some(one, two)),
    "start": lambda world, one, two: world.source.start_session({"task": one}),
    "recall": lambda world, one, two: world.source.recall(TEXTS[one % len(TEXTS)]),
    "outcome": World.outcome,
    "merge": World.merge,
    "consolidate": lambda world, one, two: world.source.sessions.consolidate(f"s{two % 3}"),
    "purge": lambda world, one, two: world.source.purge(ids=[world.some(one, two)]),
    "purge session": lambda world, one, two: world.source.purge(session_id=f"s{two % 3}"),
    "purge before": lambda world, one, two: world.source.purge(before=world.now - one * 10**9 * 60),
    "map": lambda world, one, two: world.source.maps.save(grid(two)),
    "areas": lambda world, one, two: world.source.parts.database.write(
        lambda transaction: map_rows.save_areas(transaction, polygons(one, two))
    ).result(),
    "retain": World.retain,
    "import": World.import_own,
    "feed": lambda world, one, two: world.feed(one + 1, times=1 + two % 2),
    "break off": World.break_off,
}
MAY_FAIL = {
    "reword", "retag", "forget", "restore", "merge", "consolidate", "purge", "add tag", "rename tag", "remove tag",
}  # fmt: skip
STEPS = st.tuples(st.sampled_from(sorted(VERBS)), st.integers(0, 9), st.integers(0, 9))


def grid(value: int) -> OccupancyGrid:
    """Make a map of one cell."""
    return OccupancyGrid(
        map_id=f"m{value % 2}", frame_id="map", resolution=1.0, origin=Origin(0, 0), width=1, height=1,
        cells=bytes([value]),
    )  # fmt: skip


def polygons(one: int, two: int) -> MapAreas:
    """Make the areas of a map."""
    return MapAreas(f"m{one % 2}", "map", json.dumps({"lab": [[0, 0], [two + 1, 0], [0, 1]]}))


def received(batch: Batch) -> Batch:
    """Return a batch as its lines carry it."""
    head, *rows = map(json.loads, batch.lines())
    assert head["rows"] == len(rows)
    return Batch(
        head["robot"], head["epoch"], head["first"], head["last"], tuple(rows), tuple(head["deleted"]),
        head["lived_days"],
    )  # fmt: skip


def batches(memory: RobotMemory, n: int = 1000, seen: Cursor = BEGINNING) -> Iterator[Batch]:
    """Yield all changes of a memory."""
    while batch := memory.changes_since(seen, n):
        yield batch
        seen = batch.cursor


def units_of(memory: RobotMemory) -> list[dict[str, Any]]:
    """Return all memories as rows, by id."""
    with memory.parts.database.snapshot() as snapshot:
        ids = [memory_id for (memory_id,) in snapshot.rows("SELECT id FROM memories ORDER BY id")]
        return feed.memories(snapshot, ids)


def stored(memory: RobotMemory, *, but: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    """Return all that is stored, by UUID, without what means something in this file alone."""
    but = {"id", "robot", "revision", *but}
    rows = units_of(memory)
    with memory.parts.database.snapshot() as snapshot:
        rows += feed.others(snapshot, 0, 2**62)
    found = {row["uuid"]: {name: value for name, value in row.items() if name not in but} for row in rows}
    for row in found.values():
        for links in feed.LINKS.keys() & row.keys():
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
                replace(one, id=0, contradicted_by=0, similar_ids=()),
                uuids.get(one.contradicted_by), {uuids[other] for other in one.similar_ids}, detail.status,
                detail.history, detail.sightings, detail.data and replace(detail.data, memory_id=0),
            )  # fmt: skip
    recalls = {text: {uuids[one.id] for one in memory.recall(text, n=100, min_confidence=0.0)} for text in TEXTS}
    status = memory.status()
    counts = (status.memories, status.facts, status.perceptions)
    sessions = {one.session_id: one for one in memory.sessions.latest(n=100)}
    return {"details": details, "recalls": recalls, "counts": counts, "sessions": sessions}


@contextmanager
def world() -> Iterator[World]:
    """Open a world for one example."""
    made = World()
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(steps=st.lists(STEPS, min_size=1, max_size=30), n=st.integers(1, 40))
def test_a_copy_that_follows_equals_its_source_however_it_is_fed(steps: list[tuple[str, int, int]], n: int) -> None:
    with world() as made:
        for step in steps:
            made.run(*step)
        while made.feed(n):
            pass
        assert stored(made.copy, but=USAGE) == stored(made.source, but=USAGE)
        made.source.parts.usage.write()  # else it may come between the batches and what they are compared with
        restored = made.opened()
        for batch in batches(made.source, n):
            restored.apply(received(batch))
        assert stored(restored) == stored(made.source)
        assert as_read(restored) == as_read(made.source)
        assert as_read(made.copy) == as_read(made.source)
        for memory in (made.copy, made.copied_at_once, restored):
            memory.parts.database.write(check).result()
        restored.close()
