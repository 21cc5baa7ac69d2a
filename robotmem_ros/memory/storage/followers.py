"""Feed what follows a file: what is derived from its rows and need not be exact at once.

A follower is a name, its place in the changes of the file, and `apply`. Whoever wrote a change, it comes to the
follower in this one way. A follower that is lost begins at 0 again. What a condition or a count needs must
be exact at once, and is written in the transaction of its row: see indexing.py.

A vector comes later than its memory. That is no revision, or each memory would be written, sent and shown twice. The id
of the vector stands for it and costs no byte: ids grow and are never used again, and a vector never changes.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from . import revisions, vector_rows
from .database import Database
from .snapshot import Snapshot


class Place(NamedTuple):
    """A place in the changes of a file: the last ones before it."""

    revision: int = 0
    vector: int = 0
    """Id of a vector."""


class Follower(Protocol):
    """Something derived, which can be searched or asked at any time."""

    name: str
    """What it does when it is fed, such as `index texts`."""
    seen: Place
    """All changes before it are in the follower."""

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Take in what changed up to a place, or a piece of it; return whether there may be more to do.

        The snapshot shows the file at this place. To be told twice of a change does no harm.
        """


def place(snapshot: Snapshot) -> Place:
    """Return the place behind all changes."""
    return Place(revisions.latest(snapshot), vector_rows.newest(snapshot))


def behind(database: Database, follower: Follower) -> Place:
    """Return how many revisions and vectors a follower has not seen, at most."""
    with database.snapshot() as snapshot:
        return Place(*(max(last - seen, 0) for last, seen in zip(place(snapshot), follower.seen, strict=True)))


def feed(database: Database, follower: Follower) -> bool:
    """Give a follower what it lacks, or a piece of it; return whether there may be more.

    Raises:
        StorageError: the database cannot be read.
    """
    database.query_priority.yield_to_queries()
    # A snapshot for each piece: a long read would keep the write-ahead log from being emptied.
    with database.snapshot() as snapshot:
        return follower.apply(snapshot, place(snapshot))


def catch_up(database: Database, follower: Follower) -> None:
    """Give a follower all that it lacks."""
    while feed(database, follower):
        pass
