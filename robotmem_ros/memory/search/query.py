"""Read a request into a query, which knows no database: all fields checked, and each condition as a value.

Each field of a request that is a condition declares by which function of this file it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import time
from functools import cache, cached_property
from operator import add
from types import NoneType
from typing import Any, ClassVar, Protocol

from .. import validation
from ..areas import Area
from ..argument import MAX_AGE, MAX_CONTEXT, MAX_N, MAX_QUERY, Names
from ..clocks import FIRST_OF_WALL_CLOCKS
from ..conditions.attributes import (
    AsOf,
    ChangedSince,
    Collections,
    Confidence,
    ConfirmedObjects,
    Ids,
    Kinds,
    Since,
    UsuallyAt,
    Window,
)
from ..conditions.comparison import Compare, parse_filter
from ..conditions.condition import And, Condition
from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..conditions.places import POSE_NAMES, POSITION, Field, Place, Point, context_field
from ..conditions.spatial import Box, Circle, InAreas, SinceLastVisit
from ..config.parameters import Parameters
from ..context_path import in_context
from ..embedding.profile import Profile
from ..errors import InvalidFieldError
from ..geometry import rotated
from ..models import Kind, Pose
from ..text.normal_form import label_key
from ..text.time_words import TimeWords, find_time
from ..validation import ALL_COLLECTIONS

NEARBY = 5.0
"""Metres around a place that is given as numbers alone."""


class Request(Protocol):
    """A request whose fields declare how conditions are read."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    query: Any
    collection: Any
    collections: Names
    session_id: Any
    context_filter: Any
    after: Any
    before: Any
    as_of: Any


