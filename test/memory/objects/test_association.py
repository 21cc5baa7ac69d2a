"""Sightings are assigned to objects one to one, within the gate, at the least total cost."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.geometry import Covariance, Estimate, isotropic
from robotmem_ros.memory.objects import association
from robotmem_ros.memory.objects.association import (
    UNASSIGNED_COST,
    Costs,
    are_at_one_place,
    associate,
    cheapest,
    cost,
)
from robotmem_ros.memory.objects.sightings import NewSighting
from robotmem_ros.memory.tracks import Track

from ...support.sightings import sighting

PLACES = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.2, 0.2))
PRICES = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.floats(0, 1.5), max_size=14)


def seen(x: float, y: float = 0.0, z: float = 0.0, *, covariance: Covariance | None = None) -> NewSighting:
    estimate = Estimate((x, y, z), covariance or isotropic(0.1))
    return NewSighting(
        0,
        sighting(x, y, z),
        estimate,
        covariance is not None,
        frozenset({"chair"}),
        radius=0.4,
        gate=0.4 if covariance is None else 1.2,
        is_tracked=False,
        is_told=False,
    )


def known(x: float, y: float = 0.0, z: float = 0.0, *, confirmed: bool = True) -> Track:
    return Track(1, "chair", "{}", Estimate((x, y, z), isotropic(0.05)), {}, 1, 1, 1, 0.9, 1, 1, confirmed)


def total(costs: Costs, columns: tuple[int | None, ...] | list[int | None]) -> float:
    return sum(
        UNASSIGNED_COST if column is None else costs.get((row, column), math.inf) for row, column in enumerate(columns)
    )


@given(costs=PRICES)
def test_the_assignment_is_the_cheapest_of_all_that_are_one_to_one(costs: Costs) -> None:
    found = cheapest(5, costs)
    taken = [column for column in found if column is not None]
    assert len(taken) == len(set(taken))
    # Every way to give five rows one of five columns or none.
    choices = itertools.product((*range(5), None), repeat=5)
    ways = (way for way in choices if all(way.count(column) <= 1 for column in range(5)))
    assert total(costs, found) == pytest.approx(min(total(costs, way) for way in ways))


@given(sightings=st.lists(PLACES, max_size=12), objects=st.lists(PLACES, max_size=12), dice=st.randoms())
def test_no_object_is_given_twice_and_order_does_not_matter(
    sightings: list[tuple[float, float, float]], objects: list[tuple[float, float, float]], dice: object
) -> None:
    things = [known(*place) for place in objects]
    seen_now = [seen(*place) for place in dict.fromkeys(sightings)]
    columns = associate(seen_now, things)
    taken = [column for column in columns if column is not None]
    assert len(taken) == len(set(taken))
    assert all(
        column is None or cost(one, things[column], at=0) is not None
        for one, column in zip(seen_now, columns, strict=True)
    )
    # Whoever stays alone has no free object within the gate.
    free = [things[column] for column in set(range(len(things))) - set(taken)]
    alone = [one for one, column in zip(seen_now, columns, strict=True) if column is None]
    assert all(cost(one, thing, at=0) is None for one in alone for thing in free)
    assert len(associate(seen_now[::-1], things)) == len(columns)
    assert sum(column is None for column in associate(seen_now[::-1], things)) == len(alone)


def test_two_objects_seen_shifted_to_the_same_side_stay_two() -> None:
    # The nearest object of the first sighting is that of the second.
    assert associate([seen(0.3), seen(0.8)], [known(0.0), known(0.5)]) == [0, 1]


def test_a_group_too_large_for_the_best_assignment_is_assigned_one_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(association, "_MAX_GROUP", 2)
    columns = associate([seen(0.01 * i) for i in range(9)], [known(0.01 * i) for i in range(7)])
    assert sorted(column for column in columns if column is not None) == list(range(7))
    assert columns[:7] == list(range(7))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (seen(0.0), known(0.41)),
        (seen(0.0, 0.0, 0.0), known(0.0, 0.0, 0.41)),
        (seen(0.0, covariance=isotropic(0.5)), known(1.21)),
        (seen(0.0, covariance=isotropic(0.1)), known(0.41)),
    ],
)
def test_what_is_outside_of_the_gate_is_not_assigned(one: NewSighting, other: Track) -> None:
    assert associate([one], [other]) == [None]


def test_a_covariance_opens_the_gate_where_it_is_wide_and_only_in_that_direction() -> None:
    along_x = Covariance(0.25, 0.0, 0.0, 0.0001, 0.0, 0.0001)
    assert associate([seen(0.0, covariance=along_x)], [known(1.0)]) == [0]
    assert associate([seen(0.0, covariance=along_x)], [known(0.0, 1.0)]) == [None]


def test_a_sighting_goes_to_the_confirmed_of_two_equally_near_objects() -> None:
    assert associate([seen(0.0)], [known(0.1, confirmed=False), known(-0.1)]) == [1]


@pytest.mark.parametrize(
    ("apart", "count", "is_one"), [(0.3, 1, True), (0.6, 1, False), (0.3, 20, False), (0.1, 20, True)]
)
def test_the_noise_of_few_sightings_explains_a_distance_that_many_do_not(
    apart: float, count: int, is_one: bool
) -> None:
    one, other = (Estimate((x, 0.0, 0.0), isotropic(0.1 / math.sqrt(count))) for x in (0.0, apart))
    assert are_at_one_place(one, other, stddev=0.05) is is_one
