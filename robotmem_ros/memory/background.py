"""Threads that work beside queries, and the priority that queries have over them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

_MOMENT = 0.02
"""Seconds: about what a question takes."""


class QueryPriority:
    """Counts the queries that are being answered: `with query_priority:` around each. Safe from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._answering = 0

    def __enter__(self) -> None:
        with self._changed:
            self._answering += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._answering -= 1
            if not self._answering:
                self._changed.notify_all()

    def yield_to_queries(self) -> None:
        """Wait until no query is being answered, at most for a moment, so that work goes on under constant queries."""
        if self._answering:
            with self._changed:
                self._changed.wait_for(lambda: not self._answering, _MOMENT)


_NICE = 10
_LOG = logging.getLogger(__name__)


class Worker:
    """Calls `step` at its start, whenever it is woken, and every `period` seconds for what other processes did.

    Whatever a step raises is logged behind the `complaint`, once until it changes, and tried again with the next one.
    What is asked and saved goes first: on Linux the thread has a lower priority, and after a step it rests for `rest`
    seconds, unless somebody waits in `flush`.
    """

    def __init__(
        self, name: str, step: Callable[[], None], period: float, complaint: str, *, rest: float = 0.0
    ) -> None:
        self._complaint = complaint
        self._complained = ""
        self._step = step
        self._period = period
        self._rest = rest
        self._changed = threading.Condition()
        self._asked, self._done, self._awaited = 1, 0, 0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Says that there is something to do."""
        with self._changed:
            self._asked += 1
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until a step that began after this call has ended."""
        with self._changed:
            self._asked += 1
            target = self._awaited = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._done >= target or self._closing)

    def close(self) -> None:
        """Ends the thread after the step at hand."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while not self._closing:
            with self._changed:
                asked = self._asked
            try:
                self._step()
            except Exception as error:
                self._complain(str(error))
            else:
                self._complained = ""
            with self._changed:
                self._done = max(self._done, asked)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closing or self._awaited > self._done, self._rest)
                # The condition is looked at before the wait: what was notified meanwhile would be missed.
                self._changed.wait_for(lambda seen=asked: self._closing or self._asked != seen, self._period)  # type: ignore[misc]

    def _complain(self, trouble: str) -> None:
        # A full disk stays full for many periods.
        if trouble != self._complained and not self._closing:
            _LOG.warning("%s: %s", self._complaint, trouble)
        self._complained = trouble
