"""What goes on when a future is done, without a thread that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def then(first: Future[S], step: Callable[[Future[S]], Future[T]]) -> Future[T]:
    """Give the result of what `step` begins with `first`, once that is done; an error of `step` itself is the result.

    `step` runs in the thread that has the result of `first`, and must not wait.
    """
    result: Future[T] = Future()

    def begin(done: Future[S]) -> None:
        try:
            step(done).add_done_callback(finish)
        except Exception as error:
            result.set_exception(error)

    def finish(done: Future[T]) -> None:
        error = done.exception()
        if error is None:
            result.set_result(done.result())
        else:
            result.set_exception(error)

    first.add_done_callback(begin)
    return result
