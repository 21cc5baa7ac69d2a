"""Conditions on what a memory is: its collection, kind, confidence, names, tags and id.

Each turns into SQL on the snapshot that the query runs on, and says if it names what no memory has.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import did_you_mean
from ..storage.overview import overview
from .candidates import NAMES, Condition, Source, Wanted, distinct

_CHECKED = 1000
"""So many memories of a collection are looked at to say why nothing was found."""


@dataclass(frozen=True)
class Plain(Wanted):
    """A condition that is SQL as it stands, and names nothing."""

    sql: Condition
    suffices: bool = True
    is_evidence: bool = False

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        return (self.sql,)


@dataclass(frozen=True)
class Collections(Wanted):
    """The collections to search; none for all."""

    names: tuple[str, ...]
    suffices: bool
    of_notes: tuple[str, ...] = ()
    """Collections of which the notes are searched as well."""
    is_evidence = False
    _found: dict[str, tuple[int, int]] = field(default_factory=dict, init=False, compare=False)

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        if not self.names:
            return ()
        searched = self.searched(connection)
        test, arguments = one_of("collection", searched)
        size = sum(self._counts(connection).get(name, (0, 0))[0] for name in searched)
        source = Source(f"SELECT id FROM memories WHERE {test}", arguments, size)
        if searched == self.names:
            return (Condition(f"m.{test}", arguments, source),)
        both = "({of}{own} OR ({of}type = 'note' AND {of}{test}))".format
        own, own_arguments = self.test("collection")
        arguments = (*own_arguments, *arguments)
        source = Source(f"SELECT id FROM memories WHERE {both(of='', own=own, test=test)}", arguments, size)
        return (Condition(both(of="m.", own=own, test=test), arguments, source),)

    def searched(self, connection: sqlite3.Connection) -> tuple[str, ...]:
        """Return all collections to search, those of notes if there are any; none for all."""
        counts = self._counts(connection)
        others = (one for one in self.of_notes if one not in self.names and counts.get(one, (0, 0))[1])
        return (*self.names, *others)

    def _counts(self, connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
        # Active memories and notes of each collection that has any, read once for each query: it runs on one snapshot.
        if not self._found:
            sql = (
                "SELECT name, facts + perceptions + notes, notes FROM collections "
                "WHERE name IN (SELECT value FROM json_each(?))"
            )
            rows = connection.execute(sql, (json.dumps([*self.names, *self.of_notes]),))
            self._found.update({name: (memories, notes) for name, memories, notes in rows})
        return self._found

    def test(self, column: str) -> tuple[str, tuple[object, ...]]:
        """Return SQL that tells whether a column names one of them, and its arguments."""
        return one_of(column, self.names) if self.names else ("1", ())

    def __str__(self) -> str:
        """Return them as part of a sentence, after a noun."""
        named = ", ".join(map(repr, self.names))
        return f" of the collection{'s' if len(self.names) > 1 else ''} {named}" if self.names else ""

    def unknown(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Say which collections are empty, and name near ones."""
        for name in self.names:
            if not self._counts(connection).get(name, (0, 0))[0]:
                others = connection.execute(
                    "SELECT name FROM collections WHERE facts + perceptions + notes > 0 AND name <> ? LIMIT ?",
                    (name, NAMES),
                )
                yield f"there is no memory in the collection {name!r}{did_you_mean(name, (one for (one,) in others))}"


