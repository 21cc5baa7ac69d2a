"""Purge memories: delete them in batches, so that other writers get their turn, then overwrite the traces.

If another process or a full disk prevents that, `PurgeFinisher` overwrites the traces later.

Of memories that stay, parts are purged: learnings of facts, sightings of objects, and history. The contribution of a
purged learning or sighting is removed too. A fact is computed again from its other learnings. An object that loses a
sighting keeps only what another sighting gave, until the object is seen again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from . import validation
from .config.parameters import Parameters
from .errors import InvalidFieldError, PurgeUnfinishedError, StorageError
from .learning.comparison import AlikeFacts, Neighbours
from .learning.learning import link_again
from .learning.repetition import COMPARED, fact_versions, given_tags
from .progress import report
from .storage import Database, fact_rows, purge_rows, revisions, rows, sighting_rows
from .storage.disk import is_full, is_read_elsewhere
from .storage.purge_rows import (
    Purged,
    Selection,
    check_pages,
    delete_batch,
    delete_maps,
    delete_path,
    delete_sessions,
    preview,
    secure_erase,
)
from .storage.snapshot import Transaction
from .table.table import Table
from .table.tables import Tables
from .times import Time
from .validation import compact_json

T = TypeVar("T")
_BATCH = 250
"""Maximum number of memories deleted in one transaction."""
_SMALLER = 16
"""Divisor of this number where the disk has no room for it: each attempt may wait for readers."""
_POINTS = 5000
"""Maximum number of path points deleted in one transaction."""
PATIENCE = 30.0
"""Seconds in which the caller, who got a PurgeUnfinishedError, may finish the purge first."""
_REST_RATIO = 20.0
"""Pause after an attempt, in durations of the attempt: it reads the whole file, and writes wait for it."""


def parse_selection(
    *,
    ids: Iterable[int] | int | None = None,
    session_id: str | None = None,
    collection: str | None = None,
    before: Time | None = None,
) -> Selection:
    """Check the conditions of a caller; None is no condition.

    Raises:
        InvalidFieldError: a condition cannot be used, or there is none.
    """
    if ids is None and session_id is None and collection is None and before is None:
        raise InvalidFieldError("ids", None, "chooses nothing; give ids, a session_id, a collection or a time before")
    return Selection(
        None if ids is None else tuple(sorted(validation.one_or_more("ids", ids))),
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
        return preview(snapshot, selection, database.size())


def purge(database: Database, selection: Selection, parameters: Parameters, tables: Tables) -> Purged:
    """Delete the selected memories, everything derived from them, and every trace of them in the file.

    What remains of a fact that was learned again is compared with the facts of `tables`.

    Raises:
        MemoryNotFoundError: an id is unknown; then nothing is deleted.
        PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        StorageError: the database could not be written.
    """
    planned = plan(database, selection)
    memories = 0
    batch = _BATCH
    while True:
        try:
            count = _delete(database, partial(delete_batch, selection=selection, limit=batch))
        except StorageError as error:
            if batch == 1 or not is_full(error.__cause__):
                raise
            # A deletion is written to the log first, and there is little room for that.
            batch = max(batch // _SMALLER, 1)
            continue
        if not count:
            break
        memories += count
        report(memories, planned.memories)
    with _compared(database, selection, tables) as table:
        _delete(database, partial(delete_parts, selection=selection, parameters=parameters, table=table))
    sessions = _delete(database, partial(delete_sessions, selection=selection))
    points = 0
    while count := _delete(database, partial(delete_path, selection=selection, limit=_POINTS)):
        points += count
    maps = _delete(database, partial(delete_maps, selection=selection))
    finish(database)
    return replace(
        planned, memories=memories, sessions=sessions, bytes_after=database.size(), path_points=points, maps=maps,
        shares=(), examples=(),
    )  # fmt: skip


@contextmanager
def _compared(database: Database, selection: Selection, tables: Tables) -> Iterator[Table]:
    # The table with which facts that lose a learning are compared, if there are any.
    with database.snapshot() as snapshot:
        are_compared = bool(selection.parts_in(snapshot, "contributions"))
    with ExitStack() as stack:
        table = Table.empty()
        if are_compared:
            with tables.with_facts() as view:
                table = stack.enter_context(tables.holding(view))
        yield table


def finish(database: Database) -> bool:
    """Overwrite the traces of a purge, if there are any; return whether there were.

    Raises:
        PurgeUnfinishedError: another process keeps it from being done.
        StorageError: the database could not be written, or is damaged.
    """
    with database.snapshot() as snapshot:
        if not revisions.last_purge(snapshot).is_unfinished:
            return False
        check_pages(snapshot)
    database.write_alone(partial(secure_erase, path=database.path, connected=database.connected)).result()
    return True


class PurgeFinisher:
    """Overwrites the traces of purges once no other process reads the file. For one thread at a time.

    Args:
        database: The memory's.
        patience: Seconds before the first attempt, and least seconds between two attempts.
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
        self._next_attempt: float | None = None
        self._error: PurgeUnfinishedError | None = None

    def update(self) -> bool:
        """Finish a purge if one is unfinished and due; return False, since nothing is left to do at once.

        Raises:
            PurgeUnfinishedError: the last attempt found another process, or no room.
            StorageError: the database could not be written.
        """
        with self._database.snapshot() as snapshot:
            if not revisions.last_purge(snapshot).is_unfinished:
                self._next_attempt = self._error = None
                return False
        if self._next_attempt is None:
            self._next_attempt = self._clock() + self._patience
        if self._clock() >= self._next_attempt:
            self._try()
        if self._error is not None:
            raise self._error
        return False

    def _try(self) -> None:
        start = self._clock()
        # While another process reads the file, its traces cannot be overwritten.
        if self._database.write_alone(is_read_elsewhere).result():
            self._error = PurgeUnfinishedError(self._database.path, "another process reads the file")
        else:
            self._error = self._finish()
        now = self._clock()
        self._next_attempt = now + max(self._patience, _REST_RATIO * (now - start))

    def _finish(self) -> PurgeUnfinishedError | None:
        try:
            finish(self._database)
        except PurgeUnfinishedError as error:
            return error
        return None


