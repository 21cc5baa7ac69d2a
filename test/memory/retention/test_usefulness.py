"""The score of usefulness is the formula that is written down, and it says what it should."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.storage.retention_rows import LEAST_USEFUL_FIRST, PROTECTION, USEFULNESS, moment

from ...support.retention.oracle import Oracle, protection, usefulness
from ...support.retention.worlds import DAY, NOW, OPEN_SESSION, PLAIN, Plain, opened, stored


@given(world=st.lists(PLAIN, min_size=1, max_size=20))
def test_sql_computes_the_formula_to_the_last_bit(world: list[Plain]) -> None:
    database = opened()
    try:
        stored(database, world)
        with database.snapshot() as snapshot:
            found = snapshot.rows(
                f"SELECT {PROTECTION}, {USEFULNESS} FROM memories AS m ORDER BY m.id", moment(NOW) | {"limit": 0}
            )
            ranked = snapshot.rows(f"SELECT m.id FROM memories AS m ORDER BY {LEAST_USEFUL_FIRST}", moment(NOW))
    finally:
        database.close()
    assert found == [(protection(plain), usefulness(plain)) for plain in world]
    assert [memory_id for (memory_id,) in ranked] == Oracle(world).order()


NEW = Plain()
FIRST_GOES = [
    ("what is less certain", Plain(confidence=0.5), NEW),
    ("what is older", Plain(age=1), NEW),
    ("what was never recalled", NEW, Plain(recalls=1)),
    ("a new one of no use before an old one of great use", NEW, Plain(recalls=50, age=300)),
    ("what was asked for once, but long ago", Plain(recalls=1, age=200), NEW),
    ("what was forgotten, however useful", Plain(status="invalidated", recalls=99), Plain(confidence=0.1, age=900)),
    ("what was superseded, however useful", Plain(status="superseded", recalls=99), Plain(confidence=0.1, age=900)),
    ("any other before a lesson that is not consolidated", Plain(recalls=99), Plain(session=OPEN_SESSION, age=900)),
    ("a perception of an open session before a lesson", Plain(kind="perception", session=OPEN_SESSION, recalls=99),
     Plain(session=OPEN_SESSION, age=900)),
    ("a lesson of an ended session as any other", Plain(session="ended", age=1), Plain(age=0)),
    ("a lesson that is not consolidated before a constraint", Plain(session=OPEN_SESSION, recalls=99),
     Plain(category="constraint", confidence=0.1, age=900)),
    ("another old one before an old preference", Plain(age=300), Plain(category="preference", age=900)),
    ("of two that are the same the earlier", Plain(), Plain()),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [case[1:] for case in FIRST_GOES], ids=[case[0] for case in FIRST_GOES])
def test_memories_are_deleted_in_order_of_protection_and_usefulness(first: Plain, second: Plain) -> None:
    for world, expected in (([first, second], [1, 2]), ([second, first], [2, 1])):
        database = opened()
        stored(database, world)
        with database.snapshot() as snapshot:
            sql = f"SELECT m.id FROM memories AS m ORDER BY {LEAST_USEFUL_FIRST}"
            found = [memory_id for (memory_id,) in snapshot.rows(sql, moment(NOW))]
            assert found == ([1, 2] if first == second else expected)
        database.close()


def test_times_of_a_simulation_do_not_age_by_the_wall_clock_nor_the_other_way_round() -> None:
    simulated, real = Plain(age=NOW / DAY - 1.0), Plain(age=5.0)
    database = opened()
    stored(database, [simulated, real, replace(real, age=0.0)])
    with database.snapshot() as snapshot:
        sql = f"SELECT {USEFULNESS} FROM memories AS m ORDER BY m.id"
        by_wall = [value for (value,) in snapshot.rows(sql, moment(NOW))]
        by_simulation = [value for (value,) in snapshot.rows(sql, moment(2 * DAY))]
    assert by_wall == [0.9, 0.9 / 1.05, 0.9]
    assert by_simulation == [0.9 / 1.01, 0.9, 0.9]
    database.close()
