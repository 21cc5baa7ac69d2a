"""Numbers and arrays of numpy are taken wherever a number is, and stored as Python's own."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from robotmem_ros.memory import FieldOfView, InvalidFieldError, Parameters, RobotMemory, StorageError
from robotmem_ros.memory import validation as check
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage.connection import register_functions

from ..support.sightings import undetected
from .conftest import OpenMemory

INTEGERS = of_numpy.integer_dtypes() | of_numpy.unsigned_integer_dtypes()
WHOLE = INTEGERS.flatmap(of_numpy.from_dtype)
REAL = of_numpy.floating_dtypes().flatmap(
    lambda dtype: of_numpy.from_dtype(dtype, allow_nan=False, allow_infinity=False)
)
NO_NUMBERS = st.sampled_from(
    (np.bool_(True), np.str_("1"), np.bytes_(b"1"), np.timedelta64(1, "s"), np.array([1.0, 2.0]))
)
STAMP = np.int64(1_750_000_000_000_000_000)
TYPES = """
    SELECT name, typeof(value) FROM (
        SELECT 'observed_at' AS name, observed_at AS value FROM memories
        UNION ALL SELECT 'received_at', received_at FROM memories
        UNION ALL SELECT 'recalled_at', recalled_at FROM memories
        UNION ALL SELECT 'evidence_day', evidence_day FROM memories
        UNION ALL SELECT 'confidence', confidence FROM memories UNION ALL SELECT 'x', x FROM memories
        UNION ALL SELECT 'last_seen', last_seen FROM objects UNION ALL SELECT 'last_missed', last_missed FROM objects
        UNION ALL SELECT 'vxx', vxx FROM objects UNION ALL SELECT 'sighting', observed_at FROM sightings
        UNION ALL SELECT 'started_at', started_at FROM sessions UNION ALL SELECT 'outcome', outcome FROM sessions
    ) WHERE typeof(value) IN ('blob', 'text')
