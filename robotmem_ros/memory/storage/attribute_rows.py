"""Read the attributes that the conditions of nearly every query test, and find which memories changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Attributes
from ..conditions.decay import DEFAULT_CONFIDENCE
from ..models import Kind
from . import revisions
from .snapshot import Snapshot, json_array

Ids = npt.NDArray[np.int64]

_READ = f"""
    SELECT
        m.type, m.collection, m.status = 'active', m.confidence >= {DEFAULT_CONFIDENCE},
        iif(m.x IS NULL, NULL, m.frame_id), iif(m.x IS NULL, NULL, m.map_id), m.label_key, json_group_array(m.id)
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value GROUP BY 1, 2, 3, 4, 5, 6, 7
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


def read(snapshot: Snapshot, ids: Ids) -> Iterator[tuple[Attributes, str, Ids]]:
    """Yield attributes and the key of a label, each with those of some memories that have them."""
    for kind, collection, is_active, is_sure, frame_id, map_id, label, members in snapshot.rows(
        _READ, (json_array(ids),)
    ):
        frame = None if frame_id is None else (frame_id, map_id)
        attributes = Attributes(Kind(kind), collection, bool(is_active), bool(is_sure), frame)
        yield attributes, label, np.array(json.loads(members), np.int64)
