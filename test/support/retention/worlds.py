"""Store memories from plain values and read them back, without the code under test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.storage.snapshot import Transaction

DAY = 86_400 * 10**9
NOW = 1_800_000_000 * 10**9
"""Nanoseconds; in January 2027."""
LIVED = 1500
OPEN_SESSION, ENDED_SESSION = "open", "ended"


@dataclass(frozen=True)
class Plain:
    """Properties of a memory that retention considers."""

    collection: str = "default"
    kind: str = "fact"
    content: str = "mug"
    category: str = ""
    session: str = ""
    status: str = "active"
    confidence: float = 0.9
    recalls: int = 0
    age: float = 0.0
    """Days."""
    data: bytes = b""


PLAIN = st.builds(
    Plain,
    collection=st.sampled_from(("default", "lab")),
    kind=st.sampled_from(("fact", "perception")),
    content=st.sampled_from(("mug", "a red mug", "红色的杯子在桌子上", "mug " * 40)),
    category=st.sampled_from(("", "", "constraint", "hazard", "preference", "decision")),
    session=st.sampled_from(("", OPEN_SESSION, ENDED_SESSION, "unknown")),
    status=st.sampled_from(("active", "active", "active", "superseded", "invalidated")),
    confidence=st.sampled_from((0.0, 0.5, 0.9, 1.0)) | st.floats(0, 1),
    recalls=st.sampled_from((0, 0, 1, 4, 1000)),
    age=st.sampled_from((0.0, 1.0, 100.0)) | st.floats(-10, 1000) | st.just(20_000.0),
    data=st.sampled_from((b"", b"\xff" * 500)),
)


def stored(database: Database, world: Iterable[Plain]) -> None:
    """Store memories; their ids are 1, 2, 3 and so on."""

    def work(transaction: Transaction) -> None:
        for name, status in ((OPEN_SESSION, "active"), (ENDED_SESSION, "ended")):
            transaction.execute(
                "INSERT INTO sessions (external_id, collection, status, superseded, uuid, revision) "
                "VALUES (?1, '', ?2, iif(?2 = 'ended', 0, NULL), randomblob(16), 1) ON CONFLICT DO NOTHING",
                (name, status),
            )
        for plain in world:
            new = NewMemory(
                Kind(plain.kind), plain.content, plain.collection, NOW - round(plain.age * DAY), "map", "",
                session_id=plain.session, category=plain.category, confidence=plain.confidence,
                perception_data=plain.data or None, context='{"a":1}',
            )  # fmt: skip
            memory_id = rows.insert(transaction, new)
            rows.update(transaction, memory_id, {"status": plain.status, "access_count": plain.recalls})

    database.write(work).result()


def opened(path: object = ":memory:", **options: object) -> Database:
    """Open a database whose ids begin with 1, and which has lived the days until `NOW`."""
    database = Database(Parameters(db_path=str(path), synchronous="normal").changed(**options), clock=lambda: NOW)
    days = [(day,) for day in range(NOW // DAY - LIVED, NOW // DAY + 1)]

    def live(transaction: Transaction) -> None:
        transaction.execute("DELETE FROM lived_days")
        transaction.executemany("INSERT INTO lived_days (day, after_id) VALUES (?, 0)", days)

    database.write(live).result()
    return database


def ids(database: Database) -> list[int]:
    """Return the ids of all memories, active or not."""
    with database.snapshot() as snapshot:
        return [memory_id for (memory_id,) in snapshot.rows("SELECT id FROM memories ORDER BY id")]
