"""The loop that maintains a memory in the background."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.threads import MaintenanceLoop, QueryPriority, Step, piecewise

from ..support.embedders import HeldVectors, WordVectors
from ..support.waiting import until
from .conftest import OpenMemory

NEVER = 3600.0
Start = Callable[..., MaintenanceLoop]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts loops that are closed at the end."""
    started: list[MaintenanceLoop] = []

    def one(*updates: Callable[[], bool], period: float = NEVER, rest: float = 0.0) -> MaintenanceLoop:
        loop = MaintenanceLoop()
        loop.start([Step(f"work {n}", update, period, rest) for n, update in enumerate(updates)], QueryPriority())
        started.append(loop)
        return loop

    yield one
    for loop in started:
        loop.close()


class Gate:
    """A step that stands still until it is let through."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.open = threading.Semaphore(0)

    def update(self) -> bool:
        self.begun += 1
        self.open.acquire()
        self.ended += 1
        return False


class Backlog:
    """A step with so many pieces left, which notes whose turn it was."""

    def __init__(self, name: str, left: int, turns: list[str]) -> None:
        self._name = name
        self._turns = turns
        self.left = left

    def update(self) -> bool:
        self._turns.append(self._name)
        self.left = max(self.left - 1, 0)
        return self.left > 0


def test_every_step_runs_at_the_start_in_order_and_after_each_notification(start: Start) -> None:
    turns: list[str] = []
    steps = [Backlog(name, 1, turns) for name in ("embed", "index")]
    loop = start(*(step.update for step in steps))
    for count in range(1, 5):
        until(lambda count=count: len(turns) >= 2 * count, "steps")  # type: ignore[misc]
        assert turns[: 2 * count] == ["embed", "index"] * count
        loop.notify()


def test_a_step_runs_again_when_its_period_is_over(start: Start) -> None:
    turns: list[str] = []
    start(Backlog("look", 1, turns).update, period=0.01)
    until(lambda: len(turns) > 5, "step without a notification")


def test_a_step_with_a_long_backlog_leaves_every_other_turn_to_another(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.threads._TURN", 0.0)
    turns: list[str] = []
    steps = [Backlog("long", 50, turns), Backlog("longer", 90, turns), Backlog("short", 2, turns)]
    start(*(step.update for step in steps))
    until(lambda: not any(step.left for step in steps), "end of all backlogs")
    assert turns[:6] == ["long", "longer", "short"] * 2
    assert turns[6:102] == ["long", "longer"] * 48


def test_short_pieces_share_a_turn_so_that_steps_with_long_ones_do_not_hold_them_back(start: Start) -> None:
    turns: list[str] = []
    short, standing = Backlog("short", 20, turns), threading.Event()

    def long() -> bool:
        turns.append("long")
        standing.wait(0.3)
        return True

    start(long, short.update)
    until(lambda: not short.left, "end of the short pieces")
    assert turns.count("long") <= 3


def test_a_notification_during_a_step_is_not_lost_and_many_are_one(start: Start) -> None:
    gate = Gate()
    loop = start(gate.update)
    until(lambda: gate.begun == 1, "first run")
    for _ in range(10):
        loop.notify()
    gate.open.release()
    until(lambda: gate.begun == 2, "second run")
    gate.open.release(2)
    loop.flush()
    assert gate.ended == 3


def test_a_step_that_was_just_done_rests_whoever_notifies(start: Start) -> None:
    turns: list[str] = []
    loop = start(Backlog("work", 1, turns).update, rest=NEVER)
    until(lambda: turns == ["work"], "first run")
    for _ in range(100):
        loop.notify()
    loop.flush()
    assert turns == ["work"] * 2, "only the flush ran it again"


def test_a_step_rests_in_proportion_to_its_own_work_not_to_that_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.threads._TURN", 0.0)
    turns: list[str] = []
    quick, standing = Backlog("quick", 3, turns), threading.Event()

    def slow() -> bool:
        standing.wait(0.1)
        return len(turns) < 3

    loop = MaintenanceLoop()
    loop.start([Step("quick", quick.update, NEVER, rest_ratio=1000.0), Step("slow", slow, NEVER)], QueryPriority())
    until(lambda: len(turns) == 3, "end of the quick work")
    loop.notify()
    until(lambda: len(turns) == 4, "next run, well before 1000 times as long as both took")
    loop.close()


def test_flush_finishes_what_was_begun_and_then_does_what_came_since(start: Start) -> None:
    texts, embedded = ["a", "b"], list[str]()
    standing, going_on = threading.Event(), threading.Event()

    def embed() -> Iterator[None]:
        for text in texts:
            embedded.append(text)
            standing.set()
            assert going_on.wait(60)
            yield

    loop = start(piecewise(embed))
    assert standing.wait(60)
    texts.append("c")
    going_on.set()
    loop.flush()
    assert embedded[-3:] == ["a", "b", "c"]


def test_flush_from_several_threads_returns_to_each(start: Start) -> None:
    done: list[int] = []
    loop = start(lambda: False)

    def flushes() -> None:
        for _ in range(50):
            loop.flush()
        done.append(1)

    threads = [threading.Thread(target=flushes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4


def test_a_step_that_fails_is_logged_named_and_retried_while_the_others_go_on(
    start: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.threads._FIRST_RETRY", 0.01)
    failing = threading.Event()
    failing.set()
    attempts: list[float] = []
    turns: list[str] = []

    def update() -> bool:
        attempts.append(time.monotonic())
        if failing.is_set():
            raise ValueError("the disk is full")
        return False

    loop = start(update, Backlog("others", 3, turns).update)
    until(lambda: len(attempts) >= 4, "retries")
    assert loop.trouble == "maintenance: work 0 failed: the disk is full"
    assert [record.getMessage() for record in caplog.records] == [loop.trouble], "once while it lasts"
    assert turns == ["others"] * 3
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    assert all(pause >= 0.01 * 2**number for number, pause in enumerate(pauses)), "each pause is longer"
    failing.clear()
    loop.flush()
    assert loop.trouble == ""
    failing.set()
    loop.flush()
    assert len(caplog.records) == 2


def test_closing_waits_for_the_piece_at_hand_and_for_no_other(start: Start) -> None:
    gate, turns = Gate(), list[str]()
    backlog = Backlog("long", 10**9, turns)

    def update() -> bool:
        gate.update()
        return backlog.update()

    loop = start(update)
    until(lambda: gate.begun == 1, "first piece")
    flushing = threading.Thread(target=loop.flush)
    flushing.start()
    closing = threading.Thread(target=loop.close)
    closing.start()
    gate.open.release(10**6)
    flushing.join()
    closing.join()
    loop.close()
    loop.notify()
    loop.flush()
    assert gate.ended < 10**6
    assert loop._thread not in threading.enumerate()


def test_new_texts_are_found_while_thousands_wait_for_their_vectors(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        for number in range(3000):
            memory.store(memory_of(memory, number))
    model = SlowVectors()
    memory = open_memory(path, embedder=model)
    assert memory.recall("box 2999")[0].memory.content == "box 2999"
    assert memory.status().pending_vectors > 0
    model.go_on.set()
    memory.flush()
    assert memory.status().pending_vectors == 0


class SlowVectors(WordVectors):
    """Embeds no more than a few batches until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        self.go_on.wait(0.01)
        return super().embed_batch(texts)


def memory_of(memory: RobotMemory, number: int) -> NewMemory:
    """A perception of its own text."""
    return new_perception(memory.parameters, NewPerception(description=f"box {number}"), now=lambda: 1)


def test_a_flush_tells_how_far_it_is(memory: RobotMemory) -> None:
    for number in range(40):
        memory.learn(f"fact {number} of the dock")
    told: list[tuple[int, int]] = []
    assert memory.flush(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_flush_ends_at_its_timeout_and_a_later_one_does_the_rest(open_memory: OpenMemory) -> None:
    embedder = HeldVectors("blocked")
    memory = open_memory(embedder=embedder)
    memory.save_perception("blocked is the dock")
    assert not memory.flush(timeout=0.05)
    embedder.release.set()
    assert memory.flush(timeout=60.0)
    assert memory.status().pending_vectors == 0


@pytest.mark.parametrize("timeout", [-1, math.nan, math.inf, "1"])
def test_a_flush_takes_seconds(memory: RobotMemory, timeout: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"^timeout: "):
        memory.flush(timeout)