def _delete(database: Database, work: Callable[[Transaction], T]) -> T:
    return database.write(work, frees_room=True).result()


def _name(field: str, value: object, check: Callable[[str, object], str] = validation.name) -> str:
    clean = check(field, value)
    if not clean:
        raise InvalidFieldError(field, value, "is empty; leave it out for any")
    return clean


def delete_parts(transaction: Transaction, selection: Selection, parameters: Parameters, table: Table) -> None:
    """Delete the selected parts of the memories that stay."""
    contributions = selection.parts_in(transaction, "contributions")
    for memory_id, ids in contributions.items():
        _delete_contributions(transaction, memory_id, set(ids), parameters, table)
    sightings = selection.parts_in(transaction, "sightings")
    for memory_id, ids in sightings.items():
        _delete_sightings(transaction, memory_id, ids, selection)
    if purge_rows.delete_older_changes(transaction, selection) or contributions or sightings:
        purge_rows.note_traces(transaction)


def _delete_contributions(
    transaction: Transaction, memory_id: int, part_ids: set[int], parameters: Parameters, table: Table
) -> None:
    current = rows.stored_fact(transaction, memory_id)
    assert current is not None
    contributions = fact_rows.contributions_of(transaction, memory_id, current)
    rest = [contribution for contribution in contributions if contribution.id not in part_ids]
    if not rest:
        rows.delete(transaction, [memory_id])
        return
    *_, fact = fact_versions(rest)
    columns = {name: getattr(fact, name) for name in COMPARED if getattr(fact, name) != getattr(current, name)}
    columns |= {"confidence": fact.confidence, "observed_at": fact.observed_at, "session_id": rest[0].fact.session_id}
    purge_rows.reduce_fact(transaction, memory_id, columns, removals=len(part_ids), remainder=len(rest))
    rows.replace_tags(transaction, memory_id, fact.tags, given_tags(fact))
    fact_rows.set_decisions(transaction, memory_id, fact.decisions)
    fact_rows.delete_contributions(transaction, [*part_ids] if len(rest) > 1 else [item.id for item in contributions])
    fact_rows.rewrite_contributions(transaction, [replace(rest[0], method=fact_rows.FIRST)])
    is_other = (fact.content, fact.context) != (current.content, current.context)
    if is_other and rows.status(transaction, memory_id)[0] == "active":
        near = Neighbours() if fact.content != current.content else None
        link_again(transaction, memory_id, near, AlikeFacts(transaction, table), parameters)


def _delete_sightings(transaction: Transaction, memory_id: int, part_ids: Sequence[int], selection: Selection) -> None:
    sighting_rows.drop(transaction, memory_id, part_ids)
    label, context, described_at, described_in = purge_rows.object_origin(transaction, memory_id)
    votes = sighting_rows.labels(transaction, memory_id) or {label: 1}
    label = max(votes, key=lambda candidate: (votes[candidate], candidate == label, candidate))
    purge_rows.reduce_object(transaction, memory_id, label, _area_only(context), votes)
    if selection.takes_part(described_at, described_in):
        purge_rows.delete_description(transaction, memory_id, label)


def _area_only(context: str) -> str:
    # The area follows from the position of the object, which stays.
    spatial = json.loads(context).get("spatial")
    area = spatial.get("area") if isinstance(spatial, dict) else None
    return compact_json({"spatial": {"area": area}} if area else {})
