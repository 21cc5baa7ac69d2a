"""Threads: locks and futures that Ctrl-C leaves free, the maintenance loop, and the priority that queries have over it.

Python's own conditions take their lock in a function of Python, at whose end KeyboardInterrupt can be raised: then the
lock is taken, the block has not begun, and all other threads wait for ever. Its events, futures and pools are built on
these conditions. A call that is over and still counted as running would be as bad.

Two threads that import packages with modules in common can wait for each other. Python then breaks one of the imports
off with an error (`deadlock detected by _ModuleLock`), and what it was for would be missing for good: the model, or the
dictionary of Chinese. So one lock stands around the imports of large packages.

Maintenance is one loop that runs its steps in turn.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, ParamSpec, TypeVar

from .errors import MemoryClosedError

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


def completed(value: T) -> Future[T]:
    """Return a future that is done."""
    future: Future[T] = Future()
    future.set_result(value)
    return future


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


importing = threading.RLock()
"""Held by a thread while it imports a package that is loaded when it is needed."""


_MOMENT = 0.02
"""Seconds: about what a query takes."""


class QueryPriority:
    """Knows the queries that are being answered: `with query_priority.query():` around each. Thread-safe."""

    def __init__(self) -> None:
        self._queries = Calls()
        self.query = self._queries.running
        """Put background work off while a block runs."""

    def yield_to_queries(self) -> None:
        """Wait until no query is being answered, at most for a moment, so that work goes on under constant queries."""
        self._queries.wait(_MOMENT)


_NICE = 10
_TURN = 0.25
"""Seconds, about what a batch of texts takes the default model."""
_FIRST_RETRY, _LONGEST_RETRY = 1.0, 60.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """One kind of maintenance.

    Args:
        name: What it does, for the log and the status, such as `embed texts`.
        update: Does a bounded piece of the work, some hundred milliseconds at most; returns whether more is left.
        period: Seconds after which it runs without a notification, for what other processes did or time brings about.
        rest: Seconds that it rests at least when nothing was left, whoever notifies the loop.
        rest_ratio: How many times as long as it took it rests at least.
    """

    name: str
    update: Callable[[], bool]
    period: float
    rest: float = 0.0
    rest_ratio: float = 0.0


_LOOK = 0.01
"""Seconds between two looks whether to go on waiting."""


class _State:
    """When a step is due, and what became of it."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.trouble = ""
        self.is_running = False
        self._due_at = 0.0
        self._notifications = -1
        self._notified_due = 0.0
        self._busy = 0.0
        self._retry = 0.0

    def due(self, notifications: int) -> float:
        """Return when to run it next, on the monotonic clock, after so many notifications of the loop."""
        return self._due_at if notifications == self._notifications else min(self._due_at, self._notified_due)

    def is_notified(self, notifications: int) -> bool:
        return notifications != self._notifications

    def run(self, notifications: int) -> bool:
        """Do a piece of work, log what it raises, and return whether more is left."""
        start = time.monotonic()
        if not self.is_running:
            self.is_running, self._busy, self._notifications = True, 0.0, notifications
        try:
            has_more = self.step.update()
        except MemoryClosedError:
            return False  # it took longer than closing waits, and is done when the memory is opened again
        except Exception as error:
            # Whatever happened, the other steps go on, and this one may succeed later.
            self._fail(error)
            return False
        now = time.monotonic()
        self._busy += now - start
        if has_more:
            self._due_at = self._notified_due = 0.0
            return True
        self.is_running, self._retry, self.trouble = False, 0.0, ""
        rest = max(self.step.rest, self.step.rest_ratio * self._busy)
        self._notified_due, self._due_at = now + rest, now + max(self.step.period, rest)
        return False

    def _fail(self, error: Exception) -> None:
        trouble = str(error) or repr(error)
        if trouble != self.trouble:  # a full disk stays full for many attempts
            _LOG.warning("maintenance: %s failed: %s", self.step.name, trouble)
            _LOG.debug("maintenance: %s failed", self.step.name, exc_info=error)
        self.trouble = trouble
        self.is_running = False
        self._retry = min(2 * self._retry, _LONGEST_RETRY) if self._retry else _FIRST_RETRY
        self._due_at = self._notified_due = time.monotonic() + self._retry


