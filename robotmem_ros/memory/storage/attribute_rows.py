"""Read the attributes that the conditions of nearly every query test, and find which memories changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Attributes
from ..conditions.decay import Decay
from ..models import Kind
from . import revisions
from .snapshot import Snapshot, json_array

Ids = npt.NDArray[np.int64]

FIRST_DAY, MAX_DAY = 2, 2**16 - 1
"""What is added to a last day, and the greatest sum, which stands for all above; 1 stands for all below."""
_READ = """
    SELECT
        m.type, m.collection, m.status = 'active',
        iif(m.x IS NULL, NULL, m.frame_id), iif(m.x IS NULL, NULL, m.map_id),
        json_group_array(m.id), json_group_array(m.label_key),
        json_group_array(coalesce(min(max({last_day} + {first}, 1), {greatest}), 0))
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value GROUP BY 1, 2, 3, 4, 5
"""
_CHANGED = """
    SELECT m.id AS number, m.revision AS revision FROM collections AS c
    CROSS JOIN memories AS m INDEXED BY idx_mem_collection ON m.collection = c.name WHERE m.revision > ?1
    UNION ALL SELECT hex(uuid), revision FROM deleted WHERE revision > ?1 LIMIT ?2
"""


class Changes(NamedTuple):
    """Memories that changed."""

    ids: Ids
    """Ascending, with deleted ones, but for those that another file made, and some that did not change."""
    last: int
    """The last revision of a change."""
    is_all: bool
    """Whether no more changed."""


def changes_since(snapshot: Snapshot, revision: int, limit: int = -1) -> Changes:
    """Find the memories that changed after a revision, in fewer than `limit` changes or in some of them."""
    numbers, changed_in = snapshot.columns(_CHANGED, (revision, limit), "number", "revision")
    ids = {number if isinstance(number, int) else revisions.id_in(bytes.fromhex(number)) for number in numbers}
    return Changes(np.array(sorted(ids), np.int64), max(changed_in, default=revision), len(numbers) != limit)


class Group(NamedTuple):
    """Memories that have the same attributes."""

    attributes: Attributes
    ids: Ids
    labels: Sequence[str]
    """The key of the label of each."""
    last_days: npt.NDArray[np.uint16]
    """Of each, the last lived day on which its confidence is what recall asks for by default; 0 without such a day."""


def read(snapshot: Snapshot, ids: Ids, decay: Decay) -> Iterator[Group]:
    """Yield some memories in groups."""
    last_day = decay.last_day()
    sql, arguments = _READ.format(last_day=last_day.sql, first=FIRST_DAY, greatest=MAX_DAY), last_day.arguments
    for kind, collection, is_active, frame_id, map_id, *members in snapshot.rows(sql, (*arguments, json_array(ids))):
        frame = None if frame_id is None else (frame_id, map_id)
        group_ids, labels, days = map(json.loads, members)
        attributes = Attributes(Kind(kind), collection, bool(is_active), frame)
        yield Group(attributes, np.array(group_ids, np.int64), labels, np.array(days, np.uint16))
