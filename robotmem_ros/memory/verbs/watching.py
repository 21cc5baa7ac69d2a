"""Follow what satisfies some conditions: the events of what comes to do so, changes, and no longer does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..conditions.attributes import with_parents
from ..conditions.condition import And, Row
from ..errors import InvalidFieldError
from ..models import EventKind, Kind, Match, MatchChange, Memory
from ..search.query import Reader
from ..search.reasons import check_names
from ..storage import event_rows, rows, tag_rows
from ..storage.event_rows import FORGOTTEN, THERE, Told
from ..storage.snapshot import Snapshot
from ..table.view import View, select
from ..validation import whole
from .access import Access
from .requests import WatchRequest

_PAGE = 1000


@dataclass
class _Followed:
    """Up to where events were looked at, and what satisfied the conditions then."""

    cursor: int
    ids: set[int]


class Watch:
    """Gives what became of what satisfies some conditions, each event once and in order. For one thread.

    Args:
        access: The access to the memory.
        request: The conditions, and the event to begin after.

    Raises:
        InvalidFieldError: a field cannot be used, or the file has no event `after`, as one that was restored.
        FrameMismatchError: a position is in a frame that cannot be compared.
    """

    def __init__(self, access: Access, request: WatchRequest) -> None:
        self._access = access
        areas, places = access.parts.areas.by_name, access.parts.places
        self._conditions = Reader.of(request, access.parameters(), access.decay(), areas, places).conditions()
        self._condition = And(self._conditions)
        self._is_resumed = request.after is not None
        self._followed = access.ask(self._begin, request.after)

    @property
    def cursor(self) -> int:
        """Return the number of the last event that was looked at."""
        return self._followed.cursor

    def next(self, n: int) -> tuple[Match, ...]:
        """Look at the next `n` events, and return those that match; there are no more once the cursor stays."""
        return self._access.read(self._next, n)

    def _begin(self, view: View, after: int | None) -> _Followed:
        check_names(view, self._conditions)
        snapshot = view.snapshot
        latest = event_rows.last(snapshot)
        cursor = latest if after is None else whole("after", after)
        if not 0 <= cursor <= latest:
            raise InvalidFieldError("after", after, f"must lie in 0 to {latest}, the last event of this file")
        has_events = (view.confirmed >= 0) | view.name("kind").one_of([Kind.FACT])
        now: set[int] = set(view.ids[select(view, self._conditions) & has_events].tolist())
        return _Followed(cursor, self._as_of(snapshot, cursor, now))

    def _as_of(self, snapshot: Snapshot, cursor: int, now: set[int]) -> set[int]:
        """Return what satisfied the conditions at an event, by what does now and what was told since."""
        at, before = cursor, dict[int, Told | None]()
        while steps := event_rows.told(snapshot, at, _PAGE):
            for step in steps:
                before.setdefault(step.memory_id, step.before)
            at = steps[-1].sequence
        known = {memory_id: told for memory_id, told in before.items() if told is not None}
        memories = self._memories(snapshot, [*known])
        return (now - before.keys()) | {
            memory_id for memory_id, memory in memories.items() if self._holds(snapshot, memory, known[memory_id])
        }

    def _next(self, snapshot: Snapshot, n: int) -> tuple[Match, ...]:
        cursor, ids = self._followed.cursor, set(self._followed.ids)
        steps, found = event_rows.told(snapshot, cursor, n), list[Match]()
        memories = self._memories(snapshot, [step.memory_id for step in steps])
        for step, event in zip(steps, event_rows.since(snapshot, cursor, n), strict=True):
            cursor, memory = step.sequence, memories.get(step.memory_id)
            was, is_now = step.memory_id in ids, False
            if memory is not None:
                is_now = self._holds(snapshot, memory, step.after)
            elif self._is_resumed and event.kind is EventKind.FORGOTTEN:
                was = True  # nothing is left that says what it was
            if was or is_now:
                change = MatchChange.CHANGED if was and is_now else MatchChange.CAME if is_now else MatchChange.WENT
                found.append(Match(change, event))
            (ids.add if is_now else ids.discard)(step.memory_id)
        self._followed = _Followed(cursor, ids)
        return tuple(found)

    def _memories(self, snapshot: Snapshot, memory_ids: Sequence[int]) -> Mapping[int, Memory]:
        return rows.read(snapshot, memory_ids, self._access.decay(), include_inactive=True)

    def _holds(self, snapshot: Snapshot, memory: Memory, told: Told) -> bool:
        return told.state != FORGOTTEN and self._condition.matches(_row(snapshot, memory, told))


def _row(snapshot: Snapshot, memory: Memory, told: Told) -> Row:
    """Return a memory as an event left it; what events do not tell is as it is now."""
    pose, parents = told.pose or memory.pose, snapshot.read_once(tag_rows.parents)
    confidence = memory.confidence if told.presence is None else told.presence
    return Row(
        id=memory.id, kind=memory.kind, collection=memory.collection, observed_at=told.observed_at,
        frame_id=memory.frame_id, map_id=memory.map_id, context=memory.context, confidence=confidence,
        stored_confidence=confidence, position=pose and pose[:3], size=memory.size, content=memory.content,
        human_summary=memory.human_summary, perception_type=memory.perception_type, label=told.label or memory.label,
        category=memory.category, session_id=memory.session_id,
        tags=(*with_parents(memory.tags, {tag: parent for tag, parent in parents.items() if parent}),),
        source=memory.source, scope_files=memory.scope_files, scope_entities=memory.scope_entities,
        times_seen=memory.times_seen or None, confirmed=None if memory.kind is Kind.FACT else told.state == THERE,
    )  # fmt: skip
