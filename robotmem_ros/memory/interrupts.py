"""Take locks and wait for other threads so that Ctrl-C leaves nothing taken.

Python's own conditions take their lock in a function of Python, at whose end KeyboardInterrupt can be raised: then the
lock is taken, the block has not begun, and all other threads wait for ever. Its events, futures and pools are built on
these conditions. A call that is over and still counted as running would be as bad.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Condition(threading.Condition):
    """Waits and notifies as Python's own condition does, and always releases its lock after a `with`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        super().__init__(self.lock)

    # `with` calls the lock itself.
    __enter__ = property(attrgetter("lock.__enter__"))
    __exit__ = property(attrgetter("lock.__exit__"))

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait to be notified, and take it again, once; return False if the time is over."""
        try:
            return super().wait(timeout)
        except BaseException:
            # Python's own wait may have released the lock and not be ready yet to take it again. Nobody may be notified
            # in place of those that still wait.
            try:
                self.notify_all()
            except RuntimeError:
                self.lock.acquire()
                self.notify_all()
            raise


class Calls:
    """The calls that run now, `with calls.running():` around each; true if there is any.

    To close what they use, say first that it is closed, then wait for them; each call looks at that once it is running.
    The condition is notified when the last one has ended.
    """

    def __init__(self, condition: Condition | None = None) -> None:
        self._condition = condition or Condition()
        self._running: set[object] = set()

    def __bool__(self) -> bool:
        return bool(self._running)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a call while the block runs, however that ends."""
        call = object()
        # Ctrl-C may come at any moment: a call that was not added can be discarded as well.
        try:
            self._running.add(call)
            yield
        finally:
            self._running.discard(call)
            if not self._running:
                with self._condition:
                    self._condition.notify_all()

    def wait(self, timeout: float = math.inf) -> None:
        """Wait until none runs, at most so many seconds."""
        end = time.monotonic() + timeout
        while self._running and (seconds_left := end - time.monotonic()) > 0:
            with self._condition:
                # A last call that Ctrl-C ends may not come to notify.
                self._condition.wait_for(lambda: not self._running, min(seconds_left, 1.0))


class Event(threading.Event):
    """An event of Python on a `Condition`."""

    def __init__(self) -> None:
        super().__init__()
        self._cond = Condition()


class Future(futures.Future[T]):
    """A future of Python on a `Condition`. Not for `concurrent.futures.wait`, which takes the lock without a `with`."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = Condition()


class _Call(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class Threads(futures.Executor):
    """Threads that make calls in the order in which these come; they do not keep the program from ending."""

    def __init__(self, count: int, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}_{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Call a function in one of the threads.

        Raises:
            RuntimeError: they were shut down.
        """
        call = _Call(Future(), partial(work, *arguments, **keywords))
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the threads were shut down")
            self._calls.put(call)
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after all calls, or, if futures are cancelled, after those that have begun."""
        with self._lock:
            self._is_closed = True
        while cancel_futures:
            try:
                call = self._calls.get_nowait()
            except Empty:
                break
            if call is not None:
                call.future.cancel()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
            del call  # while it waits, a thread keeps no result
