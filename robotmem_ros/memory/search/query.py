"""Validate a query: clean and complete, or an error that names the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .. import validation
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Kind
from ..storage.decay import Decay
from .filters import Comparison, parse_filter

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
    """A validated query. `after` and `before` bound a half-open window in nanoseconds; None is no bound."""

    text: str
    """Free text; empty for a query of conditions alone."""
    n: int
    min_confidence: float
    collection: str
    session_id: str
    kind: Kind | None
    representatives_only: bool
    """Whether to leave out facts that another one of their group represents."""
    after: int | None
    before: int | None
    comparisons: tuple[Comparison, ...]
    spatial_sort: SpatialSort | None
    decay: Decay
    """What confidence means at the time of the query."""


def parse_query(
    parameters: Parameters,
    *,
    decay: Decay,
    query: object,
    n: object,
    min_confidence: object,
    session_id: object,
    kind: object,
    representatives_only: object = False,
    context_filter: object,
    spatial_sort: object,
    after: object,
    before: object,
    collection: object,
) -> Query:
    """Check all fields; `n` is cut to 1..100 and 0 means 5; the query `*` means an empty one.

    `decay` is what memories are seen by at the time of the query.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a query nor a condition.
    """
    text = validation.text("query", query, limit=parameters.content_limit)
    parsed = Query(
        text="" if text == "*" else text,
        n=_clamped_n(n),
        min_confidence=validation.number("min_confidence", min_confidence, low=0.0, high=1.0),
        collection=validation.name("collection", collection, default=parameters.collection),
        session_id=validation.name("session_id", session_id),
        kind=None if kind in (None, "") else validation.member("kind", kind, Kind),
        representatives_only=validation.flag("representatives_only", representatives_only),
        after=None if after is None else validation.time_ns("after", after),
        before=None if before is None else validation.time_ns("before", before),
        comparisons=parse_filter(context_filter, limit=parameters.context_limit),
        spatial_sort=_parse_spatial_sort(spatial_sort, parameters),
        decay=decay,
    )
    if parsed.after is not None and parsed.before is not None and parsed.after >= parsed.before:
        raise InvalidFieldError("after", parsed.after, f"must lie before `before` ({parsed.before})")
    if not parsed.text and not _has_condition(parsed, collection):
        raise InvalidFieldError(
            "query", query, "is empty, and there is no condition to go by; give words, a condition or a spatial_sort"
        )
    return parsed


def _has_condition(query: Query, collection: object) -> bool:
    return bool(
        query.session_id
        or query.kind
        or query.comparisons
        or query.spatial_sort
        or query.after is not None
        or query.before is not None
        or collection
    )


def _clamped_n(n: object) -> int:
    wanted = validation.whole("n", n)
    return DEFAULT_N if wanted == 0 else min(max(wanted, 1), MAX_N)


def _parse_spatial_sort(value: object, parameters: Parameters) -> SpatialSort | None:
    if value is None:
        return None
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
