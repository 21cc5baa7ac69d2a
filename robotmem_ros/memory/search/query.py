"""Read a request into a query, which knows no database: all fields checked, and each condition as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .. import validation
from ..areas import Area
from ..conditions.attributes import Collections
from ..conditions.condition import Condition
from ..conditions.decay import Decay
from ..conditions.places import Place
from ..conditions.spatial import Box, Circle, InAreas
from ..config.parameters import Parameters
from ..embedding.profile import Profile
from ..errors import InvalidFieldError
from .reader import Reader
from .request import MAX_N, RecallRequest


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
        conditions=reader.conditions(),
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
