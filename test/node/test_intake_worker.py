"""What waits to be read: what happens to more than fits, and when callers may go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from robotmem_ros.node.intake_worker import IntakeWorker

_PATIENCE = 30.0


class Held:
    """A worker whose first job waits until it is let go, and a diary."""

    def __init__(self, policy: str, limit: int = 4) -> None:
        self.let_go = threading.Event()
        self.done: list[int] = []
        self.dropped: list[int] = []
        self.worker = IntakeWorker(
            limit=lambda: limit, policy=lambda: policy, backlog=lambda: False, look=lambda: False,
            yield_to_queries=lambda: None, failed=lambda error: self.dropped.append(-1),
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

    def close(self) -> None:
        self.let_go.set()
        self.worker.close()


@pytest.fixture(params=["drop_newest", "drop_oldest", "block"])
def held(request: pytest.FixtureRequest) -> Iterator[Held]:
    opened = Held(request.param)
    yield opened
    opened.close()


def test_more_than_fits_is_dropped_or_asked_to_wait(held: Held, request: pytest.FixtureRequest) -> None:
    policy = request.node.callspec.params["held"]
    held.put(*range(6))
    assert held.worker.full == (policy == "block")
    assert held.worker.depth == (6 if policy == "block" else 4)
    held.close()
    expected = {"drop_newest": [0, 1, 2, 3], "drop_oldest": [2, 3, 4, 5], "block": [0, 1, 2, 3, 4, 5]}
    assert held.done == expected[policy]
    assert sorted(held.done + held.dropped) == list(range(6))
    assert not held.worker.full


def test_a_large_message_fits_alone_and_fills_the_queue() -> None:
    held = Held("block", limit=100)
    held.put(0, size=1 << 30)
    assert held.worker.full
    held.close()
    assert held.done == [0]
    assert not held.worker.full
