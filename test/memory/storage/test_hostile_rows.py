"""Whatever a row of an export holds: it is refused by the name of its field, or all that reads goes on."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING, Batch
from robotmem_ros.memory.doctor import Severity
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.maps import OccupancyGrid, Origin
from robotmem_ros.memory.new_unit import UNITS, check_unit
from robotmem_ros.memory.storage.revisions import uuid7

from ..conftest import OpenMemory
from .test_batches import whole

MISSING = object()
DEEP: Any = "x"
for _ in range(100):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    MISSING, None, "", "x", "active", "2026-01-31", "9999-99-99T99:99:99+00:00", -1, 0, 1, 0.5, 5.0, -3, 2**31, 2**53,
    2**62, 2**63 - 1, 2**63, 2**64, 10**400, 1e300, -1e300, 1e-320, float("nan"), float("inf"), True, [], {},
    ["x", None], {"a": 1}, {"x": {"y": [1]}}, [[1, 2]], DEEP, {"a": DEEP}, "\ud800", "a\0b", "x" * 3000, "\n", "@x/y",
)  # fmt: skip
TOGETHER = {
    "size_x",
    "size_y",
    "size_z",
    "type",
    "perception_type",
    "object",
    "label",
    "outcomes",
    "access_count",
    "last_accessed",
    "width",
    "height",
    "cells",
    "x",
    "y",
    "z",
    "qx",
    "qy",
    "qz",
    "qw",
}
"""Fields that must go together: the error may name another of them."""


def lived(memory: RobotMemory, folder: Path) -> Batch:
    """Return all that a memory holds that has something of everything."""
    session = memory.start_session({"place": "lab"}).session_id
    first = memory.learn(
        "hold the glass with 5 N", {"params": {"force": 5}}, session_id=session, tags=["grip"]
    ).memory_id
    memory.learn("hold the glass with 5 N", confidence=0.7)
    memory.update(first, human_summary="glass: 5 N")
    memory.learn("hold the glass with 9 N", {"params": {"force": 9}})
    memory.forget(memory.learn("mugs can fly").memory_id, "a mistake")
    for x in (0.0, 0.01, 0.02):
        for label, y in (("lamp", 2.0), ("cup", 2.4)):
            memory.save_perception(
                f"a {label}", label=label, pose=(1.0 + x, y, 0.5), data=b"\1\2", metadata={"format": "raw"},
                context={"spatial": {"object_position": [1, 2, 3]}}, session_id=session,
            )  # fmt: skip
    memory.recall("glass lamp", session_id=session)
    memory.flush()
    memory.end_session(session, 0.7)
    memory.tags.add("tools")
    memory.tags.add("grip", "tools", "Grip")
    cells = bytes(6)
    memory.maps.save(
        OccupancyGrid(map_id="", frame_id="map", resolution=0.1, origin=Origin(0, 0), width=2, height=3, cells=cells)
    )
    memory.flush()
    return whole(memory)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of a row down to its numbers and texts."""
    if path:
        yield path
    if path[-1:] != ("context",):
        for name, item in (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        ):
            yield from paths(item, (*path, name))


