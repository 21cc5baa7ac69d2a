"""What there is in a database is read once in a snapshot, and anew outside of it."""

from __future__ import annotations

from pathlib import Path

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage import changes
from robotmem_ros.memory.storage.overview import overview
from robotmem_ros.memory.storage.snapshot import Transaction


def test_it_tells_what_there_is(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        with memory.parts.database.snapshot() as snapshot:
            empty = overview(snapshot)
        assert (empty.memories, empty.vectors, empty.model) == (0, 0, None)
        memory.learn("the lamp is broken")
        memory.save_perception("a red mug", label="mug", pose=(1.0, 2.0, 0.0), confidence=0.1)
        with memory.parts.database.snapshot() as snapshot:
            found = overview(snapshot)
        assert found.counts == {"fact": 1, "perception": 1, "note": 0}
        assert found.memories == 2


def test_in_a_snapshot_it_stays_and_the_next_one_sees_what_is_new(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        with memory.parts.database.snapshot() as snapshot:
            before = overview(snapshot)
            memory.learn("the lamp is broken")
            assert overview(snapshot) is before
        with memory.parts.database.snapshot() as snapshot:
            assert overview(snapshot).memories == 1


def test_in_a_transaction_that_writes_it_is_read_anew() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        memory.learn("the lamp is broken")

        def counted_twice(transaction: Transaction) -> tuple[int, int]:
            before = overview(transaction).memories
            changes.invalidate(transaction, [1], "a test")
            return before, overview(transaction).memories

        assert memory.parts.database.write(counted_twice).result() == (1, 0)
