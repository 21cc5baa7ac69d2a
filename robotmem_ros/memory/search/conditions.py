"""The table of conditions: how each is read from a request, and its SQL.

Conditions hold before anything is ranked. A row of `CONDITIONS` reads one of them from its fields of the request. What
it gives is checked and complete, and turns into SQL on the snapshot that the query runs on.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import validation
from ..areas import Area
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, did_you_mean
from ..models import Kind
from ..storage import rows
from ..storage.decay import Decay
from ..text.normal_form import label_key
from .condition import NAMES, Condition, Source, Wanted, distinct
from .filters import ContextFilter, parse_filter
from .in_areas import InAreas
from .places import Near, Place, Within, parse_box, parse_place
from .request import Names, RecallRequest
from .visits import SinceLastVisit

ALL_COLLECTIONS = "*"
_CHECKED = 1000
"""So many memories of a collection are looked at to say why nothing was found."""


@dataclass(frozen=True)
class Given:
    """A request, and what conditions are read by."""

    request: RecallRequest
    parameters: Parameters
    decay: Decay
    """What confidence means at the time of the query."""
    areas: Mapping[str, Area]
    """The areas of the parameter `areas_file`, by name."""

    @property
    def has_text(self) -> bool:
        """Tell whether there are words to search for."""
        query = self.request.query
        return isinstance(query, str) and query.strip() not in {"", "*"}

    def place(self, name: str) -> Place | None:
        """Return the place that a field of the request names.

        Raises:
            InvalidFieldError: it cannot be used, or has no radius.
        """
        found = parse_place(name, getattr(self.request, name), self.parameters)
        if found is not None and math.isinf(found.max_distance):
            raise InvalidFieldError(f"{name}.max_distance", None, "is missing; give a radius in metres")
        return found


@dataclass(frozen=True)
class Plain(Wanted):
    """A condition that is SQL as it stands, and names nothing."""

    sql: Condition
    suffices: bool = True

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

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        if not self.names:
            return ()
        searched = self.searched(connection)
        test, arguments = one_of("collection", searched)
        size = sum(rows.count_in(connection, name) for name in searched)
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
        others = (one for one in self.of_notes if one not in self.names and rows.has_notes(connection, one))
        return (*self.names, *others)

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
            if not rows.count_in(connection, name):
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
class Kinds(Wanted):
    """Memories of some kinds."""

    kinds: tuple[str, ...]
    suffices: bool

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL; nothing if there is no memory of another kind."""
        counts = rows.counters(connection)
        if all(kind in self.kinds or not counts[kind] for kind in (one.value for one in Kind)):
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

    suffices: bool = False

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL; nothing if all objects are confirmed."""
        if not self.leaves_out_any(connection):
            return ()
        unconfirmed = "SELECT 1 FROM objects WHERE memory_id = m.id AND confirmed = 0"
        return (Condition(f"(m.label_key = '' OR NOT EXISTS ({unconfirmed}))"),)

    @staticmethod
    def leaves_out_any(connection: sqlite3.Connection) -> bool:
        """Return whether any object is not confirmed."""
        (found,) = connection.execute("SELECT EXISTS (SELECT 1 FROM objects WHERE confirmed = 0)").fetchone()
        return bool(found)


def no_memory_has(name: str, value: object, collections: Collections, known: Iterable[str] = ()) -> str:
    """Say that no memory of the collections has a value, and name near ones of those that others have."""
    near = did_you_mean(value, (one for one in known if one != value)) if isinstance(value, str) else ""
    return f"no memory{collections} has the {name} {value!r}{near}"


def one_of(column: str, values: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    """Return SQL that compares a column with values, any of which will do, and its arguments."""
    if len(values) == 1:
        return f"{column} = ?", values
    return f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(values),)


def parse_conditions(given: Given) -> tuple[Wanted, ...]:
    """Read all conditions of a request.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return tuple(wanted for read in CONDITIONS if (wanted := read(given)) is not None)


def searched_collections(given: Given) -> Collections:
    """Return the collections to search."""
    request = given.request
    named = collection_names(request.collection, request.collections)
    if ALL_COLLECTIONS in named:
        return Collections((), suffices=True)
    if named:
        return Collections(named, suffices=True)
    of_notes = given.parameters.collections_of_notes() if Kind.NOTE in _wanted_kinds(given) else ()
    return Collections((given.parameters.collection,), suffices=False, of_notes=of_notes)


def collection_names(collection: object, collections: Names) -> tuple[str, ...]:
    """Return the collections that a request names, in alphabetical order.

    Raises:
        InvalidFieldError: one is no name.
    """
    return _names("collections", collections, "collection", collection)


def _names(field: str, values: Names, single_field: str = "", single: object = None) -> tuple[str, ...]:
    if single is None and (values is None or (isinstance(values, tuple) and not values)):
        return ()
    listed = [values] if isinstance(values, str) else () if values is None else values
    return tuple(sorted({*validation.names(field, listed), *filter(None, [validation.name(single_field, single)])}))


def _context_filter(given: Given) -> Wanted | None:
    parts = parse_filter(given.request.context_filter, limit=given.parameters.context_limit)
    return ContextFilter(parts, given.decay) if parts else None


def _confidence(given: Given) -> Wanted | None:
    least = validation.number("min_confidence", given.request.min_confidence, low=0.0, high=1.0)
    sure = Condition(*given.decay.at_least(least))
    return LeastConfidence(least, sure, searched_collections(given)) if least > 0 else None


