"""List the objects as the robot believed them to be at a time."""

from __future__ import annotations

import numpy as np

from ..conditions.attributes import AsOf
from ..conditions.decay import Decay
from ..models import SeenObject
from ..storage import object_rows
from ..table.past import view_of
from ..table.view import Chosen, View, in_order


def seen_as_of(view: View, at: int, map_id: str, limit: int, decay: Decay, *, is_all: bool) -> tuple[SeenObject, ...]:
    """Return the objects of a map that were believed at a time in nanoseconds, or all, those seen last first."""
    condition = AsOf(at)
    then = view_of(view, (condition,))
    mask = then.is_active & (then.confirmed >= (0 if is_all else 1)) & condition.mask(then)
    mask &= view.name("map_id").one_of([map_id])
    rows = np.array([*in_order(Chosen(then, mask), limit)][:limit], np.intp)
    ids: list[int] = then.ids[rows].tolist()
    found, fields = object_rows.seen(view.snapshot, ids, decay), then.fields_then(ids, decay)
    return tuple(
        found[key]._replace(**{name: fields[key][name] for name in fields[key].keys() & {*SeenObject._fields}})
        for key in ids
    )
