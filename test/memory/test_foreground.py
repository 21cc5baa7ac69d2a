"""Questions go first, and hold nobody up for good."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.background import Foreground

from ..support.waiting import until

_PATIENCE = 30.0


@pytest.fixture
def foreground() -> Foreground:
    return Foreground()


def seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_background_work_does_not_wait_without_a_query(foreground: Foreground) -> None:
    with foreground:
        pass
    assert min(seconds(foreground.give_way) for _ in range(20)) < 0.005


def test_a_long_query_delays_background_work_only_for_a_time(foreground: Foreground) -> None:
    with foreground:
        assert 0.01 < seconds(foreground.give_way) < _PATIENCE


def test_background_work_goes_on_when_the_last_query_ends(
    foreground: Foreground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.background._MOMENT", 2 * _PATIENCE)
    passed = threading.Event()

    def wait() -> None:
        foreground.give_way()
        passed.set()

    with foreground:
        with foreground:
            waiting = threading.Thread(target=wait)
            waiting.start()
        assert not passed.wait(0.1)
    assert passed.wait(_PATIENCE)
    waiting.join()


def test_a_query_that_fails_counts_as_ended(foreground: Foreground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotmem_ros.memory.background._MOMENT", 2 * _PATIENCE)
    with pytest.raises(ValueError, match="no answer"), foreground:
        raise ValueError("no answer")
    assert seconds(foreground.give_way) < _PATIENCE


def test_saving_goes_on_during_endless_queries(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                memory.recall("a mug", n=3)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        try:
            for number in range(150):
                memory.save_perception(f"a mug, number {number}")
                memory.give_way()
            until(lambda: memory.status().memories == 150, "all memories")
        finally:
            over.set()
            for asker in askers:
                asker.join()