def _kinds(given: Given) -> Wanted | None:
    named = _names("kinds", given.request.kinds)
    kinds = _wanted_kinds(given)
    return None if kinds == {*Kind} else Kinds(tuple(sorted(kind.value for kind in kinds)), suffices=bool(named))


def _wanted_kinds(given: Given) -> frozenset[Kind]:
    named = _names("kinds", given.request.kinds)
    if named:
        return frozenset(validation.kind("kinds", name) for name in named)
    # What people wrote down answers questions; it is no event that would be listed by time or place.
    kinds = given.parameters.kinds_to_recall()
    return kinds if given.has_text else kinds - {Kind.NOTE}


def may_give_notes(conditions: Iterable[Wanted]) -> bool:
    """Tell whether the kinds that are asked for let notes be in the result."""
    return all(Kind.NOTE.value in wanted.kinds for wanted in conditions if isinstance(wanted, Kinds))


def _representatives(given: Given) -> Wanted | None:
    is_wanted = validation.flag("representatives_only", given.request.representatives_only)
    sql = Condition("NOT EXISTS (SELECT 1 FROM group_members WHERE memory_id = m.id)")
    return Plain(sql, suffices=False) if is_wanted else None


def _confirmed(given: Given) -> Wanted | None:
    is_all = validation.flag("include_unconfirmed", given.request.include_unconfirmed)
    asked = _context_filter(given)
    is_asked = isinstance(asked, ContextFilter) and any(one.path == "confirmed" for one in asked.comparisons)
    return None if is_all or is_asked else Confirmed()


def _sessions(given: Given) -> Wanted | None:
    names = _names("session_ids", given.request.session_ids, "session_id", given.request.session_id)
    return OneOf("session_id", "session_id", names, searched_collections(given)) if names else None


def _excluded_sessions(given: Given) -> Wanted | None:
    names = _names("excluded_session_ids", given.request.excluded_session_ids)
    test, arguments = one_of("m.session_id", names)
    return Plain(Condition(f"NOT ({test})", arguments)) if names else None


def _tags(given: Given) -> Wanted | None:
    names = _names("tags", given.request.tags)
    return Tags(names, False, searched_collections(given)) if names else None


def _any_tags(given: Given) -> Wanted | None:
    names = _names("any_tags", given.request.any_tags)
    return Tags(names, True, searched_collections(given)) if names else None


def _categories(given: Given) -> Wanted | None:
    names = _names("categories", given.request.categories)
    return OneOf("category", "category", names, searched_collections(given)) if names else None


def _labels(given: Given) -> Wanted | None:
    keys = {label_key(name) for name in _names("labels", given.request.labels)}
    return OneOf("label", "label_key", tuple(sorted(keys)), searched_collections(given)) if keys else None


def _ids(given: Given) -> Wanted | None:
    ids = validation.ids("ids", given.request.ids)
    return Ids(ids, searched_collections(given)) if ids else None


def _tagged(tags: tuple[str, ...]) -> Condition:
    test, arguments = one_of("tag", tags)
    each_once = "DISTINCT " if len(tags) > 1 else ""
    source = Source(f"SELECT {each_once}memory_id AS id FROM memory_tags WHERE {test}", arguments)
    return Condition(f"EXISTS (SELECT 1 FROM memory_tags WHERE memory_id = m.id AND {test})", arguments, source)


def _near(given: Given) -> Wanted | None:
    place = given.place("near")
    return Near(place) if place else None


def _within(given: Given) -> Wanted | None:
    box = parse_box("within", given.request.within, given.parameters)
    return Within(box) if box else None


def _areas(given: Given) -> Wanted | None:
    names = _names("areas", given.request.areas)
    return InAreas(names, given.areas, given.parameters) if names else None


def _since_last_visit(given: Given) -> Wanted | None:
    place = given.place("since_last_visit")
    if place is None:
        return None
    gap = round(given.parameters.visit_gap * 1e9)
    return SinceLastVisit(place, gap, given.decay.now, searched_collections(given).test("m.collection"))


def _window(given: Given) -> Wanted | None:
    after, before = (
        None if value is None else validation.time_ns(name, value)
        for name, value in (("after", given.request.after), ("before", given.request.before))
    )
    if after is not None and before is not None and after >= before:
        raise InvalidFieldError("after", after, f"must lie before `before` ({before})")
    bounds = [(after, "observed_at >= ?"), (before, "observed_at < ?")]
    limits = tuple(limit for limit, _ in bounds if limit is not None)
    tests = [test for limit, test in bounds if limit is not None]
    source = Source(f"SELECT id FROM memories WHERE {' AND '.join(tests)}", limits)
    return Plain(Condition(" AND ".join(f"m.{test}" for test in tests), limits, source)) if limits else None


CONDITIONS: tuple[Callable[[Given], Wanted | None], ...] = (
    searched_collections,
    _confidence,
    _kinds,
    _representatives,
    _confirmed,
    _sessions,
    _excluded_sessions,
    _categories,
    _labels,
    _ids,
    _window,
    _tags,
    _any_tags,
    _near,
    _within,
    _areas,
    _since_last_visit,
    _context_filter,
)
"""The conditions, in the order in which they are checked: cheap ones first."""
