"""Which memories a purge takes: by id, session, collection or age; where several are given, all must hold.

Of a session or an age, parts of other memories go too: see parts.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .. import validation
from ..errors import InvalidFieldError

# What was superseded by a chosen memory says the same in other words, so it goes too.
_CHOSEN = """
    WITH RECURSIVE chosen (id) AS (
        SELECT id FROM (SELECT m.id FROM memories AS m WHERE {condition} ORDER BY m.id LIMIT ?)
        UNION SELECT m.id FROM memories AS m JOIN chosen ON m.superseded_by = chosen.id
    )
"""
_OF_SESSION = "m.session_id = s.external_id AND m.session_id <> ''"
_ALL = -1


@dataclass(frozen=True)
class Selection:
    """Conditions on memories, active or not; None is no condition."""

    ids: tuple[int, ...] | None = None
    session_id: str | None = None
    collection: str | None = None
    before: int | None = None
    """Nanoseconds of the robot's clock; memories that were observed earlier."""

    @property
    def is_whole(self) -> bool:
        """Whether all of a session or a collection is meant, so that its sessions go with it."""
        return self.ids is None and self.before is None

    @property
    def _tells_parts_apart(self) -> bool:
        return self.session_id is not None or self.before is not None

    @property
    def is_only_a_session(self) -> bool:
        """Whether all of a session is meant, in whatever collection."""
        return self.is_whole and self.collection is None

    def ids_in(self, connection: sqlite3.Connection, limit: int = _ALL) -> list[int]:
        """The ids of the first `limit` memories chosen, and of all that they superseded."""
        condition, arguments = self._chosen()
        found = connection.execute(f"{_CHOSEN.format(condition=condition)} SELECT id FROM chosen", (*arguments, limit))
        return [memory_id for (memory_id,) in found]

    def parts(self) -> tuple[str, tuple[object, ...]]:
        """Which parts of memories go where the memories stay, as SQL over the aliases `p` and `m`, with its arguments.

        A part is a learning of a fact or a sighting of an object; a session or a time tells them apart.
        """
        return self._condition("p") if self._tells_parts_apart else ("0", ())

    def takes_part(self, observed_at: int, session_id: str) -> bool:
        """Whether a part of this time and session goes, of a memory within the other conditions."""
        of_session = self.session_id is None or self.session_id == session_id
        return of_session and (self.before is None or observed_at < self.before)

    def scope(self) -> tuple[str, tuple[object, ...]]:
        """The conditions but that of time, as SQL over the alias `m` of memories, with its arguments."""
        return replace(self, before=None)._condition()

    def sessions_in(self, connection: sqlite3.Connection) -> list[str]:
        """The sessions that go with the memories, by their external ids.

        By age, these are the sessions that ended earlier and of which no memory stays.
        """
        if self.ids is not None:
            return []
        conditions = (
            (self.session_id, "s.external_id = ?"),
            (self.collection, "s.collection = ?"),
            (self.before, "s.status = 'ended' AND s.ended_at < ?"),
        )
        given = [(value, sql) for value, sql in conditions if value is not None]
        condition = " AND ".join(sql for _, sql in given)
        arguments: list[object] = [value for value, _ in given]
        if self.before is not None:
            goes, more = self._chosen()
            condition += f" AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE {_OF_SESSION} AND NOT ({goes}))"
            arguments += more
        found = connection.execute(f"SELECT external_id FROM sessions AS s WHERE {condition} ORDER BY id", arguments)
        return [external_id for (external_id,) in found]

    def _chosen(self) -> tuple[str, tuple[object, ...]]:
        # A fact stays that was learned in another session or later, too.
        whole, arguments = self._condition()
        if not self._tells_parts_apart:
            return whole, arguments
        part, more = self.parts()
        others = f"SELECT 1 FROM contributions AS p WHERE p.memory_id = m.id AND NOT ({part})"
        return f"{whole} AND NOT EXISTS ({others})", arguments + more

    def _condition(self, of: str = "m") -> tuple[str, tuple[object, ...]]:
        conditions = (
            (None if self.ids is None else json.dumps(self.ids), "m.id IN (SELECT value FROM json_each(?))"),
            (self.session_id, f"{of}.session_id = ? AND {of}.session_id <> ''"),
            (self.collection, "m.collection = ?"),
            (self.before, f"{of}.observed_at < ?"),
        )
        given = [(value, sql) for value, sql in conditions if value is not None]
        return " AND ".join(sql for _, sql in given) or "1", tuple(value for value, _ in given)


def parse_selection(*, ids: object, session_id: object, collection: object, before: object) -> Selection:
    """Checks what a caller chose; None is no condition.

    Raises:
        InvalidFieldError: a condition cannot be used, or there is none.
    """
    if ids is None and session_id is None and collection is None and before is None:
        raise InvalidFieldError("ids", None, "chooses nothing; give ids, a session_id, a collection or a time before")
    return Selection(
        None if ids is None else _ids(ids),
        None if session_id is None else _name("session_id", session_id),
        None if collection is None else _name("collection", collection),
        None if before is None else validation.time_ns("before", before),
    )


def _ids(value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidFieldError("ids", value, "must be a list of whole numbers")
    return tuple(sorted({validation.whole("ids", item) for item in value}))


def _name(field: str, value: object) -> str:
    clean = validation.name(field, value)
    if not clean:
        raise InvalidFieldError(field, value, "is empty; leave it out for any")
    return clean
