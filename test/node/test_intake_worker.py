"""What waits to be read: what happens to more than fits, and when who puts it may go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from robotmem_ros.node.intake_worker import IntakeWorker

_PATIENCE = 120.0


class Held:
    """A worker whose first job waits until it is let go, and a diary."""

    def __init__(self, policy: str, limit: int = 4) -> None:
        self.let_go = threading.Event()
        self.done: list[int] = []
        self.dropped: list[int] = []
        self.policy = policy
        self.worker = IntakeWorker(
            limit=lambda: limit, policy=lambda: self.policy, backlog=lambda: False, look=lambda: False,
            yield_to_queries=lambda: None, on_error=lambda error: self.dropped.append(-1),
        )  # fmt: skip
        busy = threading.Event()

        def hold() -> None:
            busy.set()
            self.let_go.wait(_PATIENCE)

        self.worker.put_first(hold)
        assert busy.wait(_PATIENCE)

    def put(self, *numbers: int, size: int = 1) -> None:
        for number in numbers:
            self.worker.put(lambda n=number: self.done.append(n), lambda n=number: self.dropped.append(n), size)  # type: ignore[misc]

    def putting(self, *numbers: int, size: int = 1) -> threading.Thread:
        thread = threading.Thread(target=self.put, args=numbers, kwargs={"size": size}, daemon=True)
        thread.start()
        return thread

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < deadline
            threading.Event().wait(0.001)

    def close(self) -> None:
        self.let_go.set()
        self.worker.close()


@pytest.mark.parametrize(("policy", "expected"), [("drop_newest", [0, 1, 2, 3]), ("drop_oldest", [2, 3, 4, 5])])
def test_more_than_fits_is_dropped(policy: str, expected: list[int]) -> None:
    held = Held(policy)
    held.put(*range(6))
    assert held.worker.depth == 4
    held.close()
    assert held.done == expected
    assert sorted(held.done + held.dropped) == list(range(6))


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_who_puts_more_than_fits_is_held_until_there_is_room(size: int) -> None:
    held = Held("block", limit=4 if size == 1 else 100)
    room = 4 if size == 1 else 1
    putting = held.putting(*range(6), size=size)
    held.until(lambda: held.worker.depth == room)
    putting.join(timeout=0.1)
    assert putting.is_alive()
    assert held.worker.depth == room
    held.let_go.set()
    putting.join(_PATIENCE)
    held.close()
    assert (held.done, held.dropped) == (list(range(6)), [])


def test_who_is_held_is_let_in_before_the_end() -> None:
    held = Held("block")
    putting = held.putting(*range(6))
    held.until(lambda: held.worker.depth == 4)
    held.worker.unblock()
    putting.join(_PATIENCE)
    assert held.worker.depth == 6
    held.close()
    assert (held.done, held.dropped) == (list(range(6)), [])


def test_whoever_is_held_goes_on_when_the_policy_is_another() -> None:
    held = Held("block")
    putting = held.putting(*range(6))
    held.until(lambda: held.worker.depth == 4)
    held.policy = "drop_newest"
    putting.join(_PATIENCE)
    held.close()
    assert (held.done, held.dropped) == ([0, 1, 2, 3], [4, 5])


def test_what_is_not_read_in_time_when_it_closes_is_dropped_and_counted() -> None:
    held = Held("drop_newest")
    held.put(0, 1, 2)
    dropped: list[int] = []
    closing = threading.Thread(target=lambda: dropped.append(held.worker.close(0.0)), daemon=True)
    closing.start()
    held.until(lambda: held.worker.depth == 0)
    held.let_go.set()
    closing.join(_PATIENCE)
    assert (dropped, held.done, held.dropped) == ([3], [], [0, 1, 2])
