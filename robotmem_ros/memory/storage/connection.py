"""Open connections to the database file, with the SQL functions that queries call.

The locks of SQLite belong to a process, but what SQLite notes about them in RAM is copied by a fork. A connection that
a child opens to a file of its parent therefore takes no lock, and what it writes can be lost. See "How To Corrupt An
SQLite Database File", section 2.6.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..conditions.decay import share_left
from ..errors import DatabaseUnusableError

_SPACES = 1 << 20
_INSTEAD = "without room in RAM, numpy compares vectors"


class Connection(sqlite3.Connection):
    """A connection that keeps what was read of a state of the file."""

    _state: tuple[int, dict[object, Any]] = (-1, {})

    def known(self) -> dict[object, Any]:
        """Return what was kept since another connection changed the file last. To be called in a transaction."""
        (version,) = self.execute("PRAGMA data_version").fetchone()
        if version != self._state[0]:
            self._state = version, {}
        return self._state[1]


def register_functions(connection: sqlite3.Connection) -> None:
    """Register the functions on a connection, and those of sqlite-vec if it can be loaded."""
    connection.create_function("only_robotmem_ros_writes_memories", 0, lambda: 1, deterministic=True)
    connection.create_function("share_left", 4, share_left, deterministic=True)
    connection.create_function("space_number", 2, space_number, deterministic=True)
    if missing_sqlite_vec(connection):
        connection.create_function("vec_int8", 1, bytes, deterministic=True)
        connection.create_function("vec_distance_cosine", 2, cosine_distance, deterministic=True)


def missing_sqlite_vec(connection: sqlite3.Connection) -> str:
    """Load sqlite-vec, and return why it cannot be loaded; empty if it was loaded."""
    try:
        import sqlite_vec
    except ImportError:
        return f"sqlite-vec is not installed (pip install sqlite-vec); {_INSTEAD}"
    if not hasattr(connection, "enable_load_extension"):
        return f"this Python cannot load SQLite extensions (use the system's python3); {_INSTEAD}"
    try:
        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
    except sqlite3.OperationalError as cause:
        return f"sqlite-vec could not be loaded ({cause}); {_INSTEAD}"
    return ""


def space_number(frame_id: str, map_id: str) -> int:
    """Return a number for the positions of a frame and map, rarely that of others too; the R*Tree keeps it exactly."""
    return zlib.crc32(f"{frame_id}\0{map_id}".encode("utf-8", "surrogatepass")) % _SPACES


def cosine_distance(left: bytes, right: bytes) -> float:
    """Return 1 - cosine similarity of two vectors of signed bytes, as sqlite-vec computes it."""
    a, b = np.frombuffer(left, np.int8).astype(np.float32), np.frombuffer(right, np.int8).astype(np.float32)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return 1.0 - float(a @ b) / lengths if lengths else 1.0


IN_MEMORY = ":memory:"
INCREMENTAL = 2
"""The value of PRAGMA auto_vacuum with which free pages can be given back in small steps."""
LOG_LIMIT = 8_388_608
"""Bytes; about the size at which SQLite writes the log back into the file, 1000 pages."""


class _OpenFile(NamedTuple):
    process: int
    device: int
    inode: int


_open_files: dict[object, _OpenFile] = {}


def default_path(namespace: str = "") -> str:
    """Return the default path of a memory, which differs for each namespace, such as /robot1."""
    return "/".join(["~/.robotmem", *filter(None, namespace.split("/")), "memory.db"])


def resolve(db_path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of the database, the default one for an empty text; `~` is the home folder.

    Raises:
        DatabaseUnusableError: there is no such home folder.
    """
    try:
        if str(db_path) == IN_MEMORY:
            return Path(IN_MEMORY)
        return Path(db_path or default_path()).expanduser().absolute()
    except RuntimeError as cause:
        raise DatabaseUnusableError(
            str(db_path), "lies in a home folder that is not known", "give a full path"
        ) from cause


def create_file(path: Path) -> None:
    """Make sure that the database file exists, readable by its owner alone.

    Raises:
        DatabaseUnusableError: the path is a directory, or may not be read and written.
    """
    if str(path) == IN_MEMORY:
        return
    try:
        if path.is_dir():
            raise DatabaseUnusableError(path, "is a directory", "give the path of a file")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_empty(path)
        if not os.access(path, os.R_OK | os.W_OK):
            raise _not_writable(path)
    except OSError as cause:
        raise DatabaseUnusableError(
            path, f"cannot be opened for writing ({cause.strerror})", "check the path and its permissions"
        ) from cause


