"""Find the objects that a look should have shown, and did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..conditions.attributes import Ids
from ..conditions.condition import Condition
from ..conditions.decay import Decay
from ..conditions.spatial import Box, Circle
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Kind, Pose
from ..search.query import is_object, parse_query, place_object
from ..search.reasons import check_names
from ..search.request import RecallRequest
from ..table.view import View, select
from ..validation import ALL_COLLECTIONS
from .requests import LookRequest

_RADIUS = 1.0
"""Metres around a place that is given as numbers alone."""


def parse_look(
    parameters: Parameters, request: LookRequest, *, decay: Decay, places: Callable[[], Mapping[str, Pose]]
) -> Sequence[Condition]:
    """Check all fields, and return what holds of the objects that were looked for.

    Raises:
        InvalidFieldError: a field cannot be used, or there is neither a place nor an id.
    """
    near = request.near
    if near is not None and not is_object(near) and near != "":
        near = {**place_object("near", near), "max_distance": _RADIUS}
    conditions = parse_query(
        parameters,
        RecallRequest(
            near=near, within=request.within, ids=request.ids, labels=request.labels, kinds=Kind.PERCEPTION,
            collection=ALL_COLLECTIONS, min_confidence=0.0,
        ),
        decay=decay, places=places,
    ).conditions  # fmt: skip
    if not any(isinstance(condition, (Circle, Box, Ids)) for condition in conditions):
        raise InvalidFieldError("near", request.near, "is not given; say where the look was, or which `ids` it missed")
    return conditions


def confirmed_among(view: View, conditions: Sequence[Condition]) -> list[int]:
    """Return the confirmed objects under some conditions, by their ids.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
    """
    check_names(view, conditions)
    ids: list[int] = view.ids[select(view, conditions) & (view.confirmed == 1)].tolist()
    return ids
