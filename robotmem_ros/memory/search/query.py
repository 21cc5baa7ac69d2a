"""Read a request into a query, which knows no database: all fields checked, and each condition as a value.

A row of `CONDITIONS` reads one condition from its fields of the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

from .. import validation
from ..areas import Area
from ..bounds import MAX_CONTEXT
from ..conditions.attributes import (
    Collections,
    Confidence,
    ConfirmedObjects,
    Ids,
    Kinds,
    OneOf,
    Representatives,
    Tags,
    Window,
)
from ..conditions.comparison import Compare, parse_filter
from ..conditions.condition import And, Condition, Not
from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..conditions.places import Place
from ..conditions.spatial import Box, Circle, InAreas, SinceLastVisit
from ..config.parameters import Parameters
from ..embedding.profile import Profile
from ..errors import InvalidFieldError
from ..models import Kind
from ..text.normal_form import label_key, tag_key
from ..validation import ALL_COLLECTIONS
from .names import is_object, parse_corners, parse_place, pose_field
from .request import MAX_N, NEARBY, Names, RecallRequest

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """A validated query."""

    text: str
    """Free text; empty for a query of conditions alone."""
    n: int
    min_relevance: float
    """Least relevance of an answer to the text; 0 for any, less than 0 until it is known which model judges.

    If no memory reaches it, the result is empty.
    """
    needs_relevance: bool
    """Whether the result is empty then, even if a condition says what, where or when: the caller set the bound."""
    collections: Collections
    conditions: tuple[Condition, ...]
    """All must hold, before anything is ranked."""
    spatial_sort: Place | None
    explain: bool
    """Whether to explain the scores."""
    decay: Decay
    """Decay of confidence up to the time of the query."""
    fold: bool
    """Whether the newest memory stands for the others of the same text; see `compares_places`."""
    cut: str = ""
    """Values of the request that were cut to what is possible, in words."""

    def including(self, others: Sequence[str]) -> Query:
        """Return it with the collections of other robots that belong to those to search."""
        if not others:
            return self
        return replace(
            self, collections=self.collections.including(others), conditions=including(self.conditions, others)
        )

    def judged_by(self, profile: Profile) -> Query:
        """Return it with the bound of relevance of a model, unless the request or the parameter gave one."""
        return replace(self, min_relevance=profile.min_relevance) if self.min_relevance < 0 else self

    @property
    def compares_places(self) -> bool:
        """Tell whether one text at two places is two results: it is, unless the query has words and names no place."""
        return not self.text or self.spatial_sort is not None or any(map(_is_place, self.conditions))

    @property
    def takes_best(self) -> bool:
        """Tell whether the best of what the conditions leave is the result, however little its text says."""
        return not self.needs_relevance and any(condition.is_evidence for condition in self.conditions)


def parse_query(
    parameters: Parameters, request: RecallRequest, *, decay: Decay, areas: Callable[[], Mapping[str, Area]] = dict
) -> Query:
    """Check all fields; `n` is cut to 1..100, which the query tells; the query `*` means an empty one.

    A `min_relevance` of None means the parameter.

    `decay` is what memories are seen by at the time of the query, `areas` gives the areas that have a polygon.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    is_any = isinstance(request.query, str) and request.query.strip() == "*"
    text = "" if is_any else validation.query("query", request.query)
    reader = Reader(request, parameters, decay, areas)
    n, cut = _clamped_n(request.n)
    query = Query(
        text=text,
        n=n,
        min_relevance=parameters.min_relevance
        if request.min_relevance is None
        else validation.number("min_relevance", request.min_relevance, low=0.0, high=1.0),
        needs_relevance=request.min_relevance is not None,
        collections=reader.collections,
        conditions=parse_conditions(reader),
        spatial_sort=reader.place("spatial_sort"),
        explain=validation.flag("explain", request.explain),
        decay=decay,
        fold=validation.flag("fold", request.fold),
        cut=cut,
    )
    if not (query.text or query.spatial_sort or any(condition.suffices for condition in query.conditions)):
        raise InvalidFieldError(
            "query", request.query,
            "is empty, and there is no condition to go by; give words, a condition or a spatial_sort",
        )  # fmt: skip
    return query


