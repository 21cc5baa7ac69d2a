"""Read a request into a query: all fields checked, and each condition as one that turns into SQL.

A row of `CONDITIONS` reads one condition from its fields of the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from .. import validation
from ..areas import Area
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Kind
from ..storage.decay import DEFAULT_CONFIDENCE, Decay
from ..text.normal_form import label_key
from ..validation import ALL_COLLECTIONS
from .candidates import Condition, Source, Wanted
from .conditions import Collections, Confirmed, Fresh, Ids, Kinds, LeastConfidence, OneOf, Plain, Tags, one_of
from .filters import ContextFilter, parse_filter
from .places import Place, parse_box, parse_place
from .request import MAX_N, Names, RecallRequest
from .spatial_conditions import InAreas, Near, SinceLastVisit, Within

DEFAULT_N = 5


@dataclass(frozen=True)
class Query:
    """A validated query."""

    text: str
    """Free text; empty for a query of conditions alone."""
    n: int
    min_relevance: float
    """What a memory must reach to be relevant to the text; 0 for any. If none does, the result is empty."""
    needs_relevance: bool
    """Whether the result is empty then, even if a condition says what, where or when: the caller set the bound."""
    collections: Collections
    conditions: tuple[Wanted, ...]
    """All must hold, before anything is ranked."""
    spatial_sort: Place | None
    explain: bool
    """Whether to explain the scores."""
    decay: Decay
    """What confidence means at the time of the query."""
    fold: bool
    """Whether the newest memory stands for the others of the same text and place."""

    @property
    def takes_best(self) -> bool:
        """Tell whether the best of what the conditions leave is the result, however little its text says."""
        return not self.needs_relevance and any(wanted.is_evidence for wanted in self.conditions)

    @property
    def may_give_notes(self) -> bool:
        """Tell whether the kinds that are asked for let notes be in the result; they have no position."""
        return self.spatial_sort is None and may_give_notes(self.conditions)


def parse_query(
    parameters: Parameters, request: RecallRequest, *, decay: Decay, areas: Callable[[], Mapping[str, Area]] = dict
) -> Query:
    """Check all fields; `n` is cut to 1..100 and 0 means 5; the query `*` means an empty one.

    A `min_relevance` of None means the parameter.

    `decay` is what memories are seen by at the time of the query, `areas` gives the areas that have a polygon.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    is_any = isinstance(request.query, str) and request.query.strip() == "*"
    text = "" if is_any else validation.query("query", request.query)
    given = Given(request, parameters, decay, areas)
    parsed = Query(
        text=text,
        n=_clamped_n(request.n),
        min_relevance=parameters.min_relevance
        if request.min_relevance is None
        else validation.number("min_relevance", request.min_relevance, low=0.0, high=1.0),
        needs_relevance=request.min_relevance is not None,
        collections=given.collections,
        conditions=parse_conditions(given),
        spatial_sort=given.place("spatial_sort"),
        explain=validation.flag("explain", request.explain),
        decay=decay,
        fold=validation.flag("fold", request.fold),
    )
    if not (parsed.text or parsed.spatial_sort or any(wanted.suffices for wanted in parsed.conditions)):
        raise InvalidFieldError(
            "query", request.query,
            "is empty, and there is no condition to go by; give words, a condition or a spatial_sort",
        )  # fmt: skip
    return parsed


def _clamped_n(n: object) -> int:
    wanted = validation.whole("n", n)
    return DEFAULT_N if wanted == 0 else min(max(wanted, 1), MAX_N)


def may_give_notes(conditions: Iterable[Wanted]) -> bool:
    """Tell whether the kinds that are asked for let notes be in the result."""
    return all(Kind.NOTE.value in wanted.kinds for wanted in conditions if isinstance(wanted, Kinds))


def collection_names(collection: object, collections: Names) -> tuple[str, ...]:
    """Return the collections that a request names, in alphabetical order.

    Raises:
        InvalidFieldError: one is no name.
    """
    listed = _names("collections", collections)
    many = {validation.collection("collections", each, every=ALL_COLLECTIONS) for each in listed}
    single = validation.collection("collection", collection, every=ALL_COLLECTIONS)
    return tuple(sorted(many | ({single} if single else set())))


def _names(field: str, values: Names, single_field: str = "", single: object = None) -> tuple[str, ...]:
    if single is None and (values is None or (isinstance(values, tuple) and not values)):
        return ()
    listed = [values] if isinstance(values, str) else () if values is None else values
    if isinstance(listed, Iterable):
        listed = list(listed)
        if any(isinstance(one, str) and not one.strip() for one in listed):
            raise InvalidFieldError(field, listed, "holds a blank; give names, or an empty list for no condition")
    return tuple(sorted({*validation.names(field, listed), *filter(None, [validation.name(single_field, single)])}))


