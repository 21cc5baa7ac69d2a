"""Lend snapshots of one SQLite file, and give jobs to its writer."""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ..config.parameters import Parameters
from ..errors import (
    MALFORMED,
    DatabaseUnusableError,
    InvalidFieldError,
    MemoryClosedError,
    ReadOnlyError,
    StorageError,
    is_damage,
)
from ..models import NewMemory, Stored
from ..threads import Calls, Event, QueryPriority
from . import imports
from .connection import (
    IN_MEMORY,
    Connection,
    check_readable,
    connect,
    create_file,
    exposure,
    missing_sqlite_vec,
    note_closed,
    note_open,
    resolve,
)
from .disk import back_up
from .file_guard import FileGuard, Log, log_loss, mark_log, read_log, settle_log
from .migrations import check_version, migrate, schema_version
from .snapshot import Snapshot, Transaction
from .writer import Writer

T = TypeVar("T")
CLOSING = 3.0
"""Seconds for what waits to be written when a memory is closed."""
_MOMENT, _GRACE = 0.5, 1.5
"""Seconds that what is at hand may take after that, between two interruptions and in all."""
_LOG = logging.getLogger(__name__)


class Database:
    """One SQLite file with one writer and any number of readers that never wait for it.

    In memory there is a single connection that all share, one at a time. `on_insert` is called when memories that were
    given to `insert` are stored, once for many. `clock` is the robot's, in nanoseconds. With `read_only` nothing is
    written, not even an older schema brought up to date.

    Raises:
        DatabaseUnusableError: the file is a directory, not writable, damaged, newer, locked, or of another program.
    """

    def __init__(
        self,
        parameters: Parameters,
        on_insert: Callable[[], None] = lambda: None,
        *,
        read_only: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path: Path = resolve(parameters.db_path)
        self._reading = f"read the database {str(self.path)!r}"
        self.read_only = read_only
        self.query_priority = QueryPriority()
        """Entered by queries, so that background work waits for them."""
        self._parameters = parameters
        self._clock = clock
        self._lock = threading.RLock()
        self._readers = Calls()
        self._idle: list[Connection] = []
        self._lent: set[sqlite3.Connection] = set()
        self._ends_at = math.inf
        self._ended = Event()
        self._is_interrupted = False
        self._is_closed = False
        self._marked_at = 0
        self.log_loss = ""
        """Loss of commits from the write-ahead log that was noticed at opening; empty if none was."""
        self._connection = self._open()
        self.extension_problem = missing_sqlite_vec(self._connection)
        self._guard = None if read_only or self.in_memory else FileGuard(self.path)
        self._writer = None if read_only else self._new_writer(on_insert)

    @property
    def in_memory(self) -> bool:
        """Return whether nothing is kept on disk."""
        return str(self.path) == IN_MEMORY

    @property
    def queue_length(self) -> int:
        """Return how many write jobs wait, about."""
        return len(self._writer.queue) if self._writer else 0

    @property
    def trouble(self) -> str:
        """Return why the last write failed; empty if none did."""
        return self._writer.trouble if self._writer else ""

    def look_after_file(self) -> bool:
        """Let the writer save the contents of the file if it was taken away; return that nothing is left to do."""
        if self._guard is not None and self._guard.happened():
            self.write(lambda transaction: None)
        return False

    def mark_file(self) -> bool:
        """Let the file show after a checkpoint that it has a log; return that nothing is left to do."""
        is_due = Path(f"{self.path}-wal").exists() and self._checkpointed_at() != self._marked_at
        if is_due and self.write_alone(partial(mark_log, snapshot=self.snapshot)).result():
            self._marked_at = self._checkpointed_at()
        return False

    def _checkpointed_at(self) -> int:
        # Only a checkpoint writes to the file itself.
        return self.path.stat().st_mtime_ns

    def write(
        self, work: Callable[[Transaction], T], *, frees_room: bool = False, background: bool = False
    ) -> Future[T]:
        """Give a job to the writer; the future holds its result once it is committed.

        A job that `frees_room` may use the last bytes of the disk. Calls go before a job in the `background`.
        """
        return self._writing().submit(work, frees_room=frees_room, background=background)

    def insert(self, new: NewMemory, *, background: bool = False) -> Future[Stored]:
        """Give a new memory to the writer, which stores memories in the queue together; otherwise as `write`."""
        return self._writing().insert(new, background=background)

    def notify_of_events(self, notify: Callable[[], None]) -> None:
        """Call a function, which must return at once, whenever this process has committed events."""
        if self._writer is not None:
            self._writer.on_events = notify

    def gather(self, seconds: float) -> None:
        """Let jobs in the background wait for `seconds`, to be committed together."""
        self._writing().queue.gathered = seconds

    def write_alone(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Give a job to the writer that must not run in a transaction; the future holds its result."""
        return self._writing().submit_alone(work)

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Open a connection of its own for a job that is given to `write_alone`."""
        with closing(self._connect(read_only=False)) as connection:
            self._lent.add(connection)
            try:
                yield connection
            finally:
                self._lent.discard(connection)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Lend one state of the database.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: SQLite failed.
        """
        with self._reader() as connection:
            try:
                connection.execute("BEGIN")
                # In memory the connection writes as well, which it does not tell itself.
                yield Snapshot(connection, self._reading, {} if self.in_memory else connection.known())
            finally:
                if connection.in_transaction:
                    # Nothing was written. A COMMIT would raise an error of a damaged page again that the caller caught.
                    connection.execute("ROLLBACK")

    @contextmanager
    def _reader(self) -> Iterator[Connection]:
        try:
            if self.in_memory:
                with self._lock:
                    if self._is_closed:
                        raise MemoryClosedError
                    yield self._connection
                return
            with self._readers.running():
                if self._is_closed:
                    raise MemoryClosedError
                connection = self._idle_connection() or self._connect(read_only=True)
                self._lent.add(connection)
                try:
                    yield connection
                finally:
                    self._lent.discard(connection)
                    # Ctrl-C may have come before the end of the transaction.
                    if connection.in_transaction:
                        connection.close()
                    else:
                        self._idle.append(connection)
        except StorageError as error:
            if self._is_interrupted:
                raise MemoryClosedError from error
            if loss := self._loss():
                raise StorageError(self._reading, OSError(loss)) from error
            raise
        except (sqlite3.Error, *MALFORMED) as cause:
            if self._is_interrupted:
                raise MemoryClosedError from cause
            raise StorageError(self._reading, OSError(loss) if (loss := self._loss()) else cause) from cause

    def _loss(self) -> str:
        # What happened to the file while it was open, which SQLite tells as a file that cannot be opened.
        return self._guard.happened() if self._guard is not None else ""

    def back_up(self, path: Path) -> None:
        """Copy the database into a new, complete file, while writing goes on.

        Raises:
            InvalidFieldError: the file exists already, or cannot be made.
            StorageError: SQLite failed.
        """
        try:
            with self._reader() as connection:
                try:
                    back_up(connection, path)
                except sqlite3.Error as cause:
                    raise StorageError(f"copy the database {str(self.path)!r} to {str(path)!r}", cause) from cause
        except OSError as cause:
            raise InvalidFieldError("path", str(path), f"cannot be made ({cause.strerror}); name a new file") from cause

    def size(self) -> int:
        """Return the bytes on disk, with the write-ahead log."""
        if self.in_memory:
            return 0
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def schema_version(self) -> int:
        """Return the schema version of the file."""
        with self._reader() as connection:
            return schema_version(connection)

    def begin_to_close(self) -> None:
        """Throw away what is not written, and interrupt what still reads, a few seconds from now; `close` ends that."""
        if self._ends_at == math.inf:
            self._ends_at = time.monotonic() + CLOSING
            self._ending = threading.Thread(target=self._end, name="robotmem-end", daemon=True)
            self._ending.start()

    def _end(self) -> None:
        if self._ended.wait(CLOSING):
            return
        if self._writer:
            self._writer.discard()
        # The jobs at hand mostly end by themselves.
        while not self._ended.wait(_MOMENT):
            self._is_interrupted = True
            for connection in (self._connection, *tuple(self._lent)):
                with suppress(sqlite3.ProgrammingError):  # it was closed meanwhile
                    connection.interrupt()

    def close(self) -> None:
        """Commit what was accepted, and close the file; a second call does nothing.

        What takes longer than a few seconds after `begin_to_close` is thrown away, and the log counts it; who waits for
        it gets an error. Nothing whose result was given to anybody is among it.
        """
        self.begin_to_close()
        try:
            self._close()
        finally:
            self._ended.set()
        self._ending.join()  # it tells all who wait
        if self._writer and self._writer.discarded:
            _LOG.error(
                "writes that still waited %g s after the memory began to close were thrown away: %s (none of them was "
                "confirmed, and each is that of a call or a message)", CLOSING, f"{self._writer.discarded:,}",
            )  # fmt: skip
            self._writer.discarded = 0

    def _close(self) -> None:
        is_idle = self._writer is None or self._writer.close(self._seconds_left())
        self._is_closed = True
        self._readers.wait(self._seconds_left())
        while self._idle:
            self._idle.pop().close()
        if not is_idle:
            # SQLite's wait for a lock cannot be interrupted: then the end of the program closes the file.
            _LOG.error("the database %r is left open: its writer still waits", str(self.path))
            return
        with self._lock:
            self._connection.close()
        note_closed(self._open_file)

    def _seconds_left(self) -> float:
        return max(self._ends_at - time.monotonic(), 0.0) + _GRACE

    def _open(self) -> Connection:
        if self.read_only:
            check_readable(self.path)
        else:
            with suppress(OSError):  # it is not there, or told by what follows
                if not self.path.stat().st_size:
                    _LOG.warning("the file %r is empty: a new memory begins in it", str(self.path))
            create_file(self.path)
        if exposed := exposure(self.path):
            _LOG.warning("%s", exposed)
        self._open_file = None if self.in_memory else note_open(self.path)
        log = read_log(self.path)
        try:
            return self._open_to_read(log) if self.read_only else self._open_to_write(log)
        except BaseException as cause:
            note_closed(self._open_file)
            if isinstance(cause, (sqlite3.Error, *MALFORMED)):
                raise self._unusable(cause) from cause
            raise

    def _open_to_write(self, log: Log) -> Connection:
        with self._close_on_error(self._connect(read_only=False)) as connection:
            self._note_loss(connection, log)
            migrate(connection, self.path)
            settle_log(connection)
            return connection

    def _open_to_read(self, log: Log) -> Connection:
        with self._close_on_error(self._connect(read_only=True)) as connection:
            check_version(connection, self.path)
            self._note_loss(connection, log)
            return connection

    def _note_loss(self, connection: sqlite3.Connection, log: Log) -> None:
        self.log_loss = log_loss(connection, self.path, log)
        if self.log_loss:
            _LOG.error("%s", self.log_loss)

    @contextmanager
    def _close_on_error(self, connection: Connection) -> Iterator[Connection]:
        try:
            yield connection
        except BaseException:
            connection.close()
            raise

    def _unusable(self, cause: BaseException) -> DatabaseUnusableError:
        if is_damage(cause):
            problem = f"is damaged or no SQLite database ({cause})"
            return DatabaseUnusableError(self.path, problem, "restore a copy of it or give another path")
        if "locked" in str(cause):
            return DatabaseUnusableError(self.path, "is held by another process", "close the other program")
        return DatabaseUnusableError(self.path, f"cannot be opened ({cause})", "check the file and its disk")

    def _connect(self, *, read_only: bool, busy_timeout: float | None = None) -> Connection:
        return connect(
            self.path,
            busy_timeout=self._parameters.busy_timeout if busy_timeout is None else busy_timeout,
            synchronous=self._parameters.synchronous,
            read_only=read_only,
        )

    def _new_writer(self, on_insert: Callable[[], None]) -> Writer:
        return Writer(
            self._connection,
            self.path,
            self._lock,
            store=imports.insert_once,
            on_insert=on_insert,
            query_priority=self.query_priority,
            busy_timeout=self._parameters.busy_timeout,
            guard=self._guard,
            clock=self._clock,
        )

    def _writing(self) -> Writer:
        if self._writer is None:
            raise ReadOnlyError
        return self._writer

    def _idle_connection(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None
