"""The reference model: memories, queries and results as the oracle sees them, and the meaning of each condition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeGuard

from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.models import Kind, NewMemory

from .evidence import Evidence

MAIN_FRAME, DEFAULT_COLLECTION = "map", "default"
DAY = 24 * 3600 * 10**9
DECAY_RATE = 0.01
OUTCOME_WEIGHT = 0.1
FADED = 0.3
"""The confidence that a recall asks for by default."""
FIRST_WALL_DAY = 10**18 // DAY
"""Days before it, since the epoch, are those of a simulation."""


@dataclass(frozen=True)
class ReferenceMemory:
    """One memory as the oracle sees it."""

    id: int
    new: NewMemory
    context: Mapping[str, object]
    active: bool
    vector: Vector | None
    outcome: tuple[float, int] | None = None
    """Sum of the outcomes of the sessions it was recalled in, and their number."""
    opposed: frozenset[int] = frozenset()
    """The memories that it contradicts and that contradict it."""
    evidence_day: int = 0
    """How many days the memory had lived when the evidence for it came."""

    @property
    def weight(self) -> float:
        """Return the factor of its score for its outcomes."""
        if self.outcome is None:
            return 1.0
        total, sessions = self.outcome
        return 1 + OUTCOME_WEIGHT * (2 * (total + 1) / (sessions + 2) - 1)

    def confidence(self, lived_days: int) -> float:
        """Return its confidence after so many lived days."""
        is_protected = self.new.category in ("constraint", "hazard", "preference")
        rate = self.new.decay_rate
        if rate is None:
            rate = 0.0 if is_protected else DECAY_RATE
        return float(self.new.confidence * (1.0 - rate) ** (lived_days - self.evidence_day))

    def has_faded(self, lived_days: int) -> bool:
        """Tell whether it was as sure as a recall asks for by default, and is no longer."""
        return self.confidence(lived_days) < FADED <= self.new.confidence

    @cached_property
    def columns(self) -> list[list[str]]:
        """Return the words of each indexed column."""
        texts = (self.new.content, self.new.human_summary, self.new.scope_files)
        entities = f"{self.new.scope_entities} {self.new.label}"
        return [text.lower().replace("_", " ").split() for text in (*texts, entities)]

    @cached_property
    def length(self) -> int:
        """Return the number of its words."""
        return sum(map(len, self.columns))

    def frequency(self, phrase: Sequence[str]) -> int:
        """Count the occurrences of a phrase."""
        if len(phrase) == 1:
            return self._counts[phrase[0]]
        wanted = list(phrase)
        return sum(column[at : at + len(wanted)] == wanted for column in self.columns for at in range(len(column)))

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(word for column in self.columns for word in column)

    @cached_property
    def own_fields(self) -> Mapping[str, object]:
        """Return the fields that a filter can name, except the confidence, which changes; an empty text is absent."""
        new = self.new
        found: dict[str, object] = {
            "kind": new.kind.value, "content": new.content, "human_summary": new.human_summary,
            "perception_type": new.perception_type, "label": folded(new.label), "category": new.category,
            "session_id": new.session_id, "collection": new.collection, "frame_id": new.frame_id, "map_id": new.map_id,
        }  # fmt: skip
        if new.tags:
            found["tags"] = new.tags
        numbers = {"id": self.id, "stamp": new.observed_at / 1e9}
        return {name: text for name, text in found.items() if text} | numbers

    def position(self, path: str) -> tuple[float, ...] | None:
        """Return the position of a spatial field."""
        if path == "position":
            return None if self.new.pose is None else tuple(self.new.pose[:3])
        value = at_path(self.context, path.removeprefix("context."))
        return tuple(float(part) for part in value) if is_position(value) else None


def folded(label: str) -> str:
    """Return a label of these worlds, which differ in case and spaces only, as it is compared."""
    return " ".join(label.casefold().split())


Polygon = Sequence[tuple[float, float]]


class Place(NamedTuple):
    """A place, as the target of a spatial sort or as a condition."""

    field: str
    target: tuple[float, ...]
    frame_id: str = MAIN_FRAME
    max_distance: float = math.inf

    def arguments(self) -> dict[str, object]:
        """Return it as an argument of recall."""
        given = self._asdict()
        return {**given, "max_distance": None} if math.isinf(self.max_distance) else given


class Box(NamedTuple):
    """A box, as a condition."""

    field: str
    min_corner: tuple[float, ...]
    max_corner: tuple[float, ...]
    frame_id: str = MAIN_FRAME


@dataclass(frozen=True)
class Query:
    """A query, already validated."""

    now: int
    text: str = ""
    n: int = 5
    min_confidence: float | None = 0.0
    """None for the default: fresh memories, or if there is no result of them, faded ones."""
    faded: bool = False
    """Whether to search faded memories alone, for the default."""
    min_relevance: float = 0.0
    sets_relevance: bool = True
    """Whether the bound of relevance is the caller's, not the parameter."""
    explain: bool = False
    collections: tuple[str, ...] = (DEFAULT_COLLECTION,)
    """None if the query names none: then the default one, and the notes."""
    session_ids: tuple[str, ...] = ()
    excluded_session_ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    after: int | None = None
    before: int | None = None
    context_filter: Mapping[str, object] = field(default_factory=dict)
    near: Place | None = None
    within: Box | None = None
    areas: tuple[str, ...] = ()
    since_last_visit: Place | None = None
    spatial_sort: Place | None = None
    fold: bool = True

    @property
    def has_evidence(self) -> bool:
        """Tell whether the best of what the conditions leave is the result, however little its text says."""
        names = (self.session_ids, self.categories, self.labels, self.tags, self.any_tags, self.ids, self.areas)
        places = (self.near, self.within, self.since_last_visit)
        window = (self.after, self.before)
        is_named = any((*names, self.context_filter)) or any(one is not None for one in (*places, *window))
        return is_named and not self.sets_relevance

    @property
    def wants_notes(self) -> bool:
        """Tell whether notes may answer: with words all kinds do by default."""
        return "note" in self.kinds if self.kinds else bool(self.text)

    def names(self, collection: str) -> bool:
        """Tell whether all memories of a collection are searched."""
        return "*" in self.collections or collection in (self.collections or (DEFAULT_COLLECTION,))

    def searches(self, new: NewMemory) -> bool:
        """Tell whether the collection of a memory is searched for memories of its kind."""
        of_notes = not self.collections and new.collection == NOTES and new.kind is Kind.NOTE and self.wants_notes
        return self.names(new.collection) or of_notes