@dataclass(frozen=True)
class Given:
    """A request, and what conditions are read by. What cannot be used raises InvalidFieldError."""

    request: RecallRequest
    parameters: Parameters
    decay: Decay
    """What confidence means at the time of the query."""
    areas: Callable[[], Mapping[str, Area]]
    """Gives the areas of the parameter `areas_file`, by name."""

    @cached_property
    def collections(self) -> Collections:
        """Return the collections to search."""
        named = collection_names(self.request.collection, self.request.collections)
        if ALL_COLLECTIONS in named:
            return Collections((), suffices=True)
        if named:
            return Collections(named, suffices=True)
        of_notes = self.parameters.collections_of_notes() if Kind.NOTE in self.kinds else ()
        return Collections((self.parameters.collection,), suffices=False, of_notes=of_notes)

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds to search."""
        if named := self.names("kinds"):
            return frozenset(validation.kind("kinds", name) for name in named)
        # What people wrote down answers questions; it is no event that would be listed by time or place.
        kinds = self.parameters.kinds_to_recall()
        query = self.request.query
        has_text = isinstance(query, str) and query.strip() not in {"", "*"}
        return kinds if has_text else kinds - {Kind.NOTE}

    @cached_property
    def context_filter(self) -> ContextFilter | None:
        """Return the filter; None if it is empty."""
        if self.request.context_filter is None:
            return None
        parts = parse_filter(self.request.context_filter, limit=self.parameters.context_limit)
        return ContextFilter(parts, self.decay) if parts else None

    def names(self, field: str) -> tuple[str, ...]:
        """Return the names in a field, in alphabetical order."""
        return _names(field, getattr(self.request, field))

    def place(self, field: str) -> Place | None:
        """Return the place in a field, if there is one."""
        value = getattr(self.request, field)
        return None if value is None else parse_place(field, value, self.parameters)

    def place_with_radius(self, field: str) -> Place | None:
        """Return the place in a field, which must have a radius."""
        found = self.place(field)
        if found is not None and math.isinf(found.max_distance):
            raise InvalidFieldError(f"{field}.max_distance", None, "is missing; give a radius in metres")
        return found


def parse_conditions(given: Given) -> tuple[Wanted, ...]:
    """Read all conditions of a request.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return tuple(wanted for read in CONDITIONS if (wanted := read(given)) is not None)


def _collections(given: Given) -> Wanted:
    return given.collections


def _confidence(given: Given) -> Wanted | None:
    if given.request.min_confidence is None:
        sure, faded = given.decay.at_least(DEFAULT_CONFIDENCE), given.decay.has_faded()
        return Fresh(DEFAULT_CONFIDENCE, Condition(*sure), given.collections, Condition(*faded))
    least = validation.number("min_confidence", given.request.min_confidence, low=0.0, high=1.0)
    return LeastConfidence(least, Condition(*given.decay.at_least(least)), given.collections) if least > 0 else None


def _kinds(given: Given) -> Wanted | None:
    kinds = tuple(sorted(kind.value for kind in given.kinds))
    return None if given.kinds == {*Kind} else Kinds(kinds, suffices=bool(given.names("kinds")))


def _representatives(given: Given) -> Wanted | None:
    is_wanted = validation.flag("representatives_only", given.request.representatives_only)
    sql = Condition("NOT EXISTS (SELECT 1 FROM group_members WHERE memory_id = m.id)")
    return Plain(sql, suffices=False) if is_wanted else None


def _confirmed(given: Given) -> Wanted | None:
    is_all = validation.flag("include_unconfirmed", given.request.include_unconfirmed)
    asked = given.context_filter
    is_asked = asked is not None and any(one.path == "confirmed" for one in asked.comparisons)
    return None if is_all or is_asked else Confirmed()


def _sessions(given: Given) -> Wanted | None:
    names = _names("session_ids", given.request.session_ids, "session_id", given.request.session_id)
    return OneOf("session_id", "session_id", names, given.collections) if names else None


def _excluded_sessions(given: Given) -> Wanted | None:
    names = given.names("excluded_session_ids")
    test, arguments = one_of("m.session_id", names)
    return Plain(Condition(f"NOT ({test})", arguments)) if names else None


def _categories(given: Given) -> Wanted | None:
    names = given.names("categories")
    return OneOf("category", "category", names, given.collections) if names else None


def _labels(given: Given) -> Wanted | None:
    keys = {label_key(name) for name in given.names("labels")}
    return OneOf("label", "label_key", tuple(sorted(keys)), given.collections) if keys else None


def _ids(given: Given) -> Wanted | None:
    ids = validation.ids("ids", given.request.ids)
    return Ids(ids, given.collections) if ids else None


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
    sql = Condition(" AND ".join(f"m.{test}" for test in tests), limits, source)
    return Plain(sql, is_evidence=True) if limits else None


def _tags(given: Given) -> Wanted | None:
    names = given.names("tags")
    return Tags(names, False, given.collections) if names else None


def _any_tags(given: Given) -> Wanted | None:
    names = given.names("any_tags")
    return Tags(names, True, given.collections) if names else None


def _near(given: Given) -> Wanted | None:
    place = given.place_with_radius("near")
    return Near(place) if place else None


def _within(given: Given) -> Wanted | None:
    value = given.request.within
    box = None if value is None else parse_box("within", value, given.parameters)
    return Within(box) if box else None


def _areas(given: Given) -> Wanted | None:
    names = given.names("areas")
    return InAreas(names, given.areas(), given.parameters) if names else None


def _since_last_visit(given: Given) -> Wanted | None:
    place = given.place_with_radius("since_last_visit")
    if place is None:
        return None
    gap = round(given.parameters.visit_gap * 1e9)
    return SinceLastVisit(place, gap, given.decay.now, given.collections.test("m.collection"))


def _context_filter(given: Given) -> Wanted | None:
    return given.context_filter


CONDITIONS: tuple[Callable[[Given], Wanted | None], ...] = (
    _collections,
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