@dataclass(frozen=True)
class LeastConfidence(Wanted):
    """Memories that are at least so sure now."""

    least: float
    sure: Condition
    collections: Collections
    suffices = False
    is_evidence = False

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        return (self.sure,)

    def unsure(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Say so if memories of the collections are less sure; of each, those that were stored first are looked at."""
        tests = [one_of("m.collection", (name,)) for name in self.collections.names] or [("1", ())]
        if any(self._leaves_out(connection, *test) for test in tests):
            yield f"some memories have less confidence now than min_confidence {self.least:g}"

    def _leaves_out(self, connection: sqlite3.Connection, test: str, arguments: tuple[object, ...]) -> bool:
        first = f"SELECT * FROM memories AS m WHERE {test} ORDER BY id LIMIT ?"
        sql = f"SELECT 1 FROM ({first}) AS m WHERE status = 'active' AND NOT {self.sure.check} LIMIT 1"
        return connection.execute(sql, (*arguments, _CHECKED, *self.sure.arguments)).fetchone() is not None


@dataclass(frozen=True)
class Fresh(LeastConfidence):
    """Memories that are as sure as recall asks for by default; if none match, those that have faded."""

    faded: Condition

    def of_faded(self) -> Wanted:
        """Return the condition that memories have faded."""
        return Plain(self.faded, suffices=False)


@dataclass(frozen=True)
class Kinds(Wanted):
    """Memories of some kinds."""

    kinds: tuple[str, ...]
    suffices: bool
    is_evidence = False

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL; nothing if there is no memory of another kind."""
        if all(kind in self.kinds or not count for kind, count in overview(connection).counts.items()):
            return ()
        return (Condition(*one_of("m.type", self.kinds)),)


@dataclass(frozen=True)
class OneOf(Wanted):
    """One of some values in a column of `memories` that has an index."""

    name: str
    """What the values are."""
    column: str
    values: tuple[str, ...]
    collections: Collections

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        test, arguments = one_of(self.column, self.values)
        source = Source(f"SELECT id FROM memories WHERE {self._indexed(test)}", arguments)
        return (Condition(f"m.{test}", arguments, source),)

    def unknown(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Say which value no memory of the collections has, and name near ones."""
        check, arguments = self.collections.test("+m.collection")
        sql = f"SELECT 1 FROM memories AS m WHERE {self._indexed(f'{self.column} = ?')} AND {check} LIMIT 1"
        for value in self.values:
            if not connection.execute(sql, (value, *arguments)).fetchone():
                known = distinct(connection, "memories", self.column, self._indexed("true"))
                yield no_memory_has(self.name, value, self.collections, known)

    def _indexed(self, test: str) -> str:
        # The indexes leave out the empty text, and serve only what does so too.
        return f"{test} AND {self.column} <> ''"


@dataclass(frozen=True)
class Tags(Wanted):
    """All of some tags, or any of them."""

    tags: tuple[str, ...]
    is_any: bool
    collections: Collections

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL, so that the rarest of the tags may be looked up."""
        return tuple(map(_tagged, [self.tags] if self.is_any else [(tag,) for tag in self.tags]))

    def unknown(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Say which tag no memory of the collections has, and name near ones."""
        check, arguments = self.collections.test("m.collection")
        sql = "SELECT 1 FROM memory_tags AS t CROSS JOIN memories AS m ON m.id = t.memory_id WHERE t.tag = ?"
        for tag in self.tags:
            if not connection.execute(f"{sql} AND {check} LIMIT 1", (tag, *arguments)).fetchone():
                known = distinct(connection, "memory_tags", "tag", "true")
                yield no_memory_has("tag", tag, self.collections, known)


@dataclass(frozen=True)
class Ids(Wanted):
    """Some memories, by their ids."""

    ids: tuple[int, ...]
    collections: Collections

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        named = json.dumps(self.ids)
        source = Source("SELECT value AS id FROM json_each(?)", (named,), len(self.ids))
        return (Condition("m.id IN (SELECT value FROM json_each(?))", (named,), source),)

    def unknown(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Say which id no memory of the collections has, or which memory is not active."""
        check, arguments = self.collections.test("collection")
        for memory_id in self.ids:
            found = connection.execute(f"SELECT status FROM memories WHERE id = ? AND {check}", (memory_id, *arguments))
            (status,) = found.fetchone() or ("",)
            if not status:
                yield no_memory_has("id", memory_id, self.collections)
            elif status != "active":
                yield f"memory {memory_id} is {status}"


@dataclass(frozen=True)
class Confirmed(Wanted):
    """No objects that are not confirmed."""

    suffices = False
    is_evidence = False

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL; nothing if all objects are confirmed."""
        if not overview(connection).has_unconfirmed:
            return ()
        unconfirmed = "SELECT 1 FROM objects WHERE memory_id = m.id AND confirmed = 0"
        return (Condition(f"(m.label_key = '' OR NOT EXISTS ({unconfirmed}))"),)


def no_memory_has(name: str, value: object, collections: Collections, known: Iterable[str] = ()) -> str:
    """Say that no memory of the collections has a value, and name near ones of those that others have."""
    near = did_you_mean(value, (one for one in known if one != value)) if isinstance(value, str) else ""
    return f"no memory{collections} has the {name} {value!r}{near}"


def one_of(column: str, values: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    """Return SQL that compares a column with values, any of which will do, and its arguments."""
    if len(values) == 1:
        return f"{column} = ?", values
    return f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(values),)


def _tagged(tags: tuple[str, ...]) -> Condition:
    test, arguments = one_of("tag", tags)
    each_once = "DISTINCT " if len(tags) > 1 else ""
    source = Source(f"SELECT {each_once}memory_id AS id FROM memory_tags WHERE {test}", arguments)
    return Condition(f"EXISTS (SELECT 1 FROM memory_tags WHERE memory_id = m.id AND {test})", arguments, source)
