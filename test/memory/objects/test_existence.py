"""The probability that an object exists follows Bayes' rule over the looks at its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.objects.existence import after_detection, after_first, after_miss, either

PROBABILITIES = st.floats(0.02, 0.99)
CONFIDENCES = st.floats(0.0, 1.0)
HITS = st.integers(0, 1000)
MISSES = st.floats(0.0, 1000.0)
FALSE_ALARMS = st.floats(0.01, 0.5)


@given(before=PROBABILITIES, hits=HITS, misses=MISSES, confidence=CONFIDENCES, false_alarms=FALSE_ALARMS)
def test_a_detection_updates_by_the_rule_of_bayes(
    before: float, hits: int, misses: float, confidence: float, false_alarms: float
) -> None:
    detection = (hits + 1) / (hits + misses + 2)
    if_it_exists = 1 - detection + detection * confidence / false_alarms
    expected = before * if_it_exists / (before * if_it_exists + 1 - before)
    found = after_detection(before, hits, misses, confidence, false_alarms=false_alarms)
    assert found == pytest.approx(min(max(expected, 0.02), 0.99))


@given(before=PROBABILITIES, hits=HITS, misses=MISSES)
def test_a_miss_updates_by_the_rule_of_bayes(before: float, hits: int, misses: float) -> None:
    miss = 1 - min((hits + 1) / (hits + misses + 2), 0.6)
    expected = before * miss / (before * miss + 1 - before)
    assert after_miss(before, hits, misses) == pytest.approx(max(expected, 0.02))


@given(confidence=CONFIDENCES, false_alarms=FALSE_ALARMS)
def test_one_detection_never_makes_an_object_likely(confidence: float, false_alarms: float) -> None:
    assert after_first(confidence, false_alarms=false_alarms) < 0.5


@pytest.mark.parametrize(("confidence", "looks"), [(0.9, 2), (0.5, 2), (0.3, 3)])
def test_so_many_detections_make_an_object_likely(confidence: float, looks: int) -> None:
    existence = after_first(confidence, false_alarms=0.1)
    for hits in range(1, looks):
        assert existence < 0.5
        existence = after_detection(existence, hits, 0, confidence, false_alarms=0.1)
    assert existence >= 0.5


@given(one=PROBABILITIES, other=PROBABILITIES)
def test_of_two_objects_that_are_one_at_least_one_exists(one: float, other: float) -> None:
    assert either(one, other) == pytest.approx(one + other - one * other)
