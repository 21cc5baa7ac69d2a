"""Sampling: which messages and observations are stored, and why the others are not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Pose
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.perception import DropReason, Observation, parse_topic
from robotmem_ros.perception.message_types import _raw_stamp, raw_stamp_reader
from robotmem_ros.perception.sampling import Comparison, LastStored, Sample, Sampler

from ..support.perception.messages import HEADER, PRESETS, STAMP_NS, Maker

S = 1_000_000_000


@pytest.mark.parametrize(
    "type_name", ["nav_msgs/msg/Odometry", "sensor_msgs/msg/Image", "geometry_msgs/msg/PoseWithCovarianceStamped"]
)
def test_the_header_s_stamp_is_read_from_the_bytes(maker: Maker, type_name: str) -> None:
    read = raw_stamp_reader(maker.types, type_name)
    assert read is not None
    assert read(maker.raw(type_name, {"header": HEADER})) == STAMP_NS
    assert read(maker.raw(type_name, {})) is None
    assert read(maker.raw(type_name, {"header": {"stamp": {"sec": -5}}})) is None


@pytest.mark.parametrize(
    "type_name", ["std_msgs/msg/String", "visualization_msgs/msg/MarkerArray", "std_msgs/msg/Empty"]
)
def test_what_does_not_begin_with_a_header_has_no_reader(maker: Maker, type_name: str) -> None:
    assert raw_stamp_reader(maker.types, type_name) is None


def test_the_other_byte_order_is_read_too() -> None:
    assert _raw_stamp(b"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07") == 5_000_000_007


@given(st.binary(max_size=24))
def test_any_bytes_are_a_time_or_none(raw: bytes) -> None:
    stamp = _raw_stamp(raw)
    assert stamp is None or 0 < stamp < 2**31 * 10**9


def perception(x: float | None, label: str) -> NewMemory:
    pose = None if x is None else Pose(x, 0.0, 0.0)
    return NewMemory(Kind.PERCEPTION, label, "default", S, "map", "", pose=pose, label=label)


def at(
    x: float | None,
    label: str = "mug",
    frame: str = "map",
    identity: str = "",
    *,
    state: str | None = None,
    second: int = 1,
) -> Observation:
    new = replace(perception(x, label), frame_id=frame, identity=identity, observed_at=second * S)
    return Observation(new, state=state)


def stored(last: LastStored, *message: Observation) -> list[bool]:
    """Whether each observation of a message is stored, when everything that can be is."""
    comparison = Comparison(last)
    found = []
    for one in message:
        found.append(comparison.reason(one) is None)
        if found[-1]:
            comparison.accept(one)
    comparison.commit()
    return found


def test_an_observation_that_has_not_moved_is_dropped() -> None:
    last = LastStored(0.5, 0)
    assert [x for x in (0.0, 0.3, 0.49, 0.5, 0.9, 1.0) if stored(last, at(x)) == [True]] == [0.0, 0.5, 1.0]
    assert Comparison(last).reason(at(1.2)) is DropReason.MIN_DISPLACEMENT


def test_two_chairs_in_one_message_stay_two_and_are_not_stored_again() -> None:
    last = LastStored(2.0, 0)
    chairs = [at(0.0, "chair"), at(0.5, "chair")]
    assert stored(last, *chairs) == [True, True]
    assert stored(last, *chairs) == [False, False]
    assert stored(last, at(0.0, "table"), *chairs) == [True, False, False]
    assert stored(last, at(9.0, "chair"), at(0.5, "chair")) == [True, False]


def test_an_observation_without_a_position_need_not_move() -> None:
    last = LastStored(2.0, 0)
    assert [stored(last, at(None)) for _ in range(2)] == [[True], [True]]


def test_without_a_min_displacement_everything_is_stored() -> None:
    last = LastStored(0.0, 0)
    assert [stored(last, at(1.0)) for _ in range(2)] == [[True], [True]]


def test_things_are_told_apart_by_identity_and_frame() -> None:
    last = LastStored(2.0, 0)
    for one in (at(0.0), at(0.0, frame="odom"), at(0.0, identity="7")):
        assert stored(last, one) == [True]
        assert stored(last, one) == [False]
    last.reset()
    assert stored(last, at(0.0)) == [True]


def test_only_changes_of_each_thing_are_stored() -> None:
    last = LastStored(0.0, 0)
    states = [("a", "ok"), ("b", "ok"), ("a", "ok"), ("a", "hot"), ("b", "ok"), ("a", "ok")]
    found = [stored(last, at(None, identity=name, state=state)) for name, state in states]
    assert found == [[True], [True], [False], [True], [False], [True]]
    assert Comparison(last).reason(at(None, identity="a", state="ok")) is DropReason.UNCHANGED


def test_a_state_is_stored_once_of_one_message() -> None:
    assert stored(LastStored(0.0, 0), at(None, state="ok"), at(None, state="ok")) == [True, False]


def test_a_change_of_what_has_not_moved_is_still_a_change_when_it_moves() -> None:
    last = LastStored(1.0, 0)
    assert stored(last, at(0.0, state="shut")) == [True]
    assert stored(last, at(0.0, state="open")) == [False]
    assert stored(last, at(5.0, state="open")) == [True]


def test_what_is_not_committed_is_not_remembered() -> None:
    last = LastStored(1.0, 0)
    lost = Comparison(last)
    assert lost.reason(at(0.0, state="ok")) is None
    lost.accept(at(0.0, state="ok"))
    assert stored(last, at(0.0, state="ok")) == [True]


def test_an_observation_that_could_not_be_written_is_not_remembered() -> None:
    last = LastStored(1.0, 0)
    assert stored(last, at(0.0, state="ok")) == [True]
    failed = Comparison(last)
    failed.accept(at(9.0, state="hot"))
    failed.commit()
    failed.forget()
    assert stored(last, at(9.0, state="hot")) == [True]


def test_the_number_of_remembered_observations_is_bounded() -> None:
    last = LastStored(1.0, 0)
    stored(last, *(at(0.0, str(number), state="ok") for number in range(10_001)))
    assert stored(last, at(0.0, "0", state="ok"), at(0.0, "10000", state="ok")) == [True, False]


def sampler(**keys: Any) -> Sampler:
    return Sampler(parse_topic("t", {"topic": "/t", "type": "std_msgs/msg/String"} | keys, PRESETS))


def seen(x: float | None = None, label: str = "mug", **values: Any) -> Observation:
    new = replace(perception(x, label), confidence=values.pop("confidence", 0.9))
    return Observation(new, **values)


def why(sample: Sample) -> dict[DropReason, int]:
    return dict(sample.reasons)


def test_everything_is_kept_unless_asked_otherwise() -> None:
    every = sampler()
    for at in range(3):
        assert every.sample(at, [seen(0.0), seen(0.0)]) == Sample([seen(0.0), seen(0.0)], [], Counter())


def test_between_two_kept_messages_lies_the_interval() -> None:
    slow = sampler(min_interval=1.0)
    kept = [at for at in range(50) if slow.sample(at * S // 10, [seen()]).observations]
    assert kept == [0, 10, 20, 30, 40]
    assert why(slow.sample(41 * S // 10, [seen(), seen()])) == {DropReason.MIN_INTERVAL: 2}


def test_a_message_too_soon_is_known_before_it_is_raw_stamp() -> None:
    slow = sampler(min_interval=1.0)
    assert not slow.too_soon(5 * S)
    slow.sample(5 * S, [seen()])
    assert slow.too_soon(6 * S - 1)
    assert not slow.too_soon(6 * S)


def test_what_repeats_without_a_place_is_stored_again_after_the_interval() -> None:
    last = LastStored(0.0, 10 * S)
    mugs = (at(None, second=0), at(None, second=0), at(None, "cup", second=0))
    assert stored(last, *mugs) == [True, True, True]
    assert stored(last, at(None, second=9), at(1.0, second=9), at(None, identity="7", second=9)) == [False, True, True]
    assert stored(last, at(None, second=10), at(None, second=10)) == [True, True]
    assert stored(last, at(None, second=19)) == [False]


def test_an_unchanged_state_is_stored_again_after_the_interval_and_a_new_one_at_once() -> None:
    last = LastStored(0.0, 10 * S)
    states = [("ok", 0), ("ok", 9), ("bad", 9), ("ok", 9), ("ok", 18), ("ok", 19), ("ok", 20)]
    kept = [stored(last, at(1.0, state=state, second=second))[0] for state, second in states]
    assert kept == [True, False, True, True, False, True, False]


def test_a_message_of_which_nothing_was_kept_starts_no_interval() -> None:
    slow = sampler(min_interval=10.0, labels=["keys"])
    assert why(slow.sample(0, [seen(label="mug")])) == {DropReason.LABEL_NOT_WANTED: 1}
    assert slow.sample(S, [seen(label="keys")]).observations


def test_sampling_starts_over_when_time_goes_back() -> None:
    slow = sampler(min_interval=10.0)
    slow.last_stored.states["mug"] = "a", 0
    assert slow.sample(100 * S, [seen(0.0, state="a")]).observations
    assert slow.sample(5 * S, [seen(0.0, state="a")]).observations
    assert not slow.last_stored.states
    assert slow.too_soon(6 * S)


def test_a_message_that_came_late_is_no_jump() -> None:
    slow = sampler(min_interval=1.0)
    slow.sample(10 * S, [seen()])
    assert slow.too_soon(10 * S - S // 2)


def test_one_stamp_far_in_the_future_does_not_stop_the_topic() -> None:
    slow = sampler(min_interval=1.0)
    slow.sample(4_000_000_000 * S, [seen()])
    assert slow.sample(10 * S, [seen()]).observations


def test_observations_are_dropped_by_confidence_and_label() -> None:
    picky = sampler(min_confidence=0.5, labels=["Mug", "Keys"], ignore_labels=["KEYS"])
    sample = picky.sample(
        0, [seen(), seen(confidence=0.4), seen(confidence=0.5), seen(label="keys"), seen(label="cup")]
    )
    assert sample.observations == [seen(), seen(confidence=0.5)]
    assert why(sample) == {DropReason.MIN_CONFIDENCE: 1, DropReason.LABEL_NOT_WANTED: 2}


def test_a_released_message_frees_its_interval_but_no_earlier_one() -> None:
    slow = sampler(min_interval=2.0)
    assert slow.sample(0, [seen()]).observations
    assert slow.sample(2 * S, [seen()]).observations
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
        assert len(sample.observations) + sum(sample.reasons.values()) == len(given_)
        assert all(one.new.label != "c" and one.new.confidence >= confidence for one in sample.observations)


@pytest.mark.parametrize("interval", [0.1, 0.03, 1.0])
def test_an_interval_that_is_no_binary_fraction_keeps_its_step(interval: float) -> None:
    step = round(interval * S)
    slow = sampler(min_interval=interval)
    assert all(slow.sample(at * step, [seen()]).observations for at in range(100))
