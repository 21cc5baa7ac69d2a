"""The database as the rest of the core sees it: readers on loan, and jobs for the writer."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from ..errors import DatabaseUnusableError, MemoryClosedError, StorageError
from ..foreground import Foreground
from ..language import tokens
from ..learning import wording
from ..parameters import Parameters
from ..records.memory import NewMemory, Stored
from . import imports, subject_schema, vector_rows
from .connection import IN_MEMORY, connect, create_file, resolve
from .functions import missing_sqlite_vec
from .migrations import migrate, schema_version
from .text_schema import REBUILD_TEXT_INDEX
from .writer import Writer

T = TypeVar("T")


class Database:
    """One SQLite file with one writer and any number of readers that never wait for it.

    In memory there is a single connection that all share, one at a time. `appended` is called when memories that were
    given to `append` are stored, once for many.

    Raises:
        DatabaseUnusableError: the file is a directory, not writable, damaged, newer, locked, or of another program.
    """

    def __init__(self, parameters: Parameters, appended: Callable[[], None] = lambda: None) -> None:
        self.path: Path = resolve(parameters.db_path)
        self.foreground = Foreground()
        """Who asks goes first."""
        self._parameters = parameters
        self._lock = threading.RLock()
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False
        create_file(self.path)
        self._connection = self._opened()
        self.missing = missing_sqlite_vec(self._connection)
        self._writer = Writer(self._connection, self._lock, imports.insert_once, appended, self.foreground)

    @property
    def in_memory(self) -> bool:
        """Whether nothing is kept on disk."""
        return str(self.path) == IN_MEMORY

    @property
    def waiting(self) -> int:
        """How many write jobs wait, about."""
        return self._writer.waiting()

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Gives a job to the writer; the future holds its result once it is committed."""
        return self._writer.submit(work)

    def append(self, new: NewMemory) -> Future[Stored]:
        """Gives a new memory to the writer, which stores those that wait together; the future as that of `write`."""
        return self._writer.append(new)

    def write_alone(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Gives a job to the writer that must not run in a transaction; the future holds its result."""
        return self._writer.submit_alone(work)

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection to read with.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: SQLite failed.
        """
        if self._closed:
            raise MemoryClosedError
        try:
            if self.in_memory:
                with self._lock:
                    if self._closed:
                        raise MemoryClosedError
                    yield self._connection
                return
            connection = self._borrowed()
            try:
                yield connection
            finally:
                self._give_back(connection)
        except sqlite3.Error as cause:
            raise StorageError("read the database", cause) from cause

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that sees one state of the database until it is given back.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: SQLite failed.
        """
        with self.reader() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    def size(self) -> int:
        """Bytes on disk, with the write-ahead log and the files of the index."""
        if self.in_memory:
            return 0
        with self.reader() as connection:
            index = vector_rows.bytes_on_disk(connection, self.path.parent)
        files = (self.path, Path(f"{self.path}-wal"))
        return index + sum(file.stat().st_size for file in files if file.exists())

    def schema_version(self) -> int:
        """The schema version of the file."""
        with self.reader() as connection:
            return schema_version(connection)

    def close(self) -> None:
        """Commits what was accepted and closes the file; a second call does nothing."""
        if self._closed:
            return
        self._writer.close()
        self._closed = True
        while not self._idle.empty():
            self._idle.get_nowait().close()
        with self._lock:
            self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            connection = self._connect(read_only=False)
            try:
                migrate(connection, self.path)
                _renew_index(connection, "tokens", tokens.scheme(), REBUILD_TEXT_INDEX)
                _renew_index(connection, "wording", wording.scheme(), subject_schema.REBUILD_SUBJECTS)
            except BaseException:
                connection.close()
                raise
        except sqlite3.OperationalError as cause:
            way_out = "close the other program" if "locked" in str(cause) else "check the file and its disk"
            why = "is held by another process" if "locked" in str(cause) else f"cannot be opened ({cause})"
            raise DatabaseUnusableError(self.path, why, way_out) from cause
        except sqlite3.DatabaseError as cause:
            raise DatabaseUnusableError(
                self.path, f"is damaged or no SQLite database ({cause})", "restore a copy of it or give another path"
            ) from cause
        return connection

    def _connect(self, *, read_only: bool) -> sqlite3.Connection:
        return connect(
            self.path,
            busy_timeout=self._parameters.busy_timeout,
            synchronous=self._parameters.synchronous,
            read_only=read_only,
        )

    def _borrowed(self) -> sqlite3.Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._connect(read_only=True)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.put(connection)


def _renew_index(connection: sqlite3.Connection, name: str, scheme: str, rebuild: str) -> None:
    # An index whose words were cut in another way cannot be asked: by jieba or not, or by an older program.
    found = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    if found and found[0] == scheme:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
            for statement in rebuild.split(";"):
                connection.execute(statement)
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, scheme))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
