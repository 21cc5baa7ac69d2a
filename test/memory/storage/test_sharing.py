"""Several readers, writers, memories and processes on one file."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from robotmem_ros.memory import MemoryClosedError, MemoryNotFoundError, RobotMemory, StorageError
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.models import NewFact
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.storage import Database

from ...support.consistency import check_file
from ...support.embedders import WordVectors
from ...support.forks import output_of
from ..conftest import OpenMemory


def contents(memory: RobotMemory, query: str, n: int = 1) -> list[str]:
    """The contents of the best answers."""
    return [found.memory.content for found in memory.recall(query, n=n)]


def test_two_memories_on_one_file_see_what_the_other_does(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    # Many memories, so that vectors are compared in RAM, not one by one.
    for memory in [
        one.store(new_fact(one.parameters, NewFact(insight=f"thing {n}"), now=lambda: 1)) for n in range(2500)
    ]:
        memory.result()
    one.flush()
    assert len(other.recall("thing 7", n=5)) == 5
    mug = one.learn("purple mug").memory_id
    one.flush()
    assert contents(other, "purple mug") == ["purple mug"]
    other.update(mug, "golden spoon")
    other.flush()
    assert contents(one, "golden spoon") == ["golden spoon"]
    assert "purple mug" not in contents(one, "purple mug", n=100)
    one.forget(mug, "a test")
    assert "golden spoon" not in contents(other, "golden spoon", n=100)
    with pytest.raises(MemoryNotFoundError, match=f"memory_id: {mug} cannot be used, it is invalidated"):
        other.update(mug, "silver spoon")


def test_a_process_of_its_own_sees_and_changes_the_same_memory(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path)
    memory.learn("red mug")
    printed = output_of(
        "import sys\nfrom robotmem_ros.memory import RobotMemory\n"
        "with RobotMemory(sys.argv[1], embedding_model='') as memory:\n"
        "    print(memory.recall('mug')[0].memory.content)\n    memory.learn('blue mug')\n",
        path,
    )
    assert printed == "red mug\n"
    memory.flush()
    assert set(contents(memory, "mug", n=5)) == {"red mug", "blue mug"}
    assert memory.status().pending_vectors == 0


def test_readers_do_not_wait_for_a_writer_and_see_what_was_committed(tmp_path: Path) -> None:
    database = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    writing, read = threading.Event(), threading.Event()

    def write_slowly(connection: object) -> bool:
        connection.execute("INSERT INTO settings VALUES ('a', 'b')")  # type: ignore[attr-defined]
        writing.set()
        return read.wait(60)

    done = database.write(write_slowly)
    assert writing.wait(60)
    with database.snapshot() as snapshot:
        assert snapshot.row("SELECT count(*) FROM settings WHERE name = 'a'") == (0,)
    read.set()
    assert done.result()
    with database.snapshot() as snapshot:
        assert snapshot.row("SELECT count(*) FROM settings WHERE name = 'a'") == (1,)
    database.close()


def test_a_job_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    database = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    hold = threading.Event()
    database.write(lambda transaction: hold.wait(60))
    insert = "INSERT INTO settings VALUES (?, '')"
    good = [database.write(lambda transaction, n=n: transaction.execute(insert, (f"n{n}",))) for n in range(5)]  # type: ignore[misc]
    bad = database.write(lambda transaction: transaction.execute(insert, ("n0",)))
    broken = database.write(lambda transaction: (transaction.execute(insert, ("half",)), 1 // 0))
    cancelled = database.write(lambda transaction: transaction.execute(insert, ("never",)))
    assert cancelled.cancel()
    last = database.write(lambda transaction: transaction.execute(insert, ("last",)))
    hold.set()
    assert all(job.exception(60) is None for job in [*good, last])
    with pytest.raises(StorageError, match=r"could not write to the database .*: UNIQUE constraint failed"):
        bad.result(60)
    with pytest.raises(ZeroDivisionError):
        broken.result(60)
    with database.snapshot() as snapshot:
        found = {name for (name,) in snapshot.rows("SELECT name FROM settings")}
    new_file = {"robot", "schema", "indexed_texts", "last_memory", "lost_vectors", "late_links"}
    assert found == {*new_file, "last", *(f"n{n}" for n in range(5))}
    database.close()


@pytest.mark.parametrize("db_path", ["file", ":memory:"])
def test_threads_learn_recall_update_and_forget_at_once(tmp_path: Path, open_memory: OpenMemory, db_path: str) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path if db_path == "file" else db_path)
    colours = ["red", "blue", "green", "white"]

    def work(seed: int) -> set[int]:
        draw = random.Random(seed)
        kept: set[int] = set()
        for step in range(40):
            colour = draw.choice(colours)
            point = (draw.uniform(0, 9), draw.uniform(0, 9), 0.0)
            memory_id = memory.save_perception(
                f"{colour} mug {seed} {step}", pose=point, session_id=str(seed)
            ).memory_id
            kept.add(memory_id)
            if step % 3 == 0:
                memory.update(memory_id, f"{colour} cup {seed} {step}")
            if step % 4 == 0:
                memory.forget(memory_id, "a test")
                kept.discard(memory_id)
            mine = memory.recall(colour, n=100, session_id=str(seed))
            assert {found.id for found in mine} <= kept
            near = memory.recall("mug", spatial_sort={"field": "position", "target": point[:2]})
            assert [found.distance for found in near] == sorted(found.distance for found in near)
        return kept

    with ThreadPoolExecutor(8) as pool:
        kept = set().union(*pool.map(work, range(8)))
    memory.flush()
    status = memory.status()
    assert (status.memories, status.pending_vectors) == (len(kept), 0)
    found = {one.id for seed in range(8) for one in memory.recall(session_id=str(seed), n=100)}
    assert found == kept
    if db_path == "file":
        memory.close()
        assert check_file(path) == 8 * 40


def test_what_was_accepted_is_committed_by_close_and_nothing_goes_on_after_it(tmp_path: Path) -> None:
    memory = RobotMemory(tmp_path / "memory.db", embedder=WordVectors())
    futures = [
        memory.store(new_fact(memory.parameters, NewFact(insight=f"fact {n}"), now=lambda: 1)) for n in range(200)
    ]
    memory.close()
    memory.close()
    assert [future.result().memory_id for future in futures] == list(range(1, 201))
    for call in (lambda: memory.learn("more"), lambda: memory.recall("fact"), memory.status, memory.flush):
        with pytest.raises(MemoryClosedError, match="the memory is closed; open a new RobotMemory"):
            call()
    with RobotMemory(tmp_path / "memory.db", embedder=WordVectors()) as again:
        assert again.status().facts == 200
        again.flush()
        assert again.status().pending_vectors == 0


def test_who_waits_for_a_memory_in_ram_that_is_closed_meanwhile_is_told_so() -> None:
    for _ in range(20):
        database = Database(Parameters(db_path=":memory:"))
        with ThreadPoolExecutor(9) as threads:
            with database.snapshot():
                waiting = [threads.submit(database.schema_version) for _ in range(8)]
                closing = threads.submit(database.close)
            closing.result()
            errors = {type(future.exception()) for future in waiting}
        assert errors <= {type(None), MemoryClosedError}


def test_the_file_and_its_companions_are_for_their_owner_alone(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "new" / "folder" / "memory.db"
    memory = open_memory(path)
    memory.learn("red mug")
    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == ["memory.db", "memory.db-shm", "memory.db-wal"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert path.parent.stat().st_mode & 0o077 == 0


def test_in_memory_nothing_is_written_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_memory: OpenMemory
) -> None:
    monkeypatch.chdir(tmp_path)
    memory, other = open_memory(":memory:"), open_memory(":memory:")
    memory.learn("red mug")
    memory.flush()
    assert contents(memory, "mug") == ["red mug"]
    assert other.status().memories == 0
    assert (memory.status().db_bytes, memory.status().db_path) == (0, ":memory:")
    assert list(tmp_path.iterdir()) == []
