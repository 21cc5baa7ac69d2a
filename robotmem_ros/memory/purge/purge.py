"""The whole way of a purge: delete in steps, so that other writers get their turn, then overwrite the traces."""

from __future__ import annotations

from dataclasses import dataclass

from ..config.parameters import Parameters
from ..storage import Database
from .deletion import delete_batch, delete_parts, delete_sessions, is_unfinished
from .preview import preview
from .scrub import scrub
from .selection import Selection


@dataclass(frozen=True)
class Purged:
    """What a purge deleted."""

    memories: int
    sightings: int
    """Of these memories, and those of objects that stay."""
    sessions: int
    bytes_before: int
    """Size of the file with its write-ahead log."""
    bytes_after: int
    repetitions: int = 0
    """Learnings of facts that stay."""


def purge(database: Database, selection: Selection, parameters: Parameters) -> Purged:
    """Deletes the chosen memories with all that was derived from them, and every trace of them in the file.

    Raises:
        MemoryNotFoundError: an id is unknown; then nothing is deleted.
        PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        StorageError: the database could not be written.
    """
    with database.snapshot() as connection:
        planned = preview(connection, selection)
    before = database.size()
    memories = 0
    while count := database.write(lambda connection: delete_batch(connection, selection)).result():
        memories += count
    database.write(lambda connection: delete_parts(connection, selection, parameters)).result()
    sessions = database.write(lambda connection: delete_sessions(connection, selection)).result()
    finish(database)
    return Purged(memories, planned.sightings, sessions, before, database.size(), planned.repetitions)


def finish(database: Database) -> bool:
    """Overwrites the traces of a purge, if there are any; whether there were.

    Raises:
        PurgeUnfinishedError: another process keeps it from being done.
        StorageError: the database could not be written.
    """
    with database.reader() as connection:
        if not is_unfinished(connection):
            return False
    database.write_alone(lambda connection: scrub(connection, database.path)).result()
    return True
