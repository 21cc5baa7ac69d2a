"""Read the conditions of a request, one from each field that declares how it is read; no database is known here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from .. import validation
from ..areas import Area
from ..argument import MAX_CONTEXT, Names
from ..conditions.attributes import Collections, Confidence, ConfirmedObjects, Ids, Kinds, Window
from ..conditions.comparison import Compare, parse_filter
from ..conditions.condition import And, Condition
from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..conditions.places import Place
from ..conditions.spatial import Box, Circle, InAreas, SinceLastVisit
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Kind
from ..validation import ALL_COLLECTIONS
from .names import is_object, parse_corners, parse_place, pose_field

NEARBY = 5.0
"""Metres around a place that is given as numbers alone."""


class Request(Protocol):
    """A request whose fields declare how conditions are read."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    collection: str | None
    collections: Names


@dataclass(frozen=True)
class Reader:
    """Reads conditions from a request. What cannot be used raises InvalidFieldError."""

    request: Request
    parameters: Parameters
    decay: Decay
    """Decay of confidence up to the time of the query."""
    areas: Callable[[], Mapping[str, Area]]
    """Gives the areas of the parameter `areas_file`, by name."""

    def conditions(self) -> tuple[Condition, ...]:
        """Read all conditions, in the order of their fields."""
        readers = ((entry.metadata.get("condition"), entry.name) for entry in fields(self.request))
        return tuple(found for read, name in readers if read and (found := read(self, name)) is not None)

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
        query = self.value("query")
        has_text = isinstance(query, str) and query.strip() not in {"", "*"}
        return kinds if has_text else kinds - {Kind.NOTE}

    @cached_property
    def context_filter(self) -> And | None:
        """Return the filter; None if it is empty."""
        value = self.value("context_filter")
        condition = None if value is None else parse_filter(value, self.decay, limit=MAX_CONTEXT)
        return condition if condition and condition.conditions else None

    def value(self, field: str) -> Any:
        """Return the value of a field, which every request that is read here has."""
        return getattr(self.request, field)

    def names(self, field: str, single: object = None) -> tuple[str, ...]:
        """Return the names in a field, and that in the field of its singular, in alphabetical order."""
        return _names(field, self.value(field), field.removesuffix("s"), single)

    def flag(self, field: str) -> bool:
        """Return whether a field is true."""
        return validation.flag(field, self.value(field))

    def place(self, field: str) -> Place | None:
        """Return the place in a field, if there is one."""
        value = self.value(field)
        return None if value is None else parse_place(field, value, self.parameters)

    def place_with_radius(self, field: str) -> Place | None:
        """Return the place in a field, which must have a radius, unless it is given as numbers alone."""
        place = self.place(field)
        if place is not None and math.isinf(place.max_distance):
            if not is_object(self.value(field)):
                return replace(place, max_distance=NEARBY)
            raise InvalidFieldError(f"{field}.max_distance", None, "is no radius; give one in metres")
        return place


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


ReadCondition = Callable[[Reader, str], Condition | None]
"""Reads the condition that a field of a request declares, of this name."""


def by_names(
    make: Callable[[tuple[str, ...]], Condition], key: Callable[[str], str] = str, *, has_single: bool = False
) -> ReadCondition:
    """Read names as they are stored, and make a condition if there are any.

    With `has_single` the field of the singular names another one.
    """

    def read(reader: Reader, field: str) -> Condition | None:
        names = reader.names(field, reader.value(field.removesuffix("s")) if has_single else None)
        stored = tuple(sorted({key(name) for name in names} - {""}))
        return make(stored) if stored else None

    return read


def if_set(condition: Condition) -> ReadCondition:
    """Read a flag, and give a condition if it is true."""
    return lambda reader, field: condition if reader.flag(field) else None


def collections(reader: Reader, field: str) -> Condition:
    """Read the collections to search."""
    return reader.collections


def kinds(reader: Reader, field: str) -> Condition | None:
    """Read the kinds to search."""
    suffices = bool(reader.names(field))
    return None if reader.kinds == {*Kind} else Kinds(tuple(sorted(reader.kinds)), suffices=suffices)


def areas(reader: Reader, field: str) -> Condition | None:
    """Read the names of areas."""
    names = reader.names(field)
    return InAreas(names, reader.areas(), pose_field(field, reader.parameters)) if names else None


def confirmed_objects(reader: Reader, field: str) -> Condition | None:
    """Read the flag that lets objects through that are not confirmed, as a filter that asks for them does."""
    is_all = reader.flag(field)
    leaves = reader.context_filter.leaves() if reader.context_filter else ()
    is_compared = any(isinstance(leaf, Compare) and leaf.path == "confirmed" for leaf in leaves)
    return None if is_all or is_compared else ConfirmedObjects()


def confidence(reader: Reader, field: str) -> Condition | None:
    """Read the smallest confidence."""
    if (value := reader.value(field)) is None:
        return Confidence(DEFAULT_CONFIDENCE, reader.decay, is_default=True)
    minimum = validation.number(field, value, low=0.0, high=1.0)
    return Confidence(minimum, reader.decay) if minimum > 0 else None


def ids(reader: Reader, field: str) -> Condition | None:
    """Read ids of memories."""
    numbers = validation.ids(field, reader.value(field))
    return Ids(numbers) if numbers else None


def window(reader: Reader, field: str) -> Condition | None:
    """Read `after`, and `before` with it."""
    after, before = validation.window(reader.value("after"), reader.value("before"))
    return None if after is None and before is None else Window(after, before)


def context_filter(reader: Reader, field: str) -> Condition | None:
    """Read the filter on the context."""
    return reader.context_filter


def circle(reader: Reader, field: str) -> Condition | None:
    """Read a place and its surroundings."""
    place = reader.place_with_radius(field)
    return Circle(place) if place else None


def box(reader: Reader, field: str) -> Condition | None:
    """Read the corners of a box."""
    value = reader.value(field)
    corners = None if value is None else parse_corners(field, value, reader.parameters)
    return Box(*corners) if corners else None


def since_last_visit(reader: Reader, field: str) -> Condition | None:
    """Read the place whose last visit begins a window."""
    place = reader.place_with_radius(field)
    gap = round(reader.parameters.visit_gap * 1e9)
    return SinceLastVisit(place, gap, reader.decay.now, reader.collections) if place else None