def _not_writable(path: Path) -> OSError:
    code = errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
    return OSError(code, os.strerror(code))


def check_readable(path: Path) -> None:
    """Check that there is a file which may be read.

    Raises:
        DatabaseUnusableError: there is none, or it may not be read.
    """
    if not path.is_file():
        raise DatabaseUnusableError(path, "does not exist", "give the path of a memory's file")
    if not os.access(path, os.R_OK):
        raise DatabaseUnusableError(path, "cannot be opened for reading", "check the path and its permissions")
    if not path.stat().st_size:
        raise DatabaseUnusableError(path, "is empty", "open it once to write, as a node does, or restore a copy")


def exposure(path: Path) -> str:
    """Return a warning that every user of this machine may read or write the database file; empty if not.

    The write-ahead log has the mode of the database.
    """
    try:
        mode = 0 if str(path) == IN_MEMORY else stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ""
    if not mode & 0o007:
        return ""
    may = "change" if mode & 0o002 else "read"
    return f"every user of this machine may {may} the database {str(path)!r}, whose mode is {mode:04o}; chmod o= it"


def create_empty(path: Path) -> None:
    """Create an empty file for its owner alone, if there is none, without opening it.

    Nothing but SQLite may open and close a database: any close() of a file drops all locks that the process holds on
    it, those of SQLite's connections too. Other processes then take the file for unused and delete its log. See "How To
    Corrupt An SQLite Database File", section 2.2.
    """
    # SQLite follows a link whose target is not there yet; mknod does not.
    target = os.path.realpath(path)
    with suppress(FileExistsError):
        if sys.platform == "linux":
            os.mknod(target, 0o600)
        else:  # mknod is for root alone there; a new file has no locks yet
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def connect(path: Path, *, busy_timeout: float, synchronous: str, read_only: bool) -> Connection:
    """Open a connection in autocommit mode that any thread may use, one at a time.

    Raises:
        sqlite3.Error: the file is no database, is damaged or is locked; or is not there, and is to be read only.
    """
    connection = sqlite3.connect(
        _reading_uri(path) if read_only else path,
        timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256, uri=read_only,
        factory=Connection,
    )  # fmt: skip
    try:
        # Each commit writes whole pages to the log: with 2 kB little more than half of what 4 kB would, in a file of
        # the same size (three vectors of 384 components fill such a page to 86 %, one fills 1 kB to 58 %).
        connection.execute("PRAGMA page_size = 2048")
        if connection.execute("PRAGMA page_count").fetchone()[0] == 0:
            # Lets retention give free pages back in small steps. In a file with pages, it would be a write.
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        # Cuts the log back to its ordinary size after a large write.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_LIMIT}")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        # Deleted rows are overwritten at once, whatever the defaults of this SQLite: see purge_rows.py.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        # A reader drops its cache whenever another connection has written, and the kernel keeps the file: 8 MiB are as
        # quick as 32. The file is not mapped: it would count as RAM once for every connection, and a disk that fails
        # to read would end the process instead of a query.
        connection.execute("PRAGMA cache_size = -8192")
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA temp_store = MEMORY")
        register_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def without_patience(connection: sqlite3.Connection) -> Iterator[None]:
    """Let a connection fail at once where another process holds a lock: SQLite's wait cannot be interrupted."""
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")


def is_locked(error: BaseException) -> bool:
    """Tell whether a statement failed since another connection holds a lock."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def note_open(path: Path) -> object:
    """Note that this process opens a file; return a token for `note_closed`.

    Raises:
        DatabaseUnusableError: it was open in the process that forked this one.
        OSError: there is no such file.
    """
    status = path.stat()
    file = _OpenFile(os.getpid(), status.st_dev, status.st_ino)
    if any(open_file[1:] == file[1:] and open_file.process != file.process for open_file in list(_open_files.values())):
        raise DatabaseUnusableError(
            path,
            "was open when this process was forked, and the locks of SQLite do not hold here",
            "fork before it is opened, or start a new interpreter (multiprocessing: spawn)",
        )
    token = object()
    _open_files[token] = file
    return token


def note_closed(token: object) -> None:
    """Note that all connections are closed that belong to a token of `note_open`."""
    _open_files.pop(token, None)


def _reading_uri(path: Path) -> str:
    # Readers of a write-ahead log share a file beside it, and make it if it is missing. A process that may not write
    # cannot; but if there is no log, it needs none.
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    has_log = any(Path(f"{path}{suffix}").exists() for suffix in ("-wal", "-shm"))
    return f"{path.as_uri()}?mode=ro" + ("" if may_write or has_log else "&immutable=1")
