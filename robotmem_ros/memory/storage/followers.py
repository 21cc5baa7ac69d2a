"""Feed followers of a file: data derived from its rows that need not be exact at once.

A follower has a name, its progress through the changes of the file, and `apply`. Every change reaches the follower this
way, whichever process wrote it. A lost follower begins at 0 again. The data of conditions and counts must be exact at
once, and are written in the transaction of their row: see indexing.py.

A vector is stored later than its memory, without a revision, or each memory would be written, sent and shown twice. The
id of the vector serves instead: ids grow and are never used again, and a vector never changes.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from . import revisions, vector_rows
from .database import Database
from .snapshot import Snapshot


class Place(NamedTuple):
    """A place in the changes of a file: the last revision and vector before it."""

    revision: int = 0
    vector: int = 0
    """Id of a vector."""


class Follower(Protocol):
    """Something derived, which can be searched or asked at any time."""

    name: str
    """The task of feeding it, such as `index texts`."""

    @property
    def progress(self) -> Place:
        """Return the place up to which it has applied all changes."""

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Apply the changes up to a place, or some of them; return whether there may be more to do.

        The snapshot shows the file at this place. Applying a change twice does no harm.
        """


def place(snapshot: Snapshot) -> Place:
    """Return the place behind all changes."""
    return Place(revisions.latest(snapshot), vector_rows.newest(snapshot))


def feed(database: Database, follower: Follower) -> bool:
    """Give a follower the changes it lacks, or some of them; return whether there may be more.

    Raises:
        StorageError: the database cannot be read.
    """
    database.query_priority.yield_to_queries()
    # A snapshot for each piece: a long read would keep the write-ahead log from being emptied.
    with database.snapshot() as snapshot:
        return follower.apply(snapshot, place(snapshot))


def catch_up(database: Database, follower: Follower) -> None:
    """Give a follower all changes that it lacks."""
    while feed(database, follower):
        pass
