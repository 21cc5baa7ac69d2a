"""The rules of the transform buffer, one by one; test_golden.py compares it with the real tf2."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.frames import (
    IDENTITY,
    ConnectivityError,
    ExtrapolationError,
    FrameError,
    FrameLookupError,
    FrameLoopError,
    InvalidTransformError,
    Transform,
    TransformBuffer,
    UnknownFrameError,
)
from robotmem_ros.memory import RobotMemoryError

from ..support.transforms import about_z, apart, can_transform

SECOND = 1_000_000_000


@pytest.fixture
def buffer() -> TransformBuffer:
    """A robot whose localisation began one second after its odometry: map, odom, base, camera (static)."""
    buffer = TransformBuffer(10 * SECOND)
    buffer.add("base", "camera", 0, about_z(math.pi / 2, x=0.5), static=True)
    for second in range(10, 15):
        buffer.add("odom", "base", second * SECOND, Transform(x=second), static=False)
    for second in range(11, 16):
        buffer.add("map", "odom", second * SECOND, Transform(y=100), static=False)
    return buffer


def at(seconds: float) -> int:
    """Seconds in nanoseconds."""
    return round(seconds * SECOND)


def test_a_transform_is_that_of_the_requested_time(buffer: TransformBuffer) -> None:
    found = buffer.lookup("map", "camera", at(12.25))
    assert apart(found, about_z(math.pi / 2, x=12.75, y=100)) < 1e-12
    assert apart(buffer.lookup("camera", "map", at(12.25)), found.inverse()) < 1e-12


def test_leading_slashes_do_not_matter(buffer: TransformBuffer) -> None:
    buffer.add("/camera", "/lens", 0, IDENTITY, static=True)
    assert buffer.lookup("/map", "lens", at(12)) == buffer.lookup("map", "/camera", at(12))


def test_the_order_of_insertion_does_not_matter() -> None:
    buffer = TransformBuffer()
    for second in (3, 1, 4, 2):
        buffer.add("odom", "base", at(second), Transform(x=second**2), static=False)
    assert [buffer.lookup("odom", "base", at(t)).x for t in (1, 1.5, 2.5, 3.5, 4)] == [1, 2.5, 6.5, 12.5, 16]


def test_the_transform_of_a_frame_to_itself_is_the_identity_even_if_unknown(buffer: TransformBuffer) -> None:
    assert buffer.lookup("map", "/map", at(99)) == buffer.lookup("nowhere", "nowhere", 5) == IDENTITY


def test_stamp_zero_is_the_latest_time_that_all_links_know(buffer: TransformBuffer) -> None:
    assert buffer.lookup("map", "base", 0) == Transform(x=14, y=100)


def test_the_future_is_not_extrapolated_and_may_still_come(buffer: TransformBuffer) -> None:
    with pytest.raises(
        ExtrapolationError, match=r"at 14\.000000001 s: frame 'base' is known from 10\.0+ s to 14\.0+ s"
    ):
        buffer.lookup("map", "camera", at(14) + 1)
    with pytest.raises(ExtrapolationError, match="may still come") as caught:
        buffer.lookup("odom", "camera", at(14.5))
    error = caught.value
    assert (error.link, error.known_ns, error.stamp_ns) == ("base", (at(10), at(14)), at(14.5))
    assert (error.target_frame, error.source_frame, error.waiting_helps) == ("odom", "camera", True)


def test_the_past_is_not_extrapolated_and_will_not_come(buffer: TransformBuffer) -> None:
    with pytest.raises(ExtrapolationError, match=r"'odom' is known from 11\..* will not come") as caught:
        buffer.lookup("map", "camera", at(10.5))
    assert not caught.value.waiting_helps


def test_a_late_start_of_a_link_outside_of_the_path_does_not_end_the_wait() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "odom", at(20), IDENTITY, static=False)
    buffer.add("odom", "base", at(9), IDENTITY, static=False)
    buffer.add("odom", "base", at(10), IDENTITY, static=False)
    with pytest.raises(ExtrapolationError) as caught:
        buffer.lookup("odom", "base", at(11))
    assert (caught.value.link, caught.value.waiting_helps) == ("base", True)
    buffer.add("map", "camera", at(21), IDENTITY, static=False)
    with pytest.raises(ExtrapolationError) as caught:
        buffer.lookup("camera", "base", at(11))
    assert not caught.value.waiting_helps


@settings(max_examples=300)
@given(st.data())
def test_a_transform_reported_as_never_coming_never_comes(data: st.DataObject) -> None:
    # Frames 1 to 5 hang on an earlier one each, are first heard of at any time, and their samples come one per second,
    # each frame's in order, the frames' in any order.
    buffer = TransformBuffer(100 * SECOND)
    parents = {child: data.draw(st.integers(0, child - 1)) for child in range(1, 6)}
    next_second = {child: data.draw(st.integers(1, 6)) for child in parents}
    target, source = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    stamp_ns = at(data.draw(st.integers(1, 12)) / 2)
    verdicts = []
    for child in data.draw(st.lists(st.sampled_from(sorted(parents)), min_size=20, max_size=50)):
        buffer.add(str(parents[child]), str(child), at(next_second[child]), IDENTITY, static=False)
        next_second[child] += 1
        verdicts.append(verdict(buffer, str(target), str(source), stamp_ns))
    assert verdicts == sorted(verdicts, key="later now never".index)
    assert not {"now", "never"} <= set(verdicts)


def verdict(buffer: TransformBuffer, target: str, source: str, stamp_ns: int) -> str:
    """When there is a transform: now, later (perhaps) or never."""
    try:
        buffer.lookup(target, source, stamp_ns)
    except FrameError as error:
        return "later" if error.waiting_helps else "never"
    return "now"


def test_a_frame_that_is_not_connected_yet_is_worth_waiting_for() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "odom", at(20), IDENTITY, static=False)
    buffer.add("base", "camera", 0, IDENTITY, static=True)
    with pytest.raises(
        ConnectivityError, match="no transforms connect frame 'camera' with frame 'map'"
    ) as connectivity:
        buffer.lookup("map", "camera", at(20))
    with pytest.raises(ExtrapolationError) as extrapolation:
        buffer.lookup("odom", "camera", at(10))
    with pytest.raises(UnknownFrameError, match="frame 'lens': no transform has named it; known are") as unknown:
        buffer.lookup("map", "lens", at(10))
    assert all(caught.value.waiting_helps for caught in (connectivity, extrapolation, unknown))


def test_the_error_of_an_unknown_frame_lists_known_frames_and_the_most_similar_one() -> None:
    buffer = TransformBuffer()
    with pytest.raises(UnknownFrameError, match=r"frame 'base_lnk': no transform has named it; none has come yet$"):
        buffer.lookup("base_lnk", "map", 0)
    buffer.add("map", "base_link", 0, IDENTITY, static=True)
    with pytest.raises(UnknownFrameError, match=r"; known are base_link, map; did you mean 'base_link'\?$"):
        buffer.lookup("base_lnk", "map", 0)
    for number in range(30):
        buffer.add("map", f"tag_{number}", 0, IDENTITY, static=True)
    with pytest.raises(UnknownFrameError, match=r"known are base_link, map, tag_0, .* and 12 more$"):
        buffer.lookup("nowhere", "map", 0)


def test_a_single_sample_is_valid_at_its_own_time_only() -> None:
    buffer = TransformBuffer()
    buffer.add("odom", "base", at(5), IDENTITY, static=False)
    assert buffer.lookup("odom", "base", at(5)) == IDENTITY
    assert [can_transform(buffer, "odom", "base", at(5) + step) for step in (-1, 0, 1)] == [False, True, False]


def test_static_transforms_are_valid_at_any_time(buffer: TransformBuffer) -> None:
    assert all(can_transform(buffer, "base", "camera", stamp) for stamp in (-5, 0, 1, at(1e9)))


def test_history_is_kept_before_the_newest_sample_of_each_frame() -> None:
    buffer = TransformBuffer(2 * SECOND)
    for second in range(10):
        buffer.add("odom", "base", at(10 + second), Transform(x=second), static=False)
    buffer.add("base", "arm", at(3), IDENTITY, static=False)
    assert can_transform(buffer, "base", "arm", at(3))
    assert not can_transform(buffer, "odom", "base", at(15.9))
    assert buffer.lookup("odom", "base", at(17)).x == 7
    with pytest.raises(InvalidTransformError, match=r"3\.000 s older than the newest one"):
        buffer.add("odom", "base", at(16), IDENTITY, static=False)


def test_of_two_samples_with_one_stamp_the_one_added_last_is_used() -> None:
    buffer = TransformBuffer()
    for x in (1, 2, 2):
        buffer.add("odom", "base", at(5), Transform(x=x), static=False)
    assert buffer.lookup("odom", "base", at(5)).x == 2
    buffer.add("odom", "base", at(6), Transform(x=4), static=False)
    assert buffer.lookup("odom", "base", at(5.5)).x == 3


def test_a_frame_has_its_new_parent_from_the_stamp_of_the_change_on() -> None:
    buffer = TransformBuffer()
    buffer.add("table", "mug", at(1), Transform(x=1), static=False)
    buffer.add("gripper", "mug", at(2), Transform(x=2), static=False)
    buffer.add("gripper", "mug", at(3), Transform(x=4), static=False)
    assert buffer.lookup("table", "mug", at(1.9)).x == 1
    assert buffer.lookup("gripper", "mug", at(2.5)).x == 3
    assert not can_transform(buffer, "table", "mug", at(2))


def test_a_loop_of_parents_is_a_frame_loop_error() -> None:
    buffer = TransformBuffer()
    for parent, child in (("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")):
        buffer.add(parent, child, 0, IDENTITY, static=True)
    buffer.add("x", "y", 0, IDENTITY, static=True)
    for target, source, stamp in (("x", "d", 5), ("d", "x", 5), ("y", "d", 0), ("d", "y", 0)):
        with pytest.raises(FrameLoopError, match="its parents lead back to itself") as caught:
            buffer.lookup(target, source, stamp)
        assert not caught.value.waiting_helps
    assert buffer.lookup("a", "c", 5) == IDENTITY


@pytest.mark.parametrize(
    ("parent", "child", "transform", "why"),
    [
        ("a", "a", IDENTITY, "a frame cannot be its own parent"),
        ("/a", "a", IDENTITY, "a frame cannot be its own parent"),
        ("", "a", IDENTITY, "both frames must have a name"),
        ("a", "/", IDENTITY, "both frames must have a name"),
        ("a", "b", Transform(x=math.nan), ".* must be finite numbers"),
        ("a", "b", Transform(z=math.inf), ".* must be finite numbers"),
        ("a", "b", Transform(qx=math.nan), ".* must be finite numbers"),
        ("a", "b", Transform(qw=0), "quaternion .* has no length"),
        ("a", "b", Transform(qw=1e-200), "quaternion .* has no length"),
    ],
)
@pytest.mark.parametrize("static", [False, True])
def test_an_invalid_transform_is_refused(parent: str, child: str, transform: Transform, why: str, static: bool) -> None:
    buffer = TransformBuffer()
    child_frame, parent_frame = child.strip("/"), parent.strip("/")
    with pytest.raises(
        InvalidTransformError, match=f"transform of frame '{child_frame}' in frame '{parent_frame}': {why}"
    ):
        buffer.add(parent, child, at(1), transform, static=static)
    with pytest.raises(UnknownFrameError, match="none has come yet"):
        buffer.lookup("a", "b", at(1))


def test_a_quaternion_of_another_length_is_normalised_as_tf2_does_it() -> None:
    buffer = TransformBuffer()
    buffer.add("a", "b", at(1), Transform(qz=3, qw=4), static=False)
    assert buffer.lookup("a", "b", at(1)) == pytest.approx(Transform(qz=0.6, qw=0.8))


def test_clearing_forgets_what_moved_and_keeps_what_is_static(buffer: TransformBuffer) -> None:
    buffer.clear()
    assert can_transform(buffer, "base", "camera", at(12))
    with pytest.raises(ExtrapolationError, match="'base' is known at no time; it may still come"):
        buffer.lookup("odom", "base", at(12))
    buffer.add("odom", "base", at(2), IDENTITY, static=False)
    assert buffer.lookup("odom", "base", at(2)) == IDENTITY


def test_a_frame_that_changes_between_static_and_moving_loses_its_earlier_transforms(buffer: TransformBuffer) -> None:
    buffer.add("base", "camera", at(12), IDENTITY, static=False)
    assert [can_transform(buffer, "base", "camera", at(t)) for t in (11, 12, 13)] == [False, True, False]
    buffer.add("base", "camera", at(12), IDENTITY, static=True)
    assert can_transform(buffer, "base", "camera", at(11))


def test_a_frame_without_a_name_is_not_worth_waiting_for(buffer: TransformBuffer) -> None:
    with pytest.raises(UnknownFrameError, match="a frame must have a name") as caught:
        buffer.lookup("map", "", at(12))
    assert not caught.value.waiting_helps


def test_all_errors_are_errors_of_frames_and_of_this_package() -> None:
    for kind in (ConnectivityError, ExtrapolationError, FrameLoopError, InvalidTransformError, UnknownFrameError):
        assert issubclass(kind, FrameError)
        assert issubclass(kind, RobotMemoryError)
    assert issubclass(UnknownFrameError, FrameLookupError)
