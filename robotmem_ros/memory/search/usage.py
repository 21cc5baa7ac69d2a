"""Count what was recalled, after the result is out.

The counts of the last half second are written together: a write for every query would slow the next one down, and wear
the robot's flash.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from concurrent.futures import Future

from ..errors import MemoryClosedError
from ..storage import Database
from ..storage.rows import count_usage
from ..storage.session_rows import note_recalls
from ..storage.snapshot import Transaction
from .result import RecallResult

_LOG = logging.getLogger(__name__)


class UsageRecorder:
    """Collect the ids of recalled memories and write their counts later. Safe to use from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()
        self._ranks: dict[int, int] = {}
        self._latest = 0

    def add(self, result: RecallResult, now: int) -> None:
        """Count the memories of a result that was given at `now`, nanoseconds by the robot's clock.

        A database that is only read counts nothing.
        """
        if self._database.read_only:
            return
        with self._lock:
            self._latest = now
            self._counts.update(memory.id for memory in result)
            for rank, memory in enumerate(result, start=1):
                self._ranks[memory.id] = min(rank, self._ranks.get(memory.id, rank))

    def write(self) -> bool:
        """Queue what was counted; a failure is logged, since the results were right without it. Nothing is left."""
        # Queued under the lock: when this returns, all that was counted before is on its way.
        with self._lock:
            counts, self._counts = self._counts, Counter()
            ranks, self._ranks = self._ranks, {}
            if counts:
                self._queue(counts, ranks, self._latest)
        return False

    def _queue(self, counts: Counter[int], ranks: dict[int, int], now: int) -> None:
        def work(transaction: Transaction) -> None:
            count_usage(transaction, counts, now)
            note_recalls(transaction, ranks)

        try:
            self._database.write(work).add_done_callback(_log_failure)
        except MemoryClosedError:
            _LOG.info("recalls were not counted: the memory was closed")


def _log_failure(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        _LOG.warning("recalls could not be counted: %s", error)
