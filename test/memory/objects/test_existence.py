"""The probability that an object exists follows Bayes' rule over the looks at its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.objects.existence import (
    after_detection,
    after_first,
    after_miss,
    either_exists,
    independence,
)

PROBABILITIES = st.floats(0.02, 0.995)
CONFIDENCES = st.floats(0.0, 1.0)
HITS = st.floats(0.0, 1000.0)
MISSES = st.floats(0.0, 1000.0)
FALSE_ALARMS = st.floats(0.01, 0.5)
FRESH = st.floats(0.0, 1.0)


@given(before=PROBABILITIES, looks=st.tuples(HITS, MISSES), confidence=CONFIDENCES, f=FALSE_ALARMS, fresh=FRESH)
def test_a_detection_updates_by_the_rule_of_bayes(
    before: float, looks: tuple[float, float], confidence: float, f: float, fresh: float
) -> None:
    hits, misses = looks
    detection = (hits + 1) / (hits + misses + 2)
    if_it_does_not = 0.4 ** (1 - fresh) * (f / (1 + 2 * misses)) ** fresh
    if_it_exists = 1 - detection + detection * confidence / if_it_does_not
    expected = before * if_it_exists / (before * if_it_exists + 1 - before)
    found = after_detection(before, hits, misses, confidence, false_alarms=f, fresh=fresh)
    assert found == pytest.approx(min(max(expected, 0.02), 0.995))


@given(before=PROBABILITIES, hits=HITS, misses=MISSES, fresh=FRESH)
def test_a_miss_updates_by_the_rule_of_bayes(before: float, hits: float, misses: float, fresh: float) -> None:
    miss = (1 - min((hits + 1) / (hits + misses + 2), 0.8)) ** fresh
    expected = before * miss / (before * miss + 1 - before)
    assert after_miss(before, hits, misses, fresh=fresh) == pytest.approx(max(expected, 0.02))


@given(before=PROBABILITIES, hits=HITS, misses=MISSES, looks=st.integers(1, 20))
def test_looks_that_depend_on_each_other_disprove_as_much_as_one(
    before: float, hits: float, misses: float, looks: int
) -> None:
    existence = before
    for _ in range(looks):
        existence = after_miss(existence, hits, misses, fresh=1 / looks)
    assert existence == pytest.approx(after_miss(before, hits, misses, fresh=1.0))


@pytest.mark.parametrize(("since", "share"), [(0, 0), (1, 0.1), (10, 1), (60, 1)])
def test_looks_become_independent_with_time(since: float, share: float) -> None:
    assert independence(since) == share


@given(confidence=CONFIDENCES, false_alarms=FALSE_ALARMS)
def test_one_detection_never_makes_an_object_likely(confidence: float, false_alarms: float) -> None:
    assert after_first(confidence, false_alarms=false_alarms) < 0.5


@pytest.mark.parametrize(
    ("confidence", "fresh", "looks"), [(0.9, 0.1, 2), (0.5, 0.1, 6), (0.9, 1, 2), (0.5, 1, 2), (0.3, 1, 3)]
)
def test_so_many_detections_make_an_object_likely(confidence: float, fresh: float, looks: int) -> None:
    existence = after_first(confidence, false_alarms=0.1)
    for number in range(looks - 1):
        assert existence < 0.5
        existence = after_detection(existence, 1 + number * fresh, 0, confidence, false_alarms=0.1, fresh=fresh)
    assert existence >= 0.5


@given(one=PROBABILITIES, other=PROBABILITIES)
def test_of_two_objects_that_are_one_at_least_one_exists(one: float, other: float) -> None:
    assert either_exists(one, other) == pytest.approx(one + other - one * other)