def changed(row: Mapping[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy of a row with another value at a path."""
    copied = copy.deepcopy(dict(row))
    inner: Any = copied
    for name in path[:-1]:
        inner = inner[name]
    if value is not MISSING:
        inner[path[-1]] = value
    else:
        del inner[path[-1]]
    return copied


def reads(memory: RobotMemory) -> list[Callable[[], object]]:
    """Return all that reads a memory, and writes beside what is there."""
    with memory.parts.database.snapshot() as snapshot:
        ids = snapshot.ids("SELECT id FROM memories")
    return [
        lambda: memory.recall("glass lamp cup", n=100, include_unconfirmed=True, explain=True, collection="*"),
        lambda: memory.recall("", labels=["lamp"], spatial_sort=(1, 2, 0), n=100, collection="*"),
        lambda: memory.recall("", context_filter={"params.force": {"$gt": 1}}, n=100),
        lambda: memory.timeline(n=100, collection="*"),
        lambda: memory.objects(include_unconfirmed=True),
        memory.status,
        memory.recalls,
        lambda: [memory.counts(field) for field in ("labels", "tags", "kinds")],
        lambda: [memory.get_memories(memory_id, include_forgotten=True) for memory_id in ids],
        lambda: [memory.history(memory_id) for memory_id in ids],
        lambda: memory.sessions.latest(n=100),
        memory.tags.all,
        lambda: [memory.maps.grid(info.map_id) for info in memory.maps.all()],
        lambda: memory.save_perception("a lamp", label="lamp", pose=(1, 2, 0.5)),
        lambda: [memory.learn("hold the glass with 5 N"), memory.learn("hold the glass with 7 N")],
        lambda: memory.end_session(memory.start_session().session_id, 1.0),
        memory.retain,
        lambda: [[*batch.lines()] for batch in iter(Follow(memory).step, None)],
    ]  # fmt: skip


class Follow:
    """Follows a memory from its beginning."""

    def __init__(self, memory: RobotMemory) -> None:
        self._memory, self._cursor = memory, BEGINNING

    def step(self) -> Batch | None:
        batch = self._memory.changes_since(self._cursor, 1000)
        self._cursor = self._cursor if batch is None else batch.cursor
        return batch


def test_a_clean_row_stays_as_it_is(memory: RobotMemory, tmp_path: Path) -> None:
    batch = lived(memory, tmp_path)
    assert {row["unit"] for row in batch.rows} >= {"memory", "session", "map", "tag"}
    for row in batch.rows:
        assert check_unit(row) == row
        assert UNITS[row["unit"]].keys() | {"unit", "id"} == row.keys() | {"id"}, row["unit"]


def hostile_rows(batch: Batch) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield each path of each row, with the row that has something hostile there."""
    for row in batch.rows:
        for path in paths(row):
            yield from ((path, changed(row, path, value)) for value in HOSTILE)


def checked(row: dict[str, Any]) -> tuple[dict[str, Any], InvalidFieldError | None]:
    """Return a row as it was checked, or why it was refused."""
    try:
        return check_unit(row), None
    except InvalidFieldError as error:
        return row, error


def stored(memory: RobotMemory, batch: Batch) -> bool:
    """Store a batch, and return whether it was not refused."""
    with suppress(InvalidFieldError):
        memory.apply(batch)
        return True
    return False


def test_a_hostile_row_is_refused_by_its_field_or_breaks_no_reading(
    memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    batch = lived(memory, tmp_path)
    victim = open_memory(tmp_path / "victim.db")
    own = victim.learn("my own fact").memory_id
    passed, misnamed, refusals = [], [], 0
    for path, row in hostile_rows(batch):
        clean, error = checked(row)
        if error is None:
            passed.append(clean | ({} if path == ("uuid",) else {"uuid": uuid7().hex()}))
            continue
        refusals += 1
        named = re.split(r"[ .\[]", error.field)[0]
        if named != path[0] and not {named, path[0]} <= TOGETHER and path != ("unit",):
            misnamed.append((path, str(error)))
    assert not misnamed
    assert refusals > 3000
    for start in range(0, len(passed), 100):
        rows = tuple(passed[start : start + 100])
        if not stored(victim, replace(batch, rows=rows)):
            assert sum(stored(victim, replace(batch, rows=(row,))) for row in rows)
    for read in reads(victim):
        read()
    assert victim.get_memories(own)[0].memory.content == "my own fact"
    assert not [finding for finding in victim.doctor() if finding.severity is Severity.ERROR]


def test_counts_whose_sum_no_integer_holds_are_refused(
    memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    batch = lived(memory, tmp_path)
    thing = next(row for row in batch.rows if row.get("object"))
    (label,) = thing["object"][0]["votes"]
    victim = open_memory(tmp_path / "victim.db")
    for path in (("object", 0, "votes", label), ("object", 0, "times_seen"), ("access_count",)):
        with pytest.raises(InvalidFieldError, match=re.escape(path[0])):
            victim.apply(replace(batch, rows=(changed(thing, path, 2**62),)))


def test_a_memory_that_was_recalled_at_no_time_is_refused(
    memory: RobotMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    batch = lived(memory, tmp_path)
    fact = next(row for row in batch.rows if row.get("type") == "fact")
    with pytest.raises(InvalidFieldError, match="last_accessed"):
        open_memory(tmp_path / "victim.db").apply(
            replace(batch, rows=({**fact, "access_count": 1, "last_accessed": None},))
        )
