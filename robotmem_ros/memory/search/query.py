"""Validate a query: clean and complete, or an error that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import validation
from ..areas import Area
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..storage.decay import Decay
from .comparison import Comparison
from .condition import Wanted
from .conditions import Collections, Given, may_give_notes, parse_conditions, searched_collections
from .filters import ContextFilter
from .places import Place, parse_place
from .request import RecallRequest

DEFAULT_N = 5
MAX_N = 100


@dataclass(frozen=True)
class Query:
    """A validated query."""

    text: str
    """Free text; empty for a query of conditions alone."""
    n: int
    min_relevance: float
    """With a text, the result is empty if no memory is so relevant; 0 for any."""
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
    def may_give_notes(self) -> bool:
        """Tell whether the kinds that are asked for let notes be in the result; they have no position."""
        return self.spatial_sort is None and may_give_notes(self.conditions)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return the comparisons of the context filter."""
        filters = (wanted for wanted in self.conditions if isinstance(wanted, ContextFilter))
        return tuple(comparison for one in filters for comparison in one.comparisons)


def parse_query(
    parameters: Parameters, request: RecallRequest, *, decay: Decay, areas: Mapping[str, Area] | None = None
) -> Query:
    """Check all fields; `n` is cut to 1..100 and 0 means 5; the query `*` means an empty one.

    A `min_relevance` of None means the parameter.

    `decay` is what memories are seen by at the time of the query, `areas` are the areas that have a polygon.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    text = validation.text("query", request.query, limit=parameters.content_limit)
    given = Given(request, parameters, decay, areas or {})
    parsed = Query(
        text="" if text == "*" else text,
        n=_clamped_n(request.n),
        min_relevance=parameters.min_relevance
        if request.min_relevance is None
        else validation.number("min_relevance", request.min_relevance, low=0.0, high=1.0),
        collections=searched_collections(given),
        conditions=parse_conditions(given),
        spatial_sort=parse_place("spatial_sort", request.spatial_sort, parameters),
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
