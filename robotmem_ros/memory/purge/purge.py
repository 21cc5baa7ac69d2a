"""Purge memories: delete them in batches, so that other writers get their turn, then overwrite the traces.

If another process or a full disk keeps the traces from being overwritten, that is done later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from .. import validation
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, PurgeUnfinishedError, StorageError
from ..storage import Database
from ..storage.disk_room import is_full
from ..storage.purge_rows import (
    Selection,
    Share,
    delete_batch,
    delete_maps,
    delete_path,
    delete_sessions,
    is_unfinished,
    preview,
)
from ..storage.secure_erase import check_pages, is_read_elsewhere, secure_erase
from ..storage.snapshot import Transaction
from ..times import Time
from .parts import delete_parts

T = TypeVar("T")
_BATCH = 250
"""So many memories are deleted in one transaction at most."""
_POINTS = 5000
"""So many points of the path."""
PATIENCE = 30.0
"""Seconds for whoever purged, and was told that traces are left, to finish it."""
_REST_RATIO = 20.0
"""How many times as long as an attempt took there is none: it reads the whole file, and writes wait for that."""


@dataclass(frozen=True)
class Purged:
    """Counts of what a purge deleted, or with `dry_run` would delete."""

    memories: int
    sightings: int
    """Sightings of these memories, and of objects that stay."""
    sessions: int
    bytes_before: int
    """Size of the file with its write-ahead log."""
    bytes_after: int
    """The same as before with `dry_run`."""
    repetitions: int = 0
    """Learnings of facts that stay."""
    path_points: int = 0
    maps: int = 0
    """Occupancy grids."""
    shares: tuple[Share, ...] = ()
    """Memories by collection and kind, with `dry_run`."""
    examples: tuple[tuple[int, str], ...] = ()
    """Ids and contents of the first few, with `dry_run`."""


def parse_selection(
    *,
    ids: Iterable[int] | None = None,
    session_id: str | None = None,
    collection: str | None = None,
    before: Time | None = None,
) -> Selection:
    """Check what a caller chose; None is no condition.

    Raises:
        InvalidFieldError: a condition cannot be used, or there is none.
    """
    if ids is None and session_id is None and collection is None and before is None:
        raise InvalidFieldError("ids", None, "chooses nothing; give ids, a session_id, a collection or a time before")
    return Selection(
        None if ids is None else _ids(ids),
        None if session_id is None else _name("session_id", session_id),
        None if collection is None else _name("collection", collection, validation.collection),
        None if before is None else validation.time_ns("before", before),
    )


def plan(database: Database, selection: Selection) -> Purged:
    """Return what a purge would delete now.

    Raises:
        MemoryNotFoundError: an id is unknown.
        StorageError: the database could not be read.
    """
    with database.snapshot() as snapshot:
        planned = preview(snapshot, selection)
    size = database.size()
    return Purged(bytes_before=size, bytes_after=size, **planned._asdict())


def purge(database: Database, selection: Selection, parameters: Parameters) -> Purged:
    """Delete the chosen memories with all that was derived from them, and every trace of them in the file.

    Raises:
        MemoryNotFoundError: an id is unknown; then nothing is deleted.
        PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        StorageError: the database could not be written.
    """
    with database.snapshot() as snapshot:
        planned = preview(snapshot, selection)
    before = database.size()
    memories = 0
    batch = _BATCH
    while True:
        try:
            count = _delete(database, lambda transaction, batch=batch: delete_batch(transaction, selection, batch))  # type: ignore[misc]
        except StorageError as error:
            if batch == 1 or not is_full(error.__cause__):
                raise
            batch //= 2  # what is deleted is written to the log first, for which there is little room
            continue
        if not count:
            break
        memories += count
    _delete(database, lambda transaction: delete_parts(transaction, selection, parameters))
    sessions = _delete(database, lambda transaction: delete_sessions(transaction, selection))
    points = 0
    while count := _delete(database, lambda transaction: delete_path(transaction, selection, _POINTS)):
        points += count
    maps = _delete(database, lambda transaction: delete_maps(transaction, selection))
    finish(database)
    return Purged(memories, planned.sightings, sessions, before, database.size(), planned.repetitions, points, maps)


def finish(database: Database) -> bool:
    """Overwrite the traces of a purge, if there are any; return whether there were.

    Raises:
        PurgeUnfinishedError: another process keeps it from being done.
        StorageError: the database could not be written, or is damaged.
    """
    with database.snapshot() as snapshot:
        if not is_unfinished(snapshot):
            return False
        check_pages(snapshot)
    database.write_alone(partial(secure_erase, path=database.path)).result()
    return True


class PurgeFinisher:
    """Overwrites the traces of purges once no other process reads the file. For one thread at a time.

    Args:
        database: The memory's.
        patience: Seconds between the moment that traces are noticed and the first attempt, and between two attempts.
        clock: Gives seconds.
    """

    def __init__(
        self,
        database: Database,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._patience = patience
        self._clock = clock
        self._due: float | None = None
        self._error: PurgeUnfinishedError | None = None

    def update(self) -> bool:
        """Finish a purge if there is one and its time has come; return whether more is left, which is never.

        Raises:
            PurgeUnfinishedError: the last attempt found another process, or no room.
            StorageError: the database could not be written.
        """
        with self._database.snapshot() as snapshot:
            if not is_unfinished(snapshot):
                self._due = self._error = None
                return False
        if self._due is None:
            self._due = self._clock() + self._patience
        if self._clock() >= self._due:
            self._try()
        if self._error is not None:
            raise self._error
        return False

    def _try(self) -> None:
        began = self._clock()
        # Overwriting in a file that somebody reads would be in vain.
        if self._database.write_alone(is_read_elsewhere).result():
            self._error = PurgeUnfinishedError(self._database.path, "another process reads the file")
        else:
            self._error = self._finish()
        now = self._clock()
        self._due = now + max(self._patience, _REST_RATIO * (now - began))

    def _finish(self) -> PurgeUnfinishedError | None:
        try:
            finish(self._database)
        except PurgeUnfinishedError as error:
            return error
        return None


def _delete(database: Database, work: Callable[[Transaction], T]) -> T:
    return database.write(work, frees_room=True).result()


def _ids(value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidFieldError("ids", value, "must be a list of whole numbers")
    return tuple(sorted({validation.whole("ids", item) for item in value}))


def _name(field: str, value: object, check: Callable[[str, object], str] = validation.name) -> str:
    clean = check(field, value)
    if not clean:
        raise InvalidFieldError(field, value, "is empty; leave it out for any")
    return clean
