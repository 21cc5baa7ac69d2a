"""Work that a thread of a pool takes a part of, if it comes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Barrier, Event, get_ident

import pytest

from robotmem_ros.memory.threads import Threads, run_shared

DEADLINE = 60.0


@contextmanager
def one_thread() -> Iterator[Threads]:
    threads = Threads(1, "test")
    try:
        yield threads
    finally:
        threads.shutdown()


def test_two_threads_work_at_once_and_each_number_once() -> None:
    both, ran = Barrier(2), list[tuple[int, int]]()

    def work(number: int) -> None:
        if number < 2:
            both.wait(DEADLINE)  # neither goes on before both have begun
        ran.append((number, get_ident()))

    with one_thread() as threads:
        run_shared(work, range(8), threads)
    assert sorted(number for number, _ in ran) == [*range(8)]
    assert len({thread for _, thread in ran}) == 2


def test_a_pool_that_does_not_come_to_it_is_not_waited_for() -> None:
    goes_on, ran = Event(), list[int]()
    with one_thread() as threads:
        threads.submit(goes_on.wait, DEADLINE)
        run_shared(ran.append, range(8), threads)
        assert ran == [*range(8)]
        goes_on.set()


@pytest.mark.parametrize("threads", [None, Threads(1, "ended")])
def test_without_a_pool_the_caller_does_all(threads: Threads | None) -> None:
    if threads is not None:
        threads.shutdown()
    ran: list[int] = []
    run_shared(ran.append, range(8), threads)
    assert ran == [*range(8)]


def test_what_fails_in_the_other_thread_is_raised() -> None:
    both, caller = Barrier(2), get_ident()

    def work(number: int) -> None:
        if number < 2:
            both.wait(DEADLINE)
        if get_ident() != caller:
            raise ValueError(number)

    with one_thread() as threads, pytest.raises(ValueError, match=r"^[01]$"):
        run_shared(work, range(8), threads)
