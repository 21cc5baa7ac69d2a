"""The one writer: a thread that takes jobs from a queue and commits them in groups.

A job runs in a savepoint of its own, so that one that fails takes no other with it. Its future is resolved after the
commit: what was answered is on disk.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import groupby
from typing import Any, Generic, TypeVar

from ..errors import MemoryClosedError, StorageError

T = TypeVar("T")
_MAX_GROUP = 512


class _Job(Generic[T]):
    def __init__(self, work: Callable[[sqlite3.Connection], T], *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        self.future: Future[T] = Future()
        self.result: T
        self.error: BaseException | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        connection.execute("SAVEPOINT job")
        try:
            self.result = self.work(connection)
        except Exception as error:
            connection.execute("ROLLBACK TO job")
            self.error = error
        connection.execute("RELEASE job")

    def run_alone(self, connection: sqlite3.Connection) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.result = self.work(connection)
        except Exception as error:
            self.error = error

    def resolve(self, group_error: BaseException | None) -> None:
        if self.future.cancelled() or not (self.future.running() or self.future.set_running_or_notify_cancel()):
            return
        error = group_error or self.error
        if isinstance(error, sqlite3.Error):
            wrapped = StorageError("write to the database", error)
            wrapped.__cause__ = error
            error = wrapped
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Runs write jobs on its own connection, in the order they were given, many in one transaction."""

    def __init__(self, connection: sqlite3.Connection, lock: threading.RLock) -> None:
        self._connection = connection
        self._lock = lock
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="robotmem-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queues a job; the future holds its result once it is committed.

        Raises:
            MemoryClosedError: the writer was closed. In the future: StorageError, or what the job raised.
        """
        return self._queued(_Job(work))

    def submit_alone(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queues a job that runs outside of a transaction, such as VACUUM; raises as `submit` does."""
        return self._queued(_Job(work, alone=True))

    def waiting(self) -> int:
        """How many jobs wait, about."""
        return self._jobs.qsize()

    def close(self) -> None:
        """Commits all that was submitted, then ends the thread."""
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
            with self._lock:
                job.run_alone(self._connection)
            job.resolve(None)

    def _commit(self, group: list[_Job[Any]]) -> None:
        error: BaseException | None = None
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for job in group:
                    job.run(self._connection)
                self._connection.execute("COMMIT")
            except sqlite3.Error as cause:
                error = cause
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        for job in group:
            job.resolve(error)