@dataclass(frozen=True)
class Result:
    """A result: mode, ids in order, scores normalised to 1.0, distances if any, and what there is of the query."""

    mode: str
    ids: list[int]
    scores: list[float]
    distances: list[float]
    confidences: list[float]
    faded: list[bool]
    evidence: list[Evidence]
    """Of a query with a text."""
    folded: list[list[int]]
    """Of each result, what it stands for, newest first."""
    is_relevant: bool


def evidence_day(new: NewMemory, lived_days: Sequence[int]) -> int:
    """Return the number of the lived day that the evidence for a memory is from; the days are in their order."""
    day = max(new.observed_at, new.received_at) // DAY
    if day < FIRST_WALL_DAY <= max(lived_days):
        day = max(lived_days)
    before = [lived for lived in lived_days if lived <= day]
    return lived_days.index(max(before)) + 1 if before else 0


ABSENT = object()


def at_path(value: object, path: str) -> object:
    """Return the value at a dot path through objects, or ABSENT."""
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value


def is_position(value: object) -> TypeGuard[list[float]]:
    """Tell whether a value is an array of two or three numbers."""
    return isinstance(value, list) and len(value) in (2, 3) and all(_type(part) is float for part in value)


def holds(operator: str, operand: object, value: object) -> bool:
    """Tell whether a value fits one comparison."""
    if operator == "$exists":
        return (value is not ABSENT) == operand
    if value is ABSENT:
        return False
    if operator == "$contains":
        return isinstance(value, list | tuple) and any(_equal(item, operand) for item in value)
    if operator == "$prefix":
        return isinstance(value, str) and value.startswith(str(operand))
    if operator == "$in":
        return any(_equal(value, item) for item in operand)  # type: ignore[attr-defined]
    if operator in ("$eq", "$ne"):
        return _equal(value, operand) == (operator == "$eq")
    return _type(value) is _type(operand) in (float, str) and _ORDERS[operator](value, operand)


_ORDERS: Mapping[str, Callable[..., bool]] = {
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
}


def _type(value: object) -> type:
    return float if type(value) is int else type(value)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_equal(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return set(left) == set(right) and all(_equal(left[name], right[name]) for name in left)
    return _type(left) is _type(right) and left == right


NOTES = "notes"
"""The collection of notes, unless their folder names another."""
OWN_NAMES = frozenset({
    "id", "kind", "content", "human_summary", "perception_type", "label", "category", "confidence", "session_id",
    "collection", "frame_id", "map_id", "stamp", "tags",
})  # fmt: skip
