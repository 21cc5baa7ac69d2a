"""The reference model: memories, questions and results as the oracle sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.areas import Area
from robotmem_ros.memory.conditions.condition import Row
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.context_path import split
from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.query import Query, parse_query
from robotmem_ros.memory.search.request import RecallRequest, TimelineRequest
from robotmem_ros.memory.search.timeline import TimelineQuery, parse_timeline

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
    vectors: Sequence[Vector]
    """Of the parts of its text; none if there is no model."""
    outcome: tuple[float, int] | None = None
    """Sum of the outcomes of the sessions it was recalled in, and their number."""
    opposed: frozenset[int] = frozenset()
    """The memories that it contradicts and that contradict it."""
    evidence_day: int = 0
    """How many days the memory had lived when the evidence for it came."""

    def nearest(self, query: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        """Return the vector of the part that is nearest to a query, of unit length."""
        parts = [part.astype(np.float64) / np.linalg.norm(part) for part in self.vectors]
        return max(parts, key=lambda part: float(part @ query))

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
            return self.words[phrase[0]]
        wanted = list(phrase)
        return sum(column[at : at + len(wanted)] == wanted for column in self.columns for at in range(len(column)))

    @cached_property
    def words(self) -> Counter[str]:
        """Return how often it has each word."""
        return Counter(word for column in self.columns for word in column)

    @cached_property
    def _rows(self) -> dict[int, Row]:
        return {}

    def row(self, lived_days: int) -> Row:
        """Return it as conditions see it after so many lived days."""
        if lived_days not in self._rows:
            self._rows.clear()
            self._rows[lived_days] = self._row(lived_days)
        return self._rows[lived_days]

    def _row(self, lived_days: int) -> Row:
        new = self.new
        return Row(
            id=self.id, kind=new.kind, collection=new.collection, observed_at=new.observed_at, frame_id=new.frame_id,
            map_id=new.map_id, context=self.context, confidence=self.confidence(lived_days),
            stored_confidence=new.confidence, position=self.position("position"), size=new.size,
            content=new.content,
            human_summary=new.human_summary, perception_type=new.perception_type or "", label=new.label,
            category=new.category, session_id=new.session_id, tags=new.tags,
            source=new.source, scope_files=tuple(new.scope_files.splitlines()),
            scope_entities=tuple(new.scope_entities.splitlines()),
        )  # fmt: skip

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


class Question(NamedTuple):
    """A recall, and when it is asked."""

    now: int
    """Nanoseconds by the robot's clock."""
    request: RecallRequest
    min_relevance: float = 0.0
    """The parameter."""
    text_weight: float = 0.5
    """The parameter; what is left to 1 is the other weight."""

    def set(self, parameters: Parameters) -> Parameters:
        """Return the parameters with those of the question."""
        weights = {"text_weight": self.text_weight, "vector_weight": 1 - self.text_weight}
        return parameters.changed(min_relevance=self.min_relevance, **weights)

    def plan(self, parameters: Parameters, areas: Mapping[str, Polygon]) -> Query:
        """Return it checked, on a file that has these areas."""
        return parse_query(self.set(parameters), self.request, decay=Decay(DECAY_RATE, self.now), areas=_by_name(areas))

    def page(self, parameters: Parameters, areas: Mapping[str, Polygon], request: TimelineRequest) -> TimelineQuery:
        """Return a timeline at the same time checked, on a file that has these areas."""
        return parse_timeline(parameters, request, decay=Decay(DECAY_RATE, self.now), areas=_by_name(areas))


def _by_name(areas: Mapping[str, Polygon]) -> Callable[[], Mapping[str, Area]]:
    return lambda: {name: Area(name, tuple(polygon)) for name, polygon in areas.items()}


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
    for name in split(path):
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value


def is_position(value: object) -> TypeGuard[list[float]]:
    """Tell whether a value is an array of two or three numbers."""
    return isinstance(value, list) and len(value) in (2, 3) and all(type(part) in (int, float) for part in value)


NOTES = "notes"
"""The collection of notes, unless their folder names another."""
