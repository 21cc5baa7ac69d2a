"""Stage 11, touch: counts what was returned, after the answer is out.

Counts of the last half second are written together: a write for every question would slow the next one down, and wear
the robot's flash.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future

from ..database import Database
from ..database.rows import touch
from ..database.session_rows import count_recalls
from ..errors import MemoryClosedError
from ..records import Answer

_DELAY = 0.5
_LOG = logging.getLogger(__name__)


class Touches:
    """Collects what was returned and writes it later. Safe to use from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()
        self._latest = 0
        self._timer: threading.Timer | None = None

    def add(self, answer: Answer, now: int) -> None:
        """Counts the memories of an answer, given at a time of the robot's clock in nanoseconds, once more."""
        with self._lock:
            self._latest = now
            self._counts.update(memory.id for memory in answer)
            if self._counts and self._timer is None:
                self._timer = threading.Timer(_DELAY, self.write)
                self._timer.daemon = True
                self._timer.start()

    def write(self) -> None:
        """Queues what was counted; a failure is logged, since the answers were right without it."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            now = self._latest
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if counts:
            try:
                self._database.write(lambda connection: _count(connection, counts, now)).add_done_callback(_log_failure)
            except MemoryClosedError:
                _LOG.info("answers were not counted: the memory was closed meanwhile")


def _count(connection: sqlite3.Connection, counts: Mapping[int, int], now: int) -> None:
    touch(connection, counts, now)
    count_recalls(connection, counts)


def _log_failure(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        _LOG.warning("answers could not be counted: %s", error)