def _is_place(condition: Condition) -> bool:
    return isinstance(condition, (Circle, Box, InAreas))


def including(conditions: Iterable[Condition], others: Sequence[str]) -> tuple[Condition, ...]:
    """Return conditions with the collections of other robots that belong to those that they name."""
    return tuple(part.including(others) if isinstance(part, Collections) else part for part in conditions)


def _clamped_n(n: object) -> tuple[int, str]:
    # The number of results, and what to say if it is not the number that was given.
    count = validation.whole("n", n)
    clamped = min(max(count, 1), MAX_N)
    return clamped, "" if clamped == count else f"n: {count} was cut to {clamped}; it lies in 1 to {MAX_N}"


def collection_names(collection: object, collections: Names) -> tuple[str, ...]:
    """Return the collections that a request names, in alphabetical order.

    Raises:
        InvalidFieldError: one is no name.
    """
    entries = _names("collections", collections)
    names = {validation.collection("collections", name, wildcard=ALL_COLLECTIONS) for name in entries}
    single = validation.collection("collection", collection, wildcard=ALL_COLLECTIONS)
    return tuple(sorted(names | ({single} if single else set())))


def _names(field: str, values: Names, single_field: str = "", single: object = None) -> tuple[str, ...]:
    if single is None and (values is None or (isinstance(values, tuple) and not values)):
        return ()
    entries = [values] if isinstance(values, str) else () if values is None else values
    if isinstance(entries, Iterable):
        entries = list(entries)
        if any(isinstance(entry, str) and not entry.strip() for entry in entries):
            raise InvalidFieldError(field, entries, "holds a blank; give names, or an empty list for no condition")
    return tuple(sorted({*validation.names(field, entries), *filter(None, [validation.name(single_field, single)])}))


@dataclass(frozen=True)
class Reader:
    """Reads conditions from a request. What cannot be used raises InvalidFieldError."""

    request: RecallRequest
    parameters: Parameters
    decay: Decay
    """Decay of confidence up to the time of the query."""
    areas: Callable[[], Mapping[str, Area]]
    """Gives the areas of the parameter `areas_file`, by name."""

    @cached_property
    def collections(self) -> Collections:
        """Return the collections to search."""
        names = collection_names(self.request.collection, self.request.collections)
        if ALL_COLLECTIONS in names:
            return Collections((), suffices=True)
        if names:
            return Collections(names, suffices=True)
        of_notes = self.parameters.collections_of_notes() if Kind.NOTE in self.kinds else ()
        return Collections((self.parameters.collection,), suffices=False, of_notes=of_notes)

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds to search."""
        if names := self.names("kinds"):
            return frozenset(validation.kind("kinds", name) for name in names)
        # A note answers questions; it is no event that would be listed by time or place.
        kinds = self.parameters.kinds_to_recall()
        query = self.request.query
        has_text = isinstance(query, str) and query.strip() not in {"", "*"}
        return kinds if has_text else kinds - {Kind.NOTE}

    @cached_property
    def context_filter(self) -> And | None:
        """Return the filter; None if it is empty."""
        if self.request.context_filter is None:
            return None
        condition = parse_filter(self.request.context_filter, self.decay, limit=MAX_CONTEXT)
        return condition if condition.conditions else None

    def names(self, field: str, single: object = None) -> tuple[str, ...]:
        """Return the names in a field, and that in the field of its singular, in alphabetical order."""
        return _names(field, getattr(self.request, field), field.removesuffix("s"), single)

    def keys(self, field: str, key: Callable[[str], str]) -> tuple[str, ...]:
        """Return the names in a field as they are stored."""
        return tuple(sorted({key(name) for name in self.names(field)} - {""}))

    def flag(self, field: str) -> bool:
        """Return whether a field is true."""
        return validation.flag(field, getattr(self.request, field))

    def place(self, field: str) -> Place | None:
        """Return the place in a field, if there is one."""
        value = getattr(self.request, field)
        return None if value is None else parse_place(field, value, self.parameters)

    def place_with_radius(self, field: str) -> Place | None:
        """Return the place in a field, which must have a radius, unless it is given as numbers alone."""
        place = self.place(field)
        if place is not None and math.isinf(place.max_distance):
            if not is_object(getattr(self.request, field)):
                return replace(place, max_distance=NEARBY)
            raise InvalidFieldError(f"{field}.max_distance", None, "is no radius; give one in metres")
        return place


def parse_conditions(reader: Reader) -> tuple[Condition, ...]:
    """Read all conditions of a request.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return tuple(condition for read in CONDITIONS if (condition := read(reader)) is not None)


