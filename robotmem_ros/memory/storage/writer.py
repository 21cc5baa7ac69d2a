"""The one writer: a thread that takes jobs from a queue and commits them in groups.

A job runs in a savepoint of its own, so that one that fails takes no other with it. Its future is resolved after the
commit: what was answered is on disk.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..background import QueryPriority
from ..errors import MALFORMED, MemoryClosedError, StorageError
from ..models import NewMemory, Stored
from . import lived_days, text_rows
from .disk_room import DiskReserve, LogSpace, is_full

T = TypeVar("T")
_Store = Callable[[sqlite3.Connection, Sequence[NewMemory]], Sequence[Stored]]
_MAX_GROUP = 512
_MERGES = 64
_FLOOD = 16
"""Jobs in one commit; fewer come when the writer keeps up easily."""
_FLOOD_LASTS = 0.1


class _Job(Generic[T]):
    def __init__(
        self, work: Callable[[sqlite3.Connection], T], *, alone: bool = False, frees_room: bool = False
    ) -> None:
        self.work = work
        self.alone = alone
        self.frees_room = frees_room
        self.future: Future[T] = Future()
        self.result: T
        self.error: BaseException | None = None

    def begin(self) -> bool:
        return self.future.set_running_or_notify_cancel()

    def run(self, connection: sqlite3.Connection) -> None:
        self.error = None
        connection.execute("SAVEPOINT job")
        try:
            self.result = self.work(connection)
        except Exception as error:
            if is_full(error):
                raise  # it is not this job's fault, and the transaction may be gone
            connection.execute("ROLLBACK TO job")
            self.error = error
        connection.execute("RELEASE job")

    def run_alone(self, connection: sqlite3.Connection) -> None:
        if not self.begin():
            return
        try:
            self.result = self.work(connection)
        except Exception as error:
            self.error = error

    def resolve(self, path: Path, group_error: BaseException | None = None) -> None:
        if self.future.cancelled():
            return
        error = group_error or self.error
        if isinstance(error, (sqlite3.Error, *MALFORMED)):
            wrapped = StorageError(f"write to the database {str(path)!r}", error)
            wrapped.__cause__ = error
            error = wrapped
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self.result)


class _Insert(_Job[Stored]):
    """A job that stores one memory, so that it can be done together with others of its kind."""

    def __init__(self, new: NewMemory, store: _Store) -> None:
        super().__init__(lambda connection: store(connection, [new])[0])
        self.new = new


class Writer:
    """Runs write jobs on its own connection, in the order they were given, many in one transaction.

    New memories are given to `store`, those that wait together; `inserted` is called after their commit. `clock` is the
    robot's, for the days that the memory lives.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        lock: threading.RLock,
        *,
        store: _Store,
        inserted: Callable[[], None],
        query_priority: QueryPriority,
        reserve: DiskReserve,
        clock: Callable[[], int],
    ) -> None:
        self._connection = connection
        self._reserve = reserve
        self._clock = clock
        self._path = path
        self._log = LogSpace(connection, path, reserve)
        self._lock = lock
        self._store = store
        self._inserted = inserted
        self._query_priority = query_priority
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._flood_ends = 0.0
        self._thread = threading.Thread(target=self._run, name="robotmem-writer", daemon=True)
        self._thread.start()
        self.submit(lambda connection: None)  # the day on which a file is opened to be written is lived

    def submit(self, work: Callable[[sqlite3.Connection], T], *, frees_room: bool = False) -> Future[T]:
        """Queue a job; the future holds its result once it is committed. A job that frees room may use the reserve.

        Raises:
            MemoryClosedError: the writer was closed. In the future: StorageError, or what the job raised.
        """
        return self._queued(_Job(work, frees_room=frees_room))

    def insert(self, new: NewMemory) -> Future[Stored]:
        """Queue a memory to be stored, together with those next to it in the queue; raises as `submit` does."""
        return self._queued(_Insert(new, self._store))

    def submit_alone(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue a job that runs outside of a transaction, such as VACUUM, with the reserve; raises as `submit` does."""
        return self._queued(_Job(work, alone=True))

    def waiting(self) -> int:
        """Return how many jobs wait, about."""
        return self._jobs.qsize()

    def floods(self) -> bool:
        """Return whether so much comes in that many jobs were committed together a moment ago."""
        return time.monotonic() < self._flood_ends

    def close(self) -> None:
        """Commit all that was submitted, then end the thread."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _queued(self, job: _Job[T]) -> Future[T]:
        with self._closing:
            if self._closed:
                raise MemoryClosedError
            self._jobs.put(job)
        return job.future

    def _run(self) -> None:
        while True:
            group, last = self._next_group()
            for alone, jobs in groupby(group, key=lambda job: job.alone):
                if alone:
                    self._run_alone(jobs)
                else:
                    self._commit(list(jobs))
            if last:
                return

    def _next_group(self) -> tuple[list[_Job[Any]], bool]:
        job = self._jobs.get()
        if self.floods():
            self._query_priority.yield_to_queries()
        group: list[_Job[Any]] = []
        while job is not None:
            group.append(job)
            if len(group) == _MAX_GROUP:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _run_alone(self, jobs: Iterable[_Job[Any]]) -> None:
        for job in jobs:
            with self._lock, self._reserve.lent():
                job.run_alone(self._connection)
                self._log.after_commit()
            job.resolve(self._path)

    def _commit(self, group: list[_Job[Any]]) -> None:
        jobs = [job for job in group if job.begin()]
        with self._lock:
            error = self._transaction(jobs)
            if is_full(error):
                self._log.make_room()
                error = self._transaction(jobs)
            freed = self._transaction_in_reserve(jobs) if is_full(error) else error
            self._log.after_commit()
        for job in jobs:
            job.resolve(self._path, freed if job.frees_room else error)
        if len(jobs) >= _FLOOD:
            self._flood_ends = time.monotonic() + _FLOOD_LASTS
        if any(type(job) is _Insert for job in jobs):
            self._inserted()

    def _transaction_in_reserve(self, jobs: list[_Job[Any]]) -> BaseException | None:
        # Of all that found no room, only what frees some.
        freeing = [job for job in jobs if job.frees_room]
        if not freeing:
            return None
        with self._reserve.lent():
            error = self._transaction(freeing, merges_texts=False)
            self._log.make_room()
            with suppress(sqlite3.Error):
                for _ in range(_MERGES):
                    if not text_rows.merge(self._connection):
                        break
                    self._log.make_room()
        return error

    def _transaction(self, jobs: list[_Job[Any]], *, merges_texts: bool = True) -> BaseException | None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            lived_days.note(self._connection, self._clock)
            if not merges_texts:
                text_rows.defer_merging(self._connection)
            for kind, alike in groupby(jobs, key=type):
                if kind is _Insert:
                    self._insert_together([job for job in alike if isinstance(job, _Insert)])
                else:
                    for job in alike:
                        job.run(self._connection)
            if not merges_texts:
                text_rows.resume_merging(self._connection)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return error
        return None

    def _insert_together(self, jobs: list[_Insert]) -> None:
        self._connection.execute("SAVEPOINT jobs")
        try:
            for job, stored in zip(jobs, self._store(self._connection, [job.new for job in jobs]), strict=True):
                job.result, job.error = stored, None
        except Exception as error:
            if is_full(error):
                raise
            # One of them cannot be stored: each for itself, then it takes no other with it.
            self._connection.execute("ROLLBACK TO jobs")
            for job in jobs:
                job.run(self._connection)
        self._connection.execute("RELEASE jobs")
