"""How often things leave is learned from stays whose ends nobody saw, and tells how likely one is still there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.persistence import LEAVE_RATE, Departures, after_time, departures


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("patrols", [0.1, 1.5])
def test_the_rate_is_found_also_if_things_leave_faster_than_anybody_looks(rate: float, patrols: float) -> None:
    dice = np.random.default_rng(1)
    stayed = dice.exponential(1 / rate, 4000)
    # Looks come every so many hours; the first of them saw each thing just when it had come.
    seen = np.floor(stayed / patrols) * patrols
    found = departures(tuple((hours, patrols) for hours in seen.tolist()))
    assert found.ended == 4000
    assert found.leave_rate() == pytest.approx(rate, rel=0.1)


def test_without_stays_one_departure_in_a_day_is_assumed_and_soon_forgotten() -> None:
    none = departures(())
    assert none == Departures()
    assert none.leave_rate() == LEAVE_RATE == 1 / 24
    assert none.leave_rate(36.0) == pytest.approx(LEAVE_RATE / 4)
    assert departures(((0.5, 0.0),) * 8).leave_rate() == pytest.approx(8.5 / 16)


@given(
    before=st.floats(0.02, 0.98),
    hours=st.floats(0.0, 1000.0),
    more=st.floats(0.0, 1000.0),
    rate=st.floats(1e-4, 10.0),
)
def test_a_probability_falls_in_two_steps_as_in_one_towards_the_share_of_time_that_things_are_there(
    before: float, hours: float, more: float, rate: float
) -> None:
    then = after_time(before, hours, leave_rate=rate)
    assert then <= before
    assert after_time(then, more, leave_rate=rate) == pytest.approx(after_time(before, hours + more, leave_rate=rate))
    assert after_time(before, 0.0, leave_rate=rate) == pytest.approx(before)
    assert after_time(before, 1e6, leave_rate=rate) == pytest.approx(min(before, (1 / 24) / (1 / 24 + rate)))
