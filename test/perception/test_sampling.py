"""Sampling: what is kept, and why the rest is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception import Observation, Reason, Sample, Sampler, parse_topic

from ..support.perception.messages import PRESETS

S = 1_000_000_000


def sampler(**keys: Any) -> Sampler:
    return Sampler(parse_topic("t", {"topic": "/t", "type": "std_msgs/msg/String"} | keys, PRESETS))


def seen(x: float | None = None, label: str = "mug", **values: Any) -> Observation:
    place = None if x is None else (x, 0.0, 0.0)
    return Observation(description=label, stamp_ns=S, label=label, pose=place, **values)


def why(sample: Sample) -> dict[Reason, int]:
    return dict(sample.left_out)


def test_everything_is_kept_unless_asked_otherwise() -> None:
    every = sampler()
    for at in range(3):
        assert every.sample(at, [seen(0.0), seen(0.0)]) == Sample((seen(0.0), seen(0.0)), every.sample(0, []).left_out)


def test_between_two_kept_messages_lies_the_interval() -> None:
    slow = sampler(min_interval=1.0)
    kept = [at for at in range(50) if slow.sample(at * S // 10, [seen()]).kept]
    assert kept == [0, 10, 20, 30, 40]
    assert why(slow.sample(41 * S // 10, [seen(), seen()])) == {Reason.MIN_INTERVAL: 2}


def test_a_message_too_soon_is_known_before_it_is_read() -> None:
    slow = sampler(min_interval=1.0)
    assert not slow.too_soon(5 * S)
    slow.sample(5 * S, [seen()])
    assert slow.too_soon(6 * S - 1)
    assert not slow.too_soon(6 * S)


def test_a_message_of_which_nothing_was_kept_starts_no_interval() -> None:
    slow = sampler(min_interval=10.0, labels=["keys"])
    assert why(slow.sample(0, [seen(label="mug")])) == {Reason.LABEL_NOT_WANTED: 1}
    assert slow.sample(S, [seen(label="keys")]).kept


def test_time_that_goes_back_starts_anew_and_is_counted() -> None:
    slow = sampler(min_interval=10.0)
    slow.last_stored.states["mug"] = "a"
    assert slow.sample(100 * S, [seen(0.0, state="a")]).kept
    assert slow.sample(5 * S, [seen(0.0, state="a")]).kept
    assert not slow.last_stored.states
    assert slow.jumps_back == 1
    assert slow.too_soon(6 * S)


def test_a_message_that_came_late_is_no_jump() -> None:
    slow = sampler(min_interval=1.0)
    slow.sample(10 * S, [seen()])
    assert slow.too_soon(10 * S - S // 2)
    assert slow.jumps_back == 0


def test_one_stamp_far_in_the_future_does_not_stop_the_topic() -> None:
    slow = sampler(min_interval=1.0)
    slow.sample(4_000_000_000 * S, [seen()])
    assert slow.sample(10 * S, [seen()]).kept


def test_confidence_and_labels_are_looked_at() -> None:
    picky = sampler(min_confidence=0.5, labels=["Mug", "Keys"], ignore_labels=["KEYS"])
    sample = picky.sample(
        0, [seen(), seen(confidence=0.4), seen(confidence=0.5), seen(label="keys"), seen(label="cup")]
    )
    assert sample.kept == (seen(), seen(confidence=0.5))
    assert why(sample) == {Reason.MIN_CONFIDENCE: 1, Reason.LABEL_NOT_WANTED: 2}


def test_a_message_takes_the_place_of_one_that_was_lost_and_of_no_earlier_one() -> None:
    slow = sampler(min_interval=2.0)
    assert slow.sample(0, [seen()]).kept
    assert slow.sample(2 * S, [seen()]).kept
    slow.release(0)
    assert slow.too_soon(2 * S + S // 2)
    slow.release(2 * S)
    assert slow.too_soon(2 * S - 1)
    assert not slow.too_soon(2 * S + 1)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 1), st.floats(-5, 5))))),
    st.floats(0, 3), st.floats(0, 1),
)  # fmt: skip
def test_every_observation_is_kept_or_counted(
    messages: list[tuple[int, list[tuple[str, float, float]]]], interval: float, confidence: float
) -> None:
    some = sampler(min_interval=interval, min_confidence=confidence, ignore_labels=["c"])
    for at, things in messages:
        given_ = [seen(x, label, confidence=sure) for label, sure, x in things]
        sample = some.sample(at * S, given_)
        assert len(sample.kept) + sum(sample.left_out.values()) == len(given_)
        assert all(one.label != "c" and one.confidence >= confidence for one in sample.kept)


@pytest.mark.parametrize("interval", [0.1, 0.03, 1.0])
def test_an_interval_that_is_no_binary_fraction_keeps_its_step(interval: float) -> None:
    step = round(interval * S)
    slow = sampler(min_interval=interval)
    assert all(slow.sample(at * step, [seen()]).kept for at in range(100))
