"""Budgets are read from parameters, and met in a fixed order."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import InvalidFieldError, Kind, Parameters
from robotmem_ros.memory.clocks import DAY
from robotmem_ros.memory.config.budgets import Budget, Measure

ROWS, BYTES, AGE, FILE = Measure.ROWS, Measure.BYTES, Measure.AGE, Measure.FILE


def test_without_parameters_there_are_no_budgets() -> None:
    assert Parameters().budgets() == ()


def test_parts_are_a_collection_a_kind_or_both() -> None:
    text = " lab: 20 rows,*/perception:1.5 days, lab/fact : 5 MB, a/b: 7 rows, c:d/fact: 0 rows, * : 3 kB"
    assert set(Parameters(retention_budgets=text).budgets()) == {
        Budget(ROWS, 20, "lab"),
        Budget(AGE, DAY * 3 // 2, None, Kind.PERCEPTION),
        Budget(BYTES, 5_000_000, "lab", Kind.FACT),
        Budget(ROWS, 7, "a/b"),
        Budget(ROWS, 0, "c:d", Kind.FACT),
        Budget(BYTES, 3000),
    }


def test_age_comes_first_then_the_narrower_part_and_the_file_at_last() -> None:
    parameters = Parameters(
        max_memories=9,
        retention_bytes=10**6,
        retention_age=30,
        retention_budgets="*: 8 bytes, b: 1 rows, a: 2 bytes, a: 1 rows, a/fact: 1 rows, */fact: 1 rows, a: 2 days",
    )
    assert parameters.budgets() == (
        Budget(AGE, 2 * DAY, "a"),
        Budget(AGE, 30 * DAY),
        Budget(ROWS, 1, "a", Kind.FACT),
        Budget(ROWS, 1, "a"),
        Budget(BYTES, 2, "a"),
        Budget(ROWS, 1, "b"),
        Budget(ROWS, 1, None, Kind.FACT),
        Budget(ROWS, 9),
        Budget(BYTES, 8),
        Budget(FILE, 10**6),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"retention_budgets": "lab"}, "retention_budgets: 'lab' must be such as `lab: 5000 rows` or"),
        ({"retention_budgets": "lab: 5"}, "retention_budgets: 'lab: 5' must be such as"),
        ({"retention_budgets": "lab: many rows"}, "retention_budgets: 'lab: many rows' must be such as"),
        ({"retention_budgets": "lab: 5 weeks"}, ".* units are rows, days, bytes, kB, MB, GB"),
        ({"retention_budgets": ": 5 rows"}, "retention_budgets: ': 5 rows' must be such as"),
        ({"retention_budgets": "a: 5 rows,"}, "retention_budgets: '' must be such as"),
        ({"retention_budgets": "a: -5 rows"}, "retention_budgets: 'a: -5 rows' must be such as"),
        ({"retention_budgets": "a: nan rows"}, "retention_budgets: 'a: nan rows' must be such as"),
        ({"retention_budgets": "a: 1e30 GB"}, "retention_budgets: 'a: 1e30 GB' must be such as"),
        ({"retention_budgets": "a: 5 rows, a: 6 rows"}, "retention_budgets: 'a: 6 rows' is a second budget"),
        ({"retention_budgets": "a: 5 MB, a: 6 kB"}, "retention_budgets: 'a: 6 kB' is a second budget for"),
        ({"retention_bytes": 999_999}, "retention_bytes: 999999 must be 0 or at least 1000000"),
    ],
)
def test_a_budget_that_cannot_be_used_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        Parameters().changed(**changes)