def _confidence(reader: Reader) -> Condition | None:
    if reader.request.min_confidence is None:
        return Confidence(DEFAULT_CONFIDENCE, reader.decay, is_default=True)
    minimum = validation.number("min_confidence", reader.request.min_confidence, low=0.0, high=1.0)
    return Confidence(minimum, reader.decay) if minimum > 0 else None


def _kinds(reader: Reader) -> Condition | None:
    suffices = bool(reader.names("kinds"))
    return None if reader.kinds == {*Kind} else Kinds(tuple(sorted(reader.kinds)), suffices=suffices)


def _confirmed_objects(reader: Reader) -> Condition | None:
    is_all = reader.flag("include_unconfirmed")
    leaves = reader.context_filter.leaves() if reader.context_filter else ()
    is_compared = any(isinstance(leaf, Compare) and leaf.path == "confirmed" for leaf in leaves)
    return None if is_all or is_compared else ConfirmedObjects()


def _ids(reader: Reader) -> tuple[int, ...]:
    return validation.ids("ids", reader.request.ids)


def _window(reader: Reader) -> Condition | None:
    after, before = validation.window(reader.request.after, reader.request.before)
    return None if after is None and before is None else Window(after, before)


def _within(reader: Reader) -> Condition | None:
    value = reader.request.within
    corners = None if value is None else parse_corners("within", value, reader.parameters)
    return Box(*corners) if corners else None


def _areas(reader: Reader) -> Condition | None:
    names = reader.names("areas")
    return InAreas(names, reader.areas(), pose_field("areas", reader.parameters)) if names else None


def _since_last_visit(reader: Reader) -> Condition | None:
    place = reader.place_with_radius("since_last_visit")
    gap = round(reader.parameters.visit_gap * 1e9)
    return SinceLastVisit(place, gap, reader.decay.now, reader.collections) if place else None


def _if_any(read: Callable[[Reader], T | None], make: Callable[[T], Condition]) -> Callable[[Reader], Condition | None]:
    return lambda reader: make(value) if (value := read(reader)) else None


CONDITIONS: tuple[Callable[[Reader], Condition | None], ...] = (
    lambda reader: reader.collections,
    _confidence,
    _kinds,
    _if_any(lambda reader: reader.flag("representatives_only"), lambda _: Representatives()),
    _confirmed_objects,
    _if_any(lambda reader: reader.names("session_ids", reader.request.session_id), partial(OneOf, "session_id")),
    _if_any(lambda reader: reader.names("excluded_session_ids"), lambda names: Not(OneOf("session_id", names))),
    _if_any(lambda reader: reader.names("categories"), partial(OneOf, "category")),
    _if_any(lambda reader: reader.keys("labels", label_key), partial(OneOf, "label")),
    _if_any(_ids, Ids),
    _window,
    _if_any(lambda reader: reader.keys("tags", tag_key), Tags),
    _if_any(lambda reader: reader.keys("any_tags", tag_key), partial(Tags, is_any=True)),
    _if_any(lambda reader: reader.place_with_radius("near"), Circle),
    _within,
    _areas,
    _since_last_visit,
    lambda reader: reader.context_filter,
)
"""The conditions, in the order in which they are checked: cheap ones first."""
