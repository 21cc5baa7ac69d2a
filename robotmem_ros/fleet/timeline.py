"""List what the fleet remembers, page by page."""

from __future__ import annotations

from uuid import UUID

from ..memory.models import Memory
from ..memory.search.timeline import TimelineEntry, TimelineQuery
from ..memory.text.letters import SNIPPET, beginning
from .ask import FROM, NEWEST_FIRST, Asker, memory
from .conditions import Sql, all_of, confidence
from .connection import Connection


def timeline(connection: Connection, query: TimelineQuery, asker: Asker) -> list[tuple[TimelineEntry, bytes]]:
    """Return the entries of a page and one more, if there is one, each with its UUID.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    asker = asker.at(connection, query.conditions)
    entries: list[tuple[TimelineEntry, bytes]] = []
    candidates, behind = asker.candidates(query.conditions, include_inactive=query.include_forgotten), query.behind
    sign, order = (">", NEWEST_FIRST.replace("DESC", "ASC")) if query.oldest_first else ("<", NEWEST_FIRST)
    after = None if behind is None else (behind.observed_at, behind.memory_id, UUID(bytes=behind.uuid))
    while True:
        page = Sql(f" ORDER BY {order} LIMIT %s", (query.n + 1,))
        rest = Sql("true") if after is None else Sql(f"(m.observed_at, m.memory_id, m.uuid) {sign} (%s, %s, %s)", after)
        rows = asker.ask(
            connection,
            "SELECT m.observed_at, m.uuid, r.name, m.status, m.memory_id, m.body, m.past, ", confidence(query.decay),
            ", false", FROM, "WHERE ", all_of((candidates, rest)), page,
        )  # fmt: skip
        for observed_at, uuid, name, status, *values in rows:
            after = (observed_at, values[0], uuid)
            # A row that no robot wrote leaves its place to the next.
            if (entry := memory(*values)) is not None:
                entries.append((_entry(name, status, entry), uuid.bytes))
        if len(rows) <= query.n or len(entries) > query.n:
            return entries[: query.n + 1]


def _entry(robot: str, status: str, memory: Memory) -> TimelineEntry:
    return TimelineEntry(
        memory.id, memory.observed_at, memory.kind, memory.category, memory.label, memory.tags,
        beginning(memory.content, SNIPPET), memory.collection, memory.session_id, memory.confidence, status,
        memory.frame_id, memory.map_id, memory.pose, memory.change, robot,
    )  # fmt: skip
