"""List what the fleet remembers, page by page."""

from __future__ import annotations

from uuid import UUID

from ..memory.models import Memory
from ..memory.search.timeline import SNIPPET, TimelineEntry, TimelineQuery
from ..memory.text.graphemes import beginning
from .ask import FROM, NEWEST_FIRST, Asker, ask, memory
from .conditions import Sql, all_of, confidence
from .connection import Connection


def timeline(connection: Connection, query: TimelineQuery, asker: Asker) -> list[tuple[TimelineEntry, bytes]]:
    """Return the entries of a page and one more, if there is one, each with its UUID.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    where = asker.candidates(query.conditions, include_inactive=query.include_forgotten)
    if (behind := query.behind) is not None:
        sign = ">" if query.oldest_first else "<"
        values = (behind.observed_at, behind.memory_id, UUID(bytes=behind.uuid))
        where = all_of((where, Sql(f"(m.observed_at, m.memory_id, m.uuid) {sign} (%s, %s, %s)", values)))
    order = NEWEST_FIRST.replace("DESC", "ASC") if query.oldest_first else NEWEST_FIRST
    rows = ask(
        connection,
        "SELECT m.uuid, r.name, m.status, m.memory_id, m.body, ", confidence(query.decay), ", false", FROM,
        "WHERE ", where, Sql(f" ORDER BY {order} LIMIT %s", (query.n + 1,)),
    )  # fmt: skip
    return [(_entry(name, status, memory(*values)), uuid.bytes) for uuid, name, status, *values in rows]


def _entry(robot: str, status: str, memory: Memory) -> TimelineEntry:
    return TimelineEntry(
        memory.id, memory.observed_at, memory.kind, memory.category, memory.label, memory.tags,
        beginning(memory.content, SNIPPET), memory.collection, memory.session_id, memory.confidence, status,
        memory.frame_id, memory.map_id, memory.pose, robot,
    )  # fmt: skip
