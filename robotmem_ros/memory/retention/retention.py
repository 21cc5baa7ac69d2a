"""Holds a memory within its budgets: looks what has to go with a reader, and removes it in small steps.

Recall never waits for it: readers see the database as it was before or after a step. Other writers wait for one step at
most, and retention pauses after each as long as it took, and while writes wait.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..config.budgets import Budget, Measure
from ..config.parameters import Parameters
from ..storage import Database, sighting_rows
from ..validation import expanded_path
from .excess import Leaving, leaving, overhead
from .export import append, lines
from .file_size import file_size, give_back, index_bytes, limit_log, to_give_back
from .removal import count, remove
from .report import Report, Tally
from .sightings import thinnings

T = TypeVar("T")
_LOOK, _STEP = 1000, 16
"""So many memories are chosen at a time, and so many removed in one step."""
_PATIENCE = 2.0
_PAUSE = 0.02


class Retention:
    """Removes what exceeds the budgets. Safe to use from several threads.

    Args:
        database: The memory's.
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
    """

    def __init__(self, database: Database, parameters: Callable[[], Parameters], clock: Callable[[], int]) -> None:
        self._database = database
        self._parameters = parameters
        self._clock = clock
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._limited = 0

    def stop(self) -> None:
        """Ends what runs after the step at hand; nothing is removed any more."""
        self._stopped.set()

    def plan(self) -> Report:
        """What would go now; nothing is removed. For the size of the file it is an estimate."""
        tally, parameters, now = Tally(), self._parameters(), self._clock()
        with self._database.snapshot() as connection:
            used, gone = self._used(connection), set[int]()
            for budget in parameters.budgets():
                while chosen := leaving(connection, budget, now=now, used=used, limit=_LOOK, gone=gone):
                    each = overhead(connection, used, gone)
                    used -= sum(one.payload + each for one in chosen)
                    gone.update(one.memory_id for one in chosen)
                    tally.add(budget.measure, chosen)
            if parameters.retention_sightings:
                halved = thinnings(connection, parameters.retention_sightings, gone)
                tally.sightings = sum(thinning.left_out for thinning in halved)
        return tally.report()

    def run(self) -> Report:
        """Removes what exceeds the budgets now.

        Raises:
            ExportError: what is to go could not be exported, and so stays.
            StorageError: the database could not be read or written.
        """
        with self._lock:
            tally, parameters = Tally(), self._parameters()
            budgets = parameters.budgets()
            now = self._clock() if budgets else 0
            self._limit_log(parameters.retention_bytes)
            for budget in budgets:
                for gone in self._removed(budget, parameters.retention_export, now):
                    tally.add(budget.measure, gone)
            if parameters.retention_sightings:
                tally.sightings = self._thin_out(parameters.retention_sightings)
            if budgets:
                self._shrink(parameters.retention_bytes or None)
            return tally.report()

    def _used(self, connection: sqlite3.Connection) -> int:
        return file_size(connection).used + index_bytes(connection, self._database.path.parent)

    def _limit_log(self, limit: int) -> None:
        if limit and limit != self._limited:
            self._database.write_alone(lambda connection: limit_log(connection, limit)).result()
            self._limited = limit

    def _removed(self, budget: Budget, export: str, now: int) -> Iterator[list[Leaving]]:
        while not self._stopped.is_set():
            with self._database.snapshot() as connection:
                used = self._used(connection)
                chosen = leaving(connection, budget, now=now, used=used, limit=_LOOK)
                written = lines(connection, [one.memory_id for one in chosen]) if export else []
            if written:
                append(expanded_path("retention_export", export), written, database=self._database.path)
            gone = [one for step in self._steps(chosen, budget.measure) for one in step]
            yield gone
            if not gone:
                return

    def _steps(self, chosen: Sequence[Leaving], measure: Measure) -> Iterator[list[Leaving]]:
        for start in range(0, len(chosen), _STEP):
            if self._stopped.is_set():
                return
            step = chosen[start : start + _STEP]
            yield self._write(lambda connection, step=step: remove(connection, step, measure.value))  # type: ignore[misc]

    def _thin_out(self, budget: int) -> int:
        with self._database.reader() as connection:
            halved = thinnings(connection, budget)
        left_out = 0
        for thinning in halved:

            def halve(connection: sqlite3.Connection, memory_id: int = thinning.memory_id) -> int:
                gone = sighting_rows.halve(connection, memory_id)
                count(connection, "sightings", {"sighting": gone})
                return gone

            if self._stopped.is_set():
                break
            left_out += self._write(halve)
        return left_out

    def _shrink(self, limit: int | None) -> None:
        with self._database.reader() as connection:
            index = index_bytes(connection, self._database.path.parent)
        while not self._stopped.is_set():
            with self._database.reader() as connection:
                pages = to_give_back(connection, limit, index)
            if not pages:
                return
            self._write(lambda connection, pages=pages: give_back(connection, pages))  # type: ignore[misc]

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._yield_to_queries()
        began = time.monotonic()
        result = self._database.write(work).result()
        self._stopped.wait(time.monotonic() - began)
        return result

    def _yield_to_queries(self) -> None:
        # Saving comes first. But not for ever: the budget is to hold as well.
        deadline = time.monotonic() + _PATIENCE
        while self._database.waiting and time.monotonic() < deadline and not self._stopped.wait(_PAUSE):
            pass
