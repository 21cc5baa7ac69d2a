"""Count what was recalled, and log the recalls, after the result is out.

What came in the last half second is written together: a write for every query would slow the next one down, and wear
the robot's flash.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from ..config.parameters import Parameters
from ..errors import MemoryClosedError
from ..storage import Database, recall_rows
from ..storage.recall_rows import LoggedRecall, UsedMemory
from ..storage.revisions import Purge
from ..storage.rows import count_usage
from ..storage.session_rows import note_recalls
from ..storage.snapshot import Transaction
from .query import Query
from .result import RecallResult

_LOG = logging.getLogger(__name__)
_MOST = 10_000
"""Recalls that wait to be logged at most."""


class RecallLog(NamedTuple):
    """The last recalls, and the memories that were recalled most often."""

    recalls: tuple[LoggedRecall, ...]
    """Newest first."""
    most_used: tuple[UsedMemory, ...]
    """Active memories, the most often recalled first."""


class UsageRecorder:
    """Collect what was recalled, and write it later. Safe to use from several threads."""

    def __init__(self, database: Database, parameters: Callable[[], Parameters]) -> None:
        self._database = database
        self._parameters = parameters
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._counts: Counter[int] = Counter()
        self._ranks: dict[int, int] = {}
        self._recalls: deque[tuple[LoggedRecall, Purge]] = deque(maxlen=_MOST)

    def add(self, query: Query, result: RecallResult, caller: str, milliseconds: float, purge: Purge) -> None:
        """Count the memories of a result, and log its recall; a database that is only read does neither.

        `purge` is the last one when it looked at the file.
        """
        if self._database.read_only:
            return
        ids = [hit.memory.id for hit in result.hits]
        relevance = max((hit.relevance for hit in result.hits), default=None) if query.text else None
        entry = LoggedRecall(
            max(query.decay.now, 0), caller, "", query.text, result.mode.value, len(ids), relevance,
            result.relevant, milliseconds,
        )  # fmt: skip
        with self._lock:
            self._recalls.append((entry, purge))
            self._counts.update(ids)
            for rank, memory_id in enumerate(ids, start=1):
                self._ranks[memory_id] = min(rank, self._ranks.get(memory_id, rank))

    def write(self) -> bool:
        """Queue what was collected; a failure is logged, since the results were right without it. Nothing is left."""
        # Queued under the lock: when this returns, all that was collected before is on its way.
        with self._lock:
            if self._recalls:
                self._queue(self._counts, self._ranks, list(self._recalls))
                self._clear()
        return False

    def _queue(self, counts: Counter[int], ranks: dict[int, int], recalls: list[tuple[LoggedRecall, Purge]]) -> None:
        parameters = self._parameters()

        def work(transaction: Transaction) -> None:
            count_usage(transaction, counts, recalls[-1][0].recalled_at)
            note_recalls(transaction, ranks)
            recall_rows.add(transaction, recalls, limit=parameters.recall_log, texts=parameters.recall_log_texts)

        try:
            self._database.write(work).add_done_callback(_log_failure)
        except MemoryClosedError:
            _LOG.info("recalls were not counted: the memory was closed")


def _log_failure(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        _LOG.warning("recalls could not be counted: %s", error)
