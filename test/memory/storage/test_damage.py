"""Whatever is wrong in a damaged file, a verb either works or says so with an error of this package."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import FieldOfView, RobotMemory, RobotMemoryError, StorageError
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.embedders import WordVectors
from ...support.forks import output_of

PAGE = 2048
VIEW = FieldOfView((0.0, 3.0, 0.0), (1.0, 0.0, 0.0), 1, max_range=5.0, horizontal=1.0, vertical=0.5)

Damage = Callable[[bytearray, random.Random], None]


def flip_bits(data: bytearray, draw: random.Random) -> None:
    """Flips bits of bytes that are not 0: in most pages the rest is empty."""
    used = [at for at, byte in enumerate(data) if byte and at >= 100]
    for at in draw.sample(used, draw.choice([1, 10, 100])):
        data[at] ^= 1 << draw.randrange(8)


def overwrite_bytes(data: bytearray, draw: random.Random) -> None:
    """Writes other bytes into texts and numbers, the header of the file included."""
    for _ in range(draw.choice([1, 10, 100])):
        data[draw.randrange(len(data))] = draw.randrange(256)


def zero_a_page(data: bytearray, draw: random.Random) -> None:
    """Puts zeros in the place of a page."""
    start = PAGE * draw.randrange(len(data) // PAGE)
    data[start : start + PAGE] = bytes(PAGE)


def exchange_pages(data: bytearray, draw: random.Random) -> None:
    """Puts two pages each in the other's place."""
    exchange(data, *(draw.randrange(1, len(data) // PAGE) for _ in range(2)))


def exchange(data: bytearray, *numbers: int) -> None:
    """Puts two pages, numbered from 0, each in the other's place."""
    one, other = (PAGE * number for number in numbers)
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def cut_off(data: bytearray, draw: random.Random) -> None:
    """Cuts the end of the file off."""
    del data[draw.randrange(1, len(data)) :]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file that has something in each of its tables."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with RobotMemory(path, embedder=WordVectors(), synchronous="normal") as memory:
        session = memory.start_session({"task": {"name": "tidy"}}).session_id
        for number in range(30):
            context = {"task": {"success": True, "n": number}, "spatial": {"object_position": [number, 1, 2]}}
            memory.learn(f"grip force {number}.5 N holds the glass {number}", context, session_id=session)
            memory.save_perception(
                f"a red mug {number}", label="mug", pose=(number, 0, 0), data=b"a", metadata={"a": 1}
            )
        memory.store_sightings(chairs(memory, 10)).result()
        memory.update(3, "grip force 99 N holds the glass")
        memory.forget(5, "a test")
        memory.recall("glass")
        memory.end_session(session, 0.8)
        memory.start_session({"task": {"name": "look"}})
        memory.flush()
    return path.read_bytes()


def chairs(memory: RobotMemory, count: int) -> list[Any]:
    """Perceptions of chairs, five of them in different places."""
    return [
        new_perception(
            memory.parameters, NewPerception(description="a chair", label="chair", pose=(n % 5, 3, 0)), now=lambda: 5
        )
        for n in range(count)
    ]


def verbs(memory: RobotMemory) -> Iterator[Callable[[], object]]:
    """All that can be asked of a memory and done with it; what deletes comes last."""
    yield lambda: [(found.memory.context, found.memory.tags) for found in memory.recall("red mug glass", n=100)]
    yield lambda: memory.recall(context_filter={"task.success": True, "label": {"$ne": "x"}}, n=100)
    yield lambda: memory.recall("mug", spatial_sort={"field": "position", "target": [0, 0, 0]})
    yield lambda: memory.recall(spatial_sort={"field": "spatial.object_position", "target": [0, 0, 0]}, n=50)
    yield lambda: memory.recall(after=0, n=100)
    yield lambda: memory.learn("grip force 7.5 N holds the glass 7", {"task": {"success": False}})
    yield lambda: memory.save_perception("a blue mug", label="mug", pose=(1, 2, 3))
    yield lambda: memory.store_sightings(chairs(memory, 3), field_of_view=VIEW).result()
    yield lambda: memory.store_sightings([], field_of_view=VIEW).result()
    yield lambda: [memory.object_history(seen.memory_id) for seen in memory.objects()]
    for memory_id in range(1, 72, 5):
        yield lambda memory_id=memory_id: memory.history(memory_id)  # type: ignore[misc]
        yield lambda memory_id=memory_id: memory.explain(memory_id)  # type: ignore[misc]
        yield lambda memory_id=memory_id: memory.update(memory_id, f"other text {memory_id}")  # type: ignore[misc]
    yield lambda: memory.update(9, context={"a": [1, 2]})
    yield lambda: memory.forget(11, "a test")
    yield lambda: memory.restore(5)
    yield lambda: [session.context for session in memory.sessions.latest()]
    yield lambda: [memory.sessions.consolidate(session.session_id) for session in memory.sessions.latest()]
    yield memory.start_session
    yield lambda: [memory.end_session(session.session_id, 1.0) for session in memory.sessions.latest()]
    yield memory.status
    yield memory.flush
    yield lambda: memory.retain(dry_run=True)
    yield lambda: memory.purge(collection="default", dry_run=True)
    yield memory.retain
    yield lambda: memory.purge(before=2**62)
    yield memory.finish_purge


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("damage", [flip_bits, overwrite_bytes, zero_a_page, exchange_pages, cut_off])
def test_every_verb_works_or_says_that_the_file_is_damaged(
    tmp_path: Path, whole: bytes, damage: Damage, *, read_only: bool
) -> None:
    for seed in range(20):
        data = bytearray(whole)
        damage(data, random.Random(seed))
        path = tmp_path / f"{seed}.db"
        path.write_bytes(data)
        try:
            memory = RobotMemory(
                path,
                embedder=WordVectors(),
                synchronous="normal",
                max_memories=20,
                retention_sightings=3,
                retention_export=str(tmp_path / "export.jsonl"),
                read_only=read_only,
            )
        except RobotMemoryError:
            continue
        with memory:
            for verb in verbs(memory):
                with suppress(RobotMemoryError):
                    verb()


def leaves(path: Path) -> dict[str, list[int]]:
    """Return the leaf pages of each table and index that has several, in the order of their keys."""
    pages: dict[str, list[int]] = {}
    with closing(sqlite3.connect(path)) as connection:
        for name, page in connection.execute("SELECT name, pageno FROM dbstat WHERE pagetype = 'leaf' ORDER BY path"):
            pages.setdefault(name, []).append(page - 1)
    return {name: numbers for name, numbers in pages.items() if len(numbers) > 1}


def test_every_verb_ends_although_rows_are_listed_that_are_not_found(tmp_path: Path, whole: bytes) -> None:
    # By its key a row is looked for in one page, and lies in another.
    path = tmp_path / "whole.db"
    path.write_bytes(whole)
    pages_by_name = leaves(path)
    assert {"memories", "vectors"} <= pages_by_name.keys()
    original = path.read_bytes()
    for name, (first, *_, last) in pages_by_name.items():
        damaged = tmp_path / f"{name}.db"
        data = bytearray(original)
        exchange(data, first, last)
        damaged.write_bytes(data)
        with suppress(RobotMemoryError), RobotMemory(damaged, embedder=WordVectors(), synchronous="normal") as memory:
            for verb in verbs(memory):
                with suppress(RobotMemoryError):
                    verb()


def test_a_damaged_context_is_named_by_its_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("grip force 12 N holds the glass", {"zqx": {"number": 12345}})
    path.write_bytes(path.read_bytes().replace(b'{"zqx":', b'{"zqx"='))
    with RobotMemory(path, embedding_model="") as memory:
        (found,) = memory.recall("glass")
        with pytest.raises(StorageError, match=r"context of memory 1: JSONDecodeError: .* no version writes"):
            _ = found.memory.context


def test_only_sqlite_says_that_a_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        with pytest.raises(StorageError, match="KeyError: 263") as told, memory.parts.database.snapshot():
            raise KeyError(263)
        assert "damaged" not in str(told.value)
        with pytest.raises(StorageError, match="no such table") as told, memory.parts.database.snapshot() as snapshot:
            snapshot.rows("SELECT 1 FROM none_such")
        assert "damaged" not in str(told.value)
        for number in range(500):
            memory.save_perception(f"a mug {number}", data=bytes(2000))
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // PAGE):
        data[PAGE * page : PAGE * page + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(RobotMemoryError, match=r"malformed.*(: restore a copy|; restore a copy)"):
        RobotMemory(path, embedding_model="").status()


CUT_SHORT = """
import os, sys
from robotmem_ros.memory import RobotMemory, StorageError

path, options = sys.argv[1], {"embedding_model": "", "synchronous": "normal"}
with RobotMemory(path, **options) as memory:
    # More than SQLite keeps in its cache.
    data = bytes(9000)
    memory.save_many([{"description": f"bin {number} holds a part", "data": data} for number in range(2000)])
with RobotMemory(path, **options) as memory:
    memory.flush()
    memory.recall("bin 7")
    os.truncate(path, os.path.getsize(path) // 3)
    errors = 0
    for number in range(0, 2000, 100):
        try:
            assert memory.get_memories([hit.id for hit in memory.recall(f"bin {number}")])
        except StorageError:
            errors += 1
print("some named errors" if errors else "all answered")
"""


def test_a_file_that_is_cut_short_while_it_is_open_gives_named_errors(tmp_path: Path) -> None:
    """In a process of its own, which a bus error would end."""
    assert output_of(CUT_SHORT, tmp_path / "memory.db") == "some named errors\n"