class RecallFields(Request, Protocol):
    """The fields of a recall that are no conditions."""

    n: int
    min_relevance: float | None
    explain: bool
    fold: bool
    time_words: bool | None


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
    """How values of the request were read: cut to what is possible, or as a window; in words."""
    time_words: TimeWords | None = None
    """The words that told the window, which the text is without."""

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
    parameters: Parameters, request: RecallFields, *, decay: Decay,
    areas: Callable[[], Mapping[str, Area]] = dict, places: Callable[[], Mapping[str, Pose]] = dict,
) -> Query:  # fmt: skip
    """Check all fields; `n` is cut to 1..100, which the query tells; the query `*` means an empty one.

    A `min_relevance` of None means the parameter.

    `decay` is what memories are seen by at the time of the query, `areas` gives the areas that have a polygon,
    `places` the named places.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    request, time_words = _with_window(request, parameters, decay.now)
    is_any = isinstance(request.query, str) and request.query.strip() == "*"
    text = "" if is_any else validation.query("query", request.query)
    reader = Reader.of(request, parameters, decay, areas, places)
    n, cut = _clamped_n(request.n)
    query = Query(
        text=text,
        n=n,
        min_relevance=parameters.min_relevance
        if request.min_relevance is None
        else validation.number("min_relevance", request.min_relevance, low=0.0, high=1.0),
        needs_relevance=request.min_relevance is not None,
        collections=reader.collections,
        conditions=reader.conditions(),
        spatial_sort=reader.place("spatial_sort"),
        explain=validation.flag("explain", request.explain),
        decay=reader.decay,
        fold=validation.flag("fold", request.fold),
        cut="; ".join(filter(None, (cut, str(time_words or "")))),
        time_words=time_words,
    )
    if not (query.text or query.spatial_sort or any(condition.suffices for condition in query.conditions)):
        raise InvalidFieldError(
            "query", request.query,
            "is empty, and there is no condition to go by; give words, a condition or a spatial_sort",
        )  # fmt: skip
    return query


_TIMES = ("after", "before", "max_age", "as_of", "changed_since", "since_last_visit", "usually_at")
"""The fields of a request that say when."""


def _with_window(request: RecallFields, parameters: Parameters, now: int) -> tuple[RecallFields, TimeWords | None]:
    # The request as if the caller had given the window that words of the query tell, unless it gives a time itself. The
    # clock of a simulation knows no days.
    text, wanted = request.query, request.time_words
    is_wanted = parameters.time_words if wanted is None else validation.flag("time_words", wanted)
    is_read = is_wanted and isinstance(text, str) and len(text) <= MAX_QUERY and now >= FIRST_OF_WALL_CLOCKS
    if not is_read or any(getattr(request, name) for name in _TIMES) or (found := find_time(text, now)) is None:
        return request, None
    time_words, rest = found
    rest = rest if validation.has_word(rest) else ""
    return replace(request, query=rest, after=time_words.after, before=time_words.before), time_words


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


@dataclass(frozen=True)
class Reader:
    """Reads conditions from a request. What cannot be used raises InvalidFieldError."""

    request: Request
    parameters: Parameters
    decay: Decay
    """Decay of confidence up to the time of the query."""
    areas: Callable[[], Mapping[str, Area]]
    """Gives the areas of the parameter `areas_file`, by name."""
    places: Callable[[], Mapping[str, Pose]] = dict
    """Gives the poses of the named places in the memory frame, by the keys of their names."""

    @classmethod
    def of(
        cls, request: Request, parameters: Parameters, decay: Decay,
        areas: Callable[[], Mapping[str, Area]], places: Callable[[], Mapping[str, Pose]] = dict,
    ) -> Reader:  # fmt: skip
        """Return the reader of a request; what looks back to a time is seen from then."""
        return cls(
            request, parameters, decay if request.as_of is None else decay._replace(now=request.as_of), areas, places
        )

    def conditions(self) -> tuple[Condition, ...]:
        """Read all conditions, in the order of their fields."""
        readers = readers_of(type(self.request))
        return tuple(found for name, read in readers if (found := read(self, name)) is not None)

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
        value = self.request.context_filter
        condition = None if value is None else parse_filter(value, self.decay, limit=MAX_CONTEXT)
        return condition if condition and condition.conditions else None

    def names(self, field: str, single: object = None) -> tuple[str, ...]:
        """Return the names in a field, and that in the field of its singular, in alphabetical order."""
        return _names(field, getattr(self.request, field), field.removesuffix("s"), single)

    def flag(self, field: str) -> bool:
        """Return whether a field is true."""
        return validation.flag(field, getattr(self.request, field))

    def place(self, field: str) -> Place | None:
        """Return the place in a field, if there is one."""
        value = getattr(self.request, field)
        return None if value is None else parse_place(field, value, self.parameters, self.places)

    def place_with_radius(self, field: str) -> Place | None:
        """Return the place in a field, which must have a radius, unless it is given as numbers alone."""
        place = self.place(field)
        if place is not None and math.isinf(place.max_distance):
            if not is_object(getattr(self.request, field)):
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


@cache
def readers_of(request: type[Request]) -> Sequence[tuple[str, ReadCondition]]:
    """Return the fields of a request that are conditions, each with its reader."""
    return [(entry.name, read) for entry in fields(request) if (read := entry.metadata.get("condition"))]


def by_names(
    make: Callable[[tuple[str, ...]], Condition], key: Callable[[str], str] = str, *, has_single: bool = False
) -> ReadCondition:
    """Read names as they are stored, and make a condition if there are any.

    With `has_single` the field `session_id` names another one.
    """

    def read(reader: Reader, field: str) -> Condition | None:
        if not (names := reader.names(field, reader.request.session_id if has_single else None)):
            return None
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
    return None if len(reader.kinds) == len(Kind) else Kinds(tuple(sorted(reader.kinds)), suffices=suffices)


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
    if (value := getattr(reader.request, field)) is None:
        return Confidence(DEFAULT_CONFIDENCE, reader.decay, is_default=True)
    minimum = validation.number(field, value, low=0.0, high=1.0)
    return Confidence(minimum, reader.decay) if minimum > 0 else None


def ids(reader: Reader, field: str) -> Condition | None:
    """Read ids of memories."""
    numbers = validation.ids(field, getattr(reader.request, field))
    return Ids(numbers) if numbers else None


def window(reader: Reader, field: str) -> Condition | None:
    """Read `after`, and `before` with it."""
    after, before = validation.window(reader.request.after, reader.request.before)
    return None if after is None and before is None else Window(after, before)


def max_age(reader: Reader, field: str) -> Condition | None:
    """Read the greatest age in seconds."""
    seconds = validation.number(field, getattr(reader.request, field), low=0.0, high=MAX_AGE)
    return Since(reader.decay.now - round(seconds * 1e9)) if seconds else None


def as_of(reader: Reader, field: str) -> Condition | None:
    """Read the time that a query looks back to."""
    value = getattr(reader.request, field)
    return None if value is None else AsOf(validation.time_ns(field, value))


def changed_since(reader: Reader, field: str) -> Condition | None:
    """Read the time since which objects changed."""
    value = getattr(reader.request, field)
    if value is None:
        return None
    for other in ("as_of", "after", "before"):
        if getattr(reader.request, other) is not None:
            raise InvalidFieldError(field, value, f"goes without `{other}`: it compares a time with now")
    return ChangedSince(validation.time_ns(field, value))


_TIME_OF_DAY = re.compile(r"(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?(\d{1,2}):(\d{2})", re.IGNORECASE)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def usually_at(reader: Reader, field: str) -> Condition | None:
    """Read the time of day, and the weekday, at which things are usually somewhere."""
    if not (value := validation.name(field, getattr(reader.request, field))):
        return None
    for other in ("as_of", "changed_since", "after", "before"):
        if getattr(reader.request, other) is not None:
            raise InvalidFieldError(field, value, f"goes without `{other}`: it asks of all days")
    match = _TIME_OF_DAY.fullmatch(value)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        raise InvalidFieldError(field, value, "must be a time of day, such as '09:00' or 'Monday 09:00'")
    weekday = _WEEKDAYS.index(match[1].lower()) if match[1] else None
    return UsuallyAt(value, time(int(match[2]), int(match[3])), weekday, reader.decay.now)


def context_filter(reader: Reader, field: str) -> Condition | None:
    """Read the filter on the context."""
    return reader.context_filter


def circle(reader: Reader, field: str) -> Condition | None:
    """Read a place and its surroundings."""
    place = reader.place_with_radius(field)
    return Circle(place) if place else None


def box(reader: Reader, field: str) -> Condition | None:
    """Read the corners of a box."""
    value = getattr(reader.request, field)
    corners = None if value is None else parse_corners(field, value, reader.parameters)
    return Box(*corners) if corners else None


def since_last_visit(reader: Reader, field: str) -> Condition | None:
    """Read the place whose last visit begins a window."""
    place = reader.place_with_radius(field)
    gap = round(reader.parameters.visit_gap * 1e9)
    return SinceLastVisit(place, gap, reader.decay.now, reader.collections) if place else None


ORIGIN = (0.0, 0.0, 0.0)
_NAME = re.compile(r"(?=.*[^\W\d_])[^\[\]{},;]+")
"""A text that is the name of a place or of a frame, unless it holds numbers alone."""
_PLACE = '{"target": [1.0, 2.0], "max_distance": 5.0}'
_RULE = (
    "must be two or three numbers in metres, the name of a place or a frame, or an object with `target` and "
    "`max_distance`; such as 1.0,2.0 or " + _PLACE
)
_BOX = '{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'


def pose_field(argument: str, parameters: Parameters) -> Field:
    """Return the poses of memories in the memory frame of the current map."""
    return Field(argument, POSITION, parameters.memory_frame, parameters.map_id, parameters.memory_frame)


def is_object(value: object) -> bool:
    """Return whether a place is given as an object or the JSON of one, and not as numbers alone."""
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{"))


def place_object(argument: str, value: Any) -> Any:
    """Return a place that may be given as numbers, or by a name, as its object or the JSON of that.

    Raises:
        InvalidFieldError: it is none of these.
    """
    if is_object(value):
        return value
    if isinstance(value, str) and _NAME.fullmatch(value.strip()) and not validation.numbers_in(value):
        return {"target": ORIGIN, "frame_id": value}
    return {"target": validation.coordinates(argument, value, rule=_RULE)}


def parse_place(
    argument: str, value: object, parameters: Parameters, places: Callable[[], Mapping[str, Pose]]
) -> Place | None:
    """Read a place from its JSON object, from the numbers of its target, also as a text, or from a name.

    A named place is a frame in the memory frame, and goes before a frame of its name. A frame alone means its origin.
    None for an empty text.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    if isinstance(value, str) and validation.is_blank(value):
        return None
    place = value if value is None else place_object(argument, value)
    fields = _object(argument, place, ("field", "target", "max_distance", "frame_id"), parameters)
    if fields is None:
        return None
    max_distance, target = fields.get("max_distance"), fields.get("target")
    field = _field(f"{argument}.target", fields, parameters)
    point = _point(f"{argument}.target", ORIGIN if target is None and fields.get("frame_id") else target)
    if field.frame_id != parameters.memory_frame and (pose := places().get(label_key(field.frame_id))):
        turned = rotated(pose[3:], (point[0], point[1], (*point, 0.0)[2]))
        field, point = field._replace(frame_id=parameters.memory_frame), tuple(map(add, pose, turned))[: len(point)]
    return Place(
        field,
        point,
        math.inf if max_distance is None else validation.number(f"{argument}.max_distance", max_distance, low=0.0),
    )


