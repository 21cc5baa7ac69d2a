"""Look for memories that have faded."""

from __future__ import annotations

from ..conditions.decay import Decay
from .snapshot import Snapshot

_FADED_MEMORY = """
    SELECT 1 FROM collections AS c CROSS JOIN memories AS m INDEXED BY idx_mem_collection ON m.collection = c.name
    WHERE m.revision > ? AND m.status = 'active' AND m.type <> 'note' AND {has_faded} LIMIT 1
"""


def has_any(snapshot: Snapshot, rate: float, since: int) -> bool:
    """Tell whether a memory that changed after a revision has faded, at a rate of decay."""
    sql, arguments = Decay(rate, 0).has_faded()
    return snapshot.row(_FADED_MEMORY.format(has_faded=sql), (since, *arguments)) is not None
