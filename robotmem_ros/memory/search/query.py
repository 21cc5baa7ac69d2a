"""Validate a query: clean and complete, or an error that names the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .. import validation
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..storage.decay import Decay
from .conditions import Given, Wanted, parse_conditions, searched_collections
from .filters import Comparison, ContextFilter
from .request import RecallRequest

DEFAULT_N = 5
MAX_N = 100
POSITION = "position"


@dataclass(frozen=True)
class SpatialSort:
    """Order by distance to a target: metres, in `frame_id`; `max_distance` is inf when there is no limit."""

    field: str
    target: tuple[float, ...]
    frame_id: str
    max_distance: float = math.inf


@dataclass(frozen=True)
class Query:
    """A validated query."""

    text: str
    """Free text; empty for a query of conditions alone."""
    n: int
    min_relevance: float
    """With a text, the result is empty if no memory is so relevant; 0 for any."""
    collections: tuple[str, ...]
    """The collections to search; none for all."""
    conditions: tuple[Wanted, ...]
    """All must hold, before anything is ranked."""
    spatial_sort: SpatialSort | None
    explain: bool
    """Whether to explain the scores."""
    decay: Decay
    """What confidence means at the time of the query."""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return the comparisons of the context filter."""
        filters = (wanted for wanted in self.conditions if isinstance(wanted, ContextFilter))
        return tuple(comparison for one in filters for comparison in one.comparisons)


def parse_query(parameters: Parameters, request: RecallRequest, *, decay: Decay) -> Query:
    """Check all fields; `n` is cut to 1..100 and 0 means 5; the query `*` means an empty one.

    A `min_relevance` of None means the parameter.

    `decay` is what memories are seen by at the time of the query.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    text = validation.text("query", request.query, limit=parameters.content_limit)
    given = Given(request, parameters, decay)
    parsed = Query(
        text="" if text == "*" else text,
        n=_clamped_n(request.n),
        min_relevance=parameters.min_relevance
        if request.min_relevance is None
        else validation.number("min_relevance", request.min_relevance, low=0.0, high=1.0),
        collections=searched_collections(given).names,
        conditions=parse_conditions(given),
        spatial_sort=_parse_spatial_sort(request.spatial_sort, parameters),
        explain=validation.flag("explain", request.explain),
        decay=decay,
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


def _parse_spatial_sort(value: object, parameters: Parameters) -> SpatialSort | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = validation.json_object("spatial_sort", value, limit=parameters.context_limit)
    if not isinstance(value, Mapping):
        raise InvalidFieldError("spatial_sort", value, "must be an object with `field`, `target` and `max_distance`")
    unknown = set(value) - {"field", "target", "max_distance", "frame_id"}
    if unknown:
        raise InvalidFieldError(
            "spatial_sort", sorted(map(str, unknown)), "is unknown; there are field, target, max_distance and frame_id"
        )
    max_distance = value.get("max_distance")
    return SpatialSort(
        field=_parse_field(value.get("field", POSITION)),
        target=_parse_target(value.get("target")),
        frame_id=validation.name("spatial_sort.frame_id", value.get("frame_id"), default=parameters.memory_frame),
        max_distance=math.inf
        if max_distance is None
        else validation.number("spatial_sort.max_distance", max_distance, low=0.0),
    )


def _parse_field(value: object) -> str:
    field = validation.name("spatial_sort.field", value, default=POSITION)
    parts = field.split(".")
    if field != POSITION and (parts[0] != "spatial" or len(parts) < 2 or not all(parts)):
        raise InvalidFieldError(
            "spatial_sort.field", value, "must be `position` or a path under `spatial`, such as spatial.object_position"
        )
    return field


def _parse_target(value: object) -> tuple[float, ...]:
    wanted = "must be two or three numbers in metres"
    return validation.vector("spatial_sort.target", value, sizes=(2, 3), wanted=wanted)