def parse_corners(argument: str, value: object, parameters: Parameters) -> tuple[Field, Point, Point] | None:
    """Read the two corners of a box from its JSON object; None for an empty text.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    fields = _object(argument, value, ("field", "min_corner", "max_corner", "frame_id"), parameters)
    if fields is None:
        return None
    min_corner, max_corner = (_point(f"{argument}.{name}", fields.get(name)) for name in ("min_corner", "max_corner"))
    if len(min_corner) != len(max_corner) or any(low > high for low, high in zip(min_corner, max_corner, strict=True)):
        problem = f"must have as many numbers as min_corner, {list(min_corner)}, and none of them smaller"
        raise InvalidFieldError(f"{argument}.max_corner", list(max_corner), problem)
    return _field(f"{argument}.frame_id", fields, parameters), min_corner, max_corner


def _object(argument: str, value: object, names: Sequence[str], parameters: Parameters) -> Mapping[str, object] | None:
    example = _PLACE if "target" in names else _BOX
    if isinstance(value, str):
        value = validation.json_object(argument, value, limit=MAX_CONTEXT, example=example) or None
    if value is None:
        return None
    if not isinstance(value, Mapping):
        field_names = ", ".join(f"`{name}`" for name in names[:-2])
        problem = f"must be an object with {field_names} and `{names[-2]}`, such as {example}"
        raise InvalidFieldError(argument, value, problem)
    unknown = set(value) - set(names)
    if unknown:
        choices = f"{', '.join(names[:-1])} and {names[-1]}"
        problem = f"is unknown; there are {choices}, as in {example}"
        raise InvalidFieldError(argument, sorted(map(str, unknown)), problem)
    return value


def _field(located: str, fields: Mapping[str, object], parameters: Parameters) -> Field:
    argument = located.partition(".")[0]
    name = _field_name(f"{argument}.field", fields.get("field"))
    frame_id = validation.frame(f"{argument}.frame_id", fields.get("frame_id"), default=parameters.memory_frame)
    return Field(located, name, frame_id, parameters.map_id, parameters.memory_frame)


def _field_name(argument: str, value: object) -> str:
    if not isinstance(value, (str, NoneType)):
        raise InvalidFieldError(argument, value, "must be text")
    name = (value or "").strip() or POSITION
    if name == POSITION:
        return name
    try:
        return context_field(in_context("" if name in POSE_NAMES else name))
    except ValueError:
        problem = (
            "must be `position` or a path into the context, such as spatial.object_position, with a key that is empty "
            "or has a dot in double quotes"
        )
        raise InvalidFieldError(argument, value, problem) from None


def _point(name: str, value: object) -> Point:
    return validation.coordinates(name, value)
