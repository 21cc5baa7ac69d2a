"""The thread that keeps something in step in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from robotmem_ros.memory.background import Worker

from ..support.waiting import until

NEVER = 3600.0
Start = Callable[..., Worker]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts workers that are closed at the end."""
    started: list[Worker] = []

    def one(step: Callable[[], None], period: float = NEVER) -> Worker:
        started.append(Worker("test-worker", step, period, "it cannot be done"))
        return started[-1]

    yield one
    for worker in started:
        worker.close()


class Gate:
    """A step that stands still until it is let through."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.open = threading.Semaphore(0)

    def step(self) -> None:
        self.begun += 1
        self.open.acquire()
        self.ended += 1


def test_the_step_is_called_at_the_start_and_after_each_wake(start: Start) -> None:
    calls: list[str] = []
    worker = start(lambda: calls.append(threading.current_thread().name))
    for count in range(1, 5):
        until(lambda count=count: len(calls) == count, "step")  # type: ignore[misc]
        worker.wake()
    until(lambda: len(calls) == 5, "step")
    assert set(calls) == {"test-worker"}


def test_the_step_is_called_again_when_the_period_is_over(start: Start) -> None:
    calls: list[int] = []
    start(lambda: calls.append(1), period=0.01)
    until(lambda: len(calls) > 5, "step without a wake")


def test_a_wake_during_a_step_is_not_lost_and_many_are_one(start: Start) -> None:
    gate = Gate()
    worker = start(gate.step)
    until(lambda: gate.begun == 1, "first step")
    for _ in range(10):
        worker.wake()
    gate.open.release()
    until(lambda: gate.begun == 2, "second step")
    gate.open.release(2)
    worker.flush()
    assert gate.ended == 3


def test_flush_waits_for_a_step_that_began_after_it(start: Start) -> None:
    gate = Gate()
    worker = start(gate.step)
    until(lambda: gate.begun == 1, "first step")
    seen: list[int] = []

    def flush() -> None:
        worker.flush()
        seen.append(gate.ended)

    waiting = [threading.Thread(target=flush) for _ in range(3)]
    for thread in waiting:
        thread.start()
    gate.open.release()
    until(lambda: gate.begun == 2 or not waiting[0].is_alive(), "second step")
    gate.open.release(100)
    for thread in waiting:
        thread.join()
    assert min(seen) >= 2


def test_flush_from_several_threads_returns_to_each(start: Start) -> None:
    done: list[int] = []
    worker = start(lambda: None)

    def flushes() -> None:
        for _ in range(50):
            worker.flush()
        done.append(1)

    threads = [threading.Thread(target=flushes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4


def test_what_a_step_raises_is_logged_and_the_next_one_is_called(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    def step() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise ValueError(f"failure {len(calls)}")

    worker = start(step)
    worker.flush()
    worker.flush()
    worker.flush()
    assert len(calls) >= 3
    assert [record.getMessage() for record in caplog.records] == [
        "it cannot be done: failure 1",
        "it cannot be done: failure 2",
    ]


def test_a_failure_that_lasts_is_logged_once_until_a_step_succeeds(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    failing = threading.Event()
    failing.set()

    def step() -> None:
        if failing.is_set():
            raise ValueError("the disk is full")

    worker = start(step)
    for _ in range(3):
        worker.flush()
    assert len(caplog.records) == 1
    failing.clear()
    worker.flush()
    failing.set()
    worker.flush()
    assert [record.getMessage() for record in caplog.records] == ["it cannot be done: the disk is full"] * 2


def test_the_worker_rests_after_a_step_unless_a_caller_waits_or_it_is_closing() -> None:
    calls: list[int] = []
    worker = Worker("test-worker", lambda: calls.append(1), NEVER, "it cannot be done", rest=NEVER)
    worker.flush()
    done = len(calls)
    worker.wake()
    worker.close()
    assert (done, len(calls)) in {(1, 1), (2, 2)}


def test_a_failure_while_it_is_being_closed_is_no_news(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()

    def step() -> None:
        gate.step()
        raise ValueError("closed meanwhile")

    worker = start(step)
    until(lambda: gate.begun == 1, "first step")
    closing = threading.Thread(target=worker.close)
    closing.start()
    worker.flush()  # returns when the worker is being closed
    gate.open.release()
    closing.join()
    assert (gate.begun, gate.ended) == (1, 1)
    assert caplog.records == []


def test_closing_ends_the_thread_and_whoever_waits(start: Start) -> None:
    gate = Gate()
    worker = start(gate.step)
    until(lambda: gate.begun == 1, "first step")
    waiting = threading.Thread(target=worker.flush)
    waiting.start()
    closing = threading.Thread(target=worker.close)
    closing.start()
    waiting.join()
    gate.open.release()
    closing.join()
    worker.close()
    worker.wake()
    worker.flush()
    assert gate.begun == 1
    assert "test-worker" not in {one.name for one in threading.enumerate()}