class MaintenanceLoop:
    """Runs steps on one thread of low priority, in turn, each that is due, from `start` to `close`.

    A turn is a quarter of a second, or a piece that takes longer. A step that has more to do goes on after the others
    had their turns, so a long one starves none. Before each piece the loop yields to queries. A step that raises is
    logged, named in `trouble` and retried after 1 s, then after twice as long, up to 1 min.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str = "robotmem-maintenance") -> None:
        self._name = name
        self._states: list[_State] = []
        self._condition = Condition()
        self._working = threading.Lock()
        self._notifications = 0
        self._listening = True
        self._flushes = Calls(self._condition)
        self._closing = False
        self._thread: threading.Thread | None = None

    def start(self, steps: Sequence[Step], priority: QueryPriority) -> None:
        """Run the steps from now on, after queries."""
        self._states = [_State(step) for step in steps]
        self._thread = threading.Thread(target=self._run, args=(priority,), name=self._name, daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """Say which steps failed when they ran last, and why; empty if none did."""
        failures = [(state.step.name, state.trouble) for state in self._states if state.trouble]
        return "; ".join(f"maintenance: {name} failed: {trouble}" for name, trouble in failures)

    def notify(self) -> None:
        """Say that there is something to do: memories were stored, changed or deleted."""
        with self._condition:
            self._notifications += 1
            if self._listening:
                self._condition.notify()

    def flush(self, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Run each step in the calling thread until nothing is left or it fails, or the loop is closed.

        `goes_on` is called before each piece of a step, and while the piece at hand in the thread of the loop is waited
        for; if it returns false, so does this, and something may be left.
        """
        # While a flush runs, the loop begins no piece, so a lock that is free stays so but for a moment. It is taken by
        # `with` alone: Ctrl-C between `acquire(timeout)` and a `try` would leave it taken.
        with self._flushes.running():
            while self._working.locked():
                if not goes_on():
                    return False
                time.sleep(_LOOK)
            with self._working:
                return all(self._finish(state, goes_on) for state in self._states)

    def _finish(self, state: _State, goes_on: Callable[[], bool]) -> bool:
        # What was begun before may have missed what came since.
        for _ in range(1 + state.is_running):
            has_more = True
            while has_more and not self._closing:
                if not goes_on():
                    return False
                has_more = state.run(self._notifications)
        return True

    def close(self) -> None:
        """End the thread after the piece at hand; a second call does nothing."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread:
            self._thread.join()
        with self._working:  # for a flush in another thread
            pass

    def _run(self, priority: QueryPriority) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        turn = 0
        while (state := self._next(turn)) is not None:
            turn = state + 1
            ends, has_more = time.monotonic() + _TURN, True
            while has_more:
                priority.yield_to_queries()
                with self._working:
                    is_over = self._closing or self._flushes or not self._states[state].run(self._notifications)
                has_more = not is_over and time.monotonic() < ends

    def _next(self, turn: int) -> int | None:
        # The first step from `turn` on that is due, once one is; None when the loop is closed.
        count = len(self._states)
        with self._condition:
            while not self._closing:
                now = time.monotonic()
                dues = [state.due(self._notifications) for state in self._states]
                if not self._flushes:
                    for index in (number % count for number in range(turn, turn + count)):
                        if dues[index] <= now:
                            return index
                # Once all steps know of a notification, further ones change nothing.
                self._listening = not all(state.is_notified(self._notifications) for state in self._states)
                # A flush that Ctrl-C ends may not come to notify.
                self._condition.wait(1.0 if self._flushes else max(min(dues) - now, 0.0))
        return None


def piecewise(work: Callable[[], Iterator[None]]) -> Callable[[], bool]:
    """Make the `update` of a step of a generator function that yields between two pieces of its work."""
    runs: list[Iterator[None]] = []

    def update() -> bool:
        pieces = runs.pop() if runs else work()
        for _ in pieces:
            runs.append(pieces)
            return True
        return False

    return update