"""


@given(number=WHOLE)
def test_a_whole_number_of_numpy_is_pythons_own_behind_the_door(number: Any) -> None:
    fits = int(number) < 2**63
    assert not fits or type(check.whole("field", number)) is int
    assert not fits or number < 0 or check.time_ns("field", number) == int(number)
    assert (type(check.number("field", number)), check.number("field", number)) == (float, float(number))


@given(number=REAL)
def test_a_real_number_of_numpy_is_pythons_own_behind_the_door(number: Any) -> None:
    assert (type(check.number("field", number)), check.number("field", number)) == (float, float(number))
    with pytest.raises(InvalidFieldError, match=r"field: .* must be a whole number"):
        check.whole("field", number)


@given(value=NO_NUMBERS)
def test_what_is_no_number_of_numpy_is_refused(value: Any) -> None:
    for door in (check.number, check.whole, check.time_ns):
        with pytest.raises(InvalidFieldError, match=r"field: "):
            door("field", value)


@given(number=WHOLE | REAL, flag=st.booleans(), numbers=st.lists(st.integers(-9, 9), max_size=3))
def test_a_context_may_hold_numbers_and_arrays_of_numpy(number: Any, flag: bool, numbers: list[int]) -> None:
    context = {"number": number, "flag": np.bool_(flag), "list": [number], "array": np.array(numbers, np.int32)}
    clean = check.json_object("context", context, limit=1000)
    assert clean == {"number": number.item(), "flag": flag, "list": [number.item()], "array": numbers}
    assert json.loads(check.compact_json(clean)) == clean


@pytest.mark.parametrize("value", [np.float32("nan"), np.array([1.0, np.inf]), np.complex64(1), np.datetime64(1, "s")])
def test_what_json_cannot_hold_is_refused_by_its_field(memory: RobotMemory, value: object) -> None:
    with pytest.raises(InvalidFieldError, match=r"context: .* cannot be written as JSON"):
        memory.learn("a fact", {"a": value})


def test_every_door_of_a_memory_takes_numbers_of_numpy_and_none_is_stored_as_bytes(open_memory: OpenMemory) -> None:
    now = [STAMP]
    memory = open_memory(clock=lambda: now[0], object_radius=np.float32(0.5), object_min_existence=np.float32(0.1))
    session = memory.start_session({"run": np.int64(3)}).session_id
    memory.learn("a fact", {"force": np.float32(12.5)}, confidence=np.float32(0.5), observed_at=STAMP)
    memory.learn("another fact")
    place = np.array([2, 0, 0, 0, 0, 0, 1], np.float32)
    for t in range(2):
        seen = new_perception(
            memory.parameters,
            NewPerception(
                description="a mug",
                label="mug",
                pose=place,
                received_at=STAMP,
                confidence=np.float64(0.8),
                observed_at=STAMP + t,
                context={"spatial": {"at": np.array([1.5, 2.5])}},
            ),
            now=lambda: np.int64(1),
        )
        memory.store_sightings([seen], np.eye(3, dtype=np.float32)[np.newaxis]).result()
    memory.store_sightings([], np.empty((0, 3, 3))).result()
    number = np.float32
    view = FieldOfView(np.zeros(3), np.array([1, 0, 0]), STAMP + 10**10, number(5), number(1), number(1))  # type: ignore[arg-type]
    assert undetected(memory, view) == (3,)
    target = {"field": "spatial.at", "target": np.array([1.5, 2.5]), "max_distance": np.float32(1)}
    found = memory.recall(
        "mug", np.int8(5), np.float32(0.1), spatial_sort=target, after=STAMP, before=STAMP + 10,
        context_filter={"times_seen": np.int64(2), "confirmed": np.bool_(True)},
    )  # fmt: skip
    assert [one.id for one in found] == [3]
    assert len(memory.object_history(np.int64(3), np.int32(2))) == 1
    assert memory.objects(np.int64(9))[0].times_seen == 2
    memory.update(np.int64(1), confidence=np.float32(0.75))
    memory.flush()
    assert memory.end_session(session, np.float32(0.5)).session.session_id == session
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows(TYPES) == []
    assert memory.purge(ids=np.array([1, 2]), dry_run=True).memories == 2
    memory.forget(np.int64(2), "a test")
    assert len(memory.recall(kinds="fact", min_confidence=0)) == 1


@pytest.mark.parametrize("clock", [time.time, lambda: None, lambda: "now", lambda: np.float64(1)])
def test_a_clock_that_shows_no_whole_nanoseconds_is_named(clock: Callable[[], Any]) -> None:
    with (
        RobotMemory(":memory:", embedding_model="", clock=clock) as memory,
        pytest.raises(InvalidFieldError, match=r"clock: .* must be a whole number"),
    ):
        memory.learn("a fact")


def test_parameters_take_numbers_of_numpy() -> None:
    parameters = Parameters().changed(object_radius=np.float32(0.5), object_window=np.int64(7), decay_rate=np.int8(0))
    assert [type(value) for value in (parameters.object_radius, parameters.object_window)] == [float, int]
    with pytest.raises(InvalidFieldError, match=r"object_window: .* must be of type int"):
        Parameters().changed(object_window=np.float32(7))
    with pytest.raises(InvalidFieldError, match=r"object_radius: .*nan.* must be a finite number"):
        Parameters().changed(object_radius=np.float64(math.nan))


def test_a_stamp_that_was_stored_as_bytes_is_told_of_by_the_id_of_its_memory(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory()
    memory.save_perception("a box")
    memory.close()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        register_functions(connection)
        connection.execute("UPDATE memories SET observed_at = x'0102030405060708'")
    connection.close()
    memory = open_memory()
    for query in ("box", ""):
        with pytest.raises(StorageError, match=r"could not read memory 1: .*; no version writes such a value"):
            memory.recall(query, kinds="perception")
