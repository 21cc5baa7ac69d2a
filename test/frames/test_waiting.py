"""Items wait in the queue for their transforms."""

from __future__ import annotations

import math

import pytest

from robotmem_ros.frames import (
    IDENTITY,
    ExtrapolationError,
    FrameLoopError,
    NoStampError,
    Transform,
    TransformBuffer,
    TransformQueue,
    UnknownFrameError,
)

SECOND = 1_000_000_000


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


class CountingBuffer(TransformBuffer):
    """A buffer that counts how often it is asked."""

    asked = 0

    def lookup(self, target_frame: str, source_frame: str, stamp_ns: int) -> Transform:
        self.asked += 1
        return super().lookup(target_frame, source_frame, stamp_ns)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def buffer() -> CountingBuffer:
    """Knows base in map from 0 s to 10 s, at x = seconds, and nothing of any other frame."""
    buffer = CountingBuffer(100 * SECOND)
    for second in (1, 10):
        buffer.add("map", "base", second * SECOND, Transform(x=second), static=False)
    return buffer


@pytest.fixture
def queue(buffer: CountingBuffer, clock: Clock) -> TransformQueue[str]:
    return TransformQueue(buffer, "map", timeout=2.0, capacity=3, clocks=[clock])


def test_a_message_whose_transform_is_known_is_ready_at_once(queue: TransformQueue[str]) -> None:
    assert queue.put("mug", "base", 4 * SECOND) is None
    assert queue.collect() == [("mug", Transform(x=4))]
    assert (len(queue), queue.collect()) == (0, [])


def test_messages_without_a_transform_wait_and_come_out_in_the_order_of_arrival(
    queue: TransformQueue[str], buffer: CountingBuffer
) -> None:
    for item, second in (("late", 12), ("early", 5), ("later", 11)):
        queue.put(item, "base", second * SECOND)
    assert queue.collect() == [("early", Transform(x=5))]
    assert (queue.collect(), len(queue)) == ([], 2)
    buffer.add("map", "base", 12 * SECOND, Transform(x=12), static=False)
    assert queue.collect() == [("late", Transform(x=12)), ("later", Transform(x=11))]


def test_a_message_waits_no_longer_than_the_timeout_by_the_given_clock(
    queue: TransformQueue[str], clock: Clock
) -> None:
    queue.put("first", "base", 11 * SECOND)
    clock.now = 51.0
    queue.put("second", "lens", 11 * SECOND)
    clock.now = 51.9
    assert queue.collect() == []
    clock.now = 52.0
    ((item, error),) = queue.collect()
    assert item == "first"
    assert isinstance(error, ExtrapolationError)
    clock.now = 52.9
    assert queue.collect() == []
    clock.now = 53.0
    ((_, error),) = queue.collect()
    assert isinstance(error, UnknownFrameError)


def test_the_timeout_does_not_run_while_one_of_the_clocks_stands_or_lags(buffer: CountingBuffer, clock: Clock) -> None:
    robot = Clock()
    robot.now = 7e8
    queue = TransformQueue[str](buffer, "map", timeout=2.0, capacity=3, clocks=[clock, robot])
    queue.put("mug", "base", 11 * SECOND)
    clock.now += 99.0
    assert queue.collect() == []
    robot.now += 1.9
    assert queue.collect() == []
    robot.now += 0.1
    assert [item for item, _ in queue.collect()] == ["mug"]
    queue.put("chair", "base", 11 * SECOND)
    robot.now += 99.0
    assert queue.collect() == []
    clock.now += 2.0
    assert [item for item, _ in queue.collect()] == ["chair"]


@pytest.mark.parametrize(("before", "after"), [(math.nan, 5.0), (5.0, math.nan), (math.nan, math.nan)])
def test_a_clock_that_shows_no_time_does_not_count(
    buffer: CountingBuffer, clock: Clock, before: float, after: float
) -> None:
    robot = Clock()
    queue = TransformQueue[str](buffer, "map", timeout=2.0, capacity=3, clocks=[clock, robot])
    robot.now = before
    queue.put("mug", "base", 11 * SECOND)
    robot.now = after
    assert queue.collect() == []
    clock.now += 2.0
    assert [item for item, _ in queue.collect()] == ["mug"]


def test_a_transform_that_came_before_the_deadline_is_used_at_the_deadline(
    queue: TransformQueue[str], buffer: CountingBuffer, clock: Clock
) -> None:
    queue.put("mug", "base", 11 * SECOND)
    buffer.add("map", "base", 12 * SECOND, Transform(x=12), static=False)
    clock.now = 99.0
    assert queue.collect() == [("mug", Transform(x=11))]


def test_a_message_whose_transform_can_never_come_does_not_wait(
    queue: TransformQueue[str], buffer: CountingBuffer
) -> None:
    for parent, child in (("a", "b"), ("b", "a")):
        buffer.add(parent, child, 0, IDENTITY, static=True)
    for frame in ("base", "a", ""):
        queue.put(frame, frame, SECOND // 2)
    errors = [type(error) for _, error in queue.collect()]
    assert errors == [ExtrapolationError, FrameLoopError, UnknownFrameError]


def test_a_message_without_a_stamp_does_not_get_the_latest_transform(queue: TransformQueue[str]) -> None:
    queue.put("mug", "base", 0)
    ((_, error),) = queue.collect()
    assert isinstance(error, NoStampError)
    assert "set header.stamp" in str(error)


@pytest.mark.parametrize("stamp_ns", [0, 5, 10**18])
def test_the_target_frame_itself_needs_no_transform(queue: TransformQueue[str], stamp_ns: int) -> None:
    queue.put("mug", "/map", stamp_ns)
    assert queue.collect() == [("mug", IDENTITY)]


def test_a_full_queue_drops_and_returns_the_oldest(queue: TransformQueue[str]) -> None:
    gone = [queue.put(item, "base", 11 * SECOND) for item in "abcde"]
    assert gone == [None, None, None, "a", "b"]
    assert len(queue) == 3
    assert [item for item, _ in queue.flush()] == ["c", "d", "e"]


def test_a_queue_without_capacity_drops_every_item(buffer: CountingBuffer) -> None:
    queue = TransformQueue[str](buffer, "map", timeout=2.0, capacity=0)
    assert [queue.put(item, "base", 11 * SECOND) for item in "ab"] == ["a", "b"]
    assert queue.flush() == []


def test_flush_empties_the_queue(queue: TransformQueue[str]) -> None:
    queue.put("late", "base", 11 * SECOND)
    queue.put("ready", "base", 9 * SECOND)
    assert [type(result) for _, result in queue.flush()] == [ExtrapolationError, Transform]
    assert len(queue) == 0


def test_only_the_first_of_many_waiting_messages_is_looked_up(buffer: CountingBuffer, clock: Clock) -> None:
    queue = TransformQueue[int](buffer, "map", timeout=2.0, capacity=1000, clocks=[clock])
    for number in range(1000):
        queue.put(number, "base", 11 * SECOND + number)
    assert queue.collect() == []
    assert buffer.asked == 1
