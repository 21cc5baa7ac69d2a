"""A jump back in time is detected by the stamps of transforms; a late transform is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from robotmem_ros.frames import TimeJump, TimeJumps


def message(**stamps: float) -> Any:
    """Transforms of frames, each with its stamp in seconds."""
    return SimpleNamespace(
        transforms=[
            SimpleNamespace(
                child_frame_id=frame,
                header=SimpleNamespace(stamp=SimpleNamespace(sec=int(at), nanosec=round(at % 1 * 1e9))),
            )
            for frame, at in stamps.items()
        ]
    )


def test_a_frame_that_goes_back_by_more_than_a_second_is_a_jump() -> None:
    times = TimeJumps()
    assert [times.notice(message(base=at)) for at in (10, 11, 10.5, 12, 11)] == [None] * 5
    assert times.notice(message(base=3)) == TimeJump("base", 9.0)
    assert [times.notice(message(base=at)) for at in (3.1, 4)] == [None] * 2


def test_a_time_jump_resets_the_stamps_of_all_frames() -> None:
    times = TimeJumps()
    times.notice(message(base=100, arm=200))
    assert times.notice(message(base=50)) == TimeJump("base", 50.0)
    assert times.notice(message(arm=50)) is None


def test_frames_have_clocks_of_their_own() -> None:
    times = TimeJumps()
    assert times.notice(message(base=100, arm=5)) is None
    assert times.notice(message(arm=6, base=101)) is None


def test_after_clear_an_earlier_stamp_is_no_jump() -> None:
    times = TimeJumps()
    times.notice(message(base=100))
    times.clear()
    assert times.notice(message(base=1)) is None


def test_stamps_that_all_came_a_moment_ago_are_fresh() -> None:
    now = 70.0
    times = TimeJumps(lambda: now)
    assert not times.fresh
    times.notice(message(base=100))
    now += 0.9
    times.notice(message(base=101))
    assert times.fresh
    now += 0.2
    assert not times.fresh


def test_stamps_are_fresh_again_after_a_time_jump_and_after_clear() -> None:
    now = 70.0
    times = TimeJumps(lambda: now)
    times.notice(message(base=100))
    now += 50.0
    times.notice(message(base=10))
    assert times.fresh
    times.clear()
    assert not times.fresh
    now += 50.0
    times.notice(message(base=10))
    assert times.fresh
