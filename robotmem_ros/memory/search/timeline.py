"""Timelines: pages of memories by the time of their observation.

A page goes on behind the last entry of the page before, by time and id. So what is stored, forgotten or deleted between
two pages moves nothing else: what is there throughout, and is not observed again, is on exactly one page.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .. import validation
from ..areas import Area
from ..conditions.attributes import Collections
from ..conditions.condition import Condition
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Kind, Memory, Observed, Pose
from ..storage.rows import timeline_entries
from ..table.column import Mask
from ..table.past import as_then, view_of
from ..table.view import Chosen, View, in_order, select
from ..text.letters import SNIPPET, beginning
from .query import Reader, including
from .reasons import check_names, unknown
from .request import MAX_ENTRIES, TimelineRequest

DEFAULT_N = 50
_READ = SNIPPET + 100
_MAX_NAMES = 3
"""Unknown names that are told at most."""
_CURSOR = struct.Struct(">?qq16s")
_CHECK = struct.Struct(">I")


@dataclass(frozen=True)
class TimelineEntry(Observed):
    """What of a memory tells whether to read it in full."""

    id: int
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock; of an object, of its last sighting."""
    kind: Kind
    category: str
    label: str
    tags: tuple[str, ...]
    snippet: str
    """The first 100 characters of its content on one line, and "…" if there are more."""
    collection: str
    session_id: str
    confidence: float
    """Confidence now, decayed."""
    status: str
    """`active`, `superseded` or `invalidated`."""
    frame_id: str
    map_id: str
    pose: Pose | None
    change: str = ""
    """What became of an object: `appeared`, `left` or `moved`, if the timeline was asked what changed; else empty."""
    robot: str = ""
    """The robot of the fleet that remembers it; empty for this one."""


@dataclass(frozen=True)
class Timeline:
    """One page of a timeline: its entries, in their order."""

    entries: tuple[TimelineEntry, ...]
    cursor: str
    """Where the next page begins; empty if there is none."""
    reason: str = ""
    """Names in the conditions that no memory has, if there are no entries; or why the fleet did not answer."""

    def __iter__(self) -> Iterator[TimelineEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class Position(NamedTuple):
    """A place in a timeline: behind a memory."""

    oldest_first: bool
    observed_at: int
    memory_id: int
    uuid: bytes = bytes(16)
    """UUID of another robot's memory, which may have the same time and id; zeros for one of the own file."""

    def cursor(self) -> str:
        """Write it as a text that only `parse_cursor` reads."""
        data = _CURSOR.pack(*self)
        return base64.urlsafe_b64encode(data + _CHECK.pack(zlib.crc32(data))).decode("ascii")

    def mask(self, view: View) -> Mask:
        """Tell which rows stand behind it. Of the same time and id, that of the own file has the least UUID, zeros."""
        times, ids = view.observed_at, view.ids
        is_behind = any(self.uuid) and not self.oldest_first
        later = ids > self.memory_id if self.oldest_first else ids < self.memory_id + is_behind
        beyond = times > self.observed_at if self.oldest_first else times < self.observed_at
        return np.asarray(beyond | ((times == self.observed_at) & later))


@dataclass(frozen=True)
class TimelineQuery:
    """A validated request for a page."""

    n: int
    oldest_first: bool
    behind: Position | None
    """None for the first page."""
    conditions: tuple[Condition, ...]
    include_forgotten: bool
    decay: Decay


def parse_timeline(
    parameters: Parameters, request: TimelineRequest, *, decay: Decay, areas: Callable[[], Mapping[str, Area]]
) -> TimelineQuery:
    """Check all fields; `n` is cut to 1..1000 and 0 means 50.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    n = validation.whole("n", request.n)
    oldest_first = validation.flag("oldest_first", request.oldest_first)
    reader = Reader.of(request, parameters, decay, areas)
    return TimelineQuery(
        n=DEFAULT_N if n == 0 else min(max(n, 1), MAX_ENTRIES),
        oldest_first=oldest_first,
        behind=parse_cursor(request.cursor, oldest_first=oldest_first),
        conditions=reader.conditions(),
        include_forgotten=validation.flag("include_forgotten", request.include_forgotten),
        decay=reader.decay,
    )


def parse_cursor(cursor: object, *, oldest_first: bool) -> Position | None:
    """Read a cursor; None if it is empty.

    Raises:
        InvalidFieldError: it is no cursor, or that of a timeline in the other order.
    """
    text = validation.name("cursor", cursor)
    if not text:
        return None
    position = _unpack(text)
    if position is None:
        raise InvalidFieldError("cursor", cursor, "is no cursor of a timeline; leave it out to begin anew")
    if position.oldest_first != oldest_first:
        order = "oldest" if position.oldest_first else "newest"
        raise InvalidFieldError("cursor", cursor, f"belongs to a timeline with the {order} first")
    return position


def _unpack(text: str) -> Position | None:
    try:
        data = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
    except ValueError:
        return None
    body, check = data[: _CURSOR.size], data[_CURSOR.size :]
    return Position(*_CURSOR.unpack(body)) if check == _CHECK.pack(zlib.crc32(body)) else None


def read_timeline(view: View, query: TimelineQuery) -> Timeline:
    """Read one page.

    Raises:
        InvalidFieldError: a condition cannot be met in this database.
    """
    conditions = including(query.conditions, view.others)
    view = view_of(view, conditions)
    check_names(view, conditions)
    mask = select(view, conditions, include_inactive=query.include_forgotten)
    if query.behind is not None:
        mask &= query.behind.mask(view)
    chosen = Chosen(view, mask)
    first = islice(in_order(chosen, query.n, oldest_first=query.oldest_first), query.n)
    ids: list[int] = view.ids[[*first]].tolist()
    read = map(_entry, timeline_entries(view.snapshot, ids, query.decay, length=_READ))
    entries = tuple(as_then(view, read, query.decay))
    reason = "" if entries or query.behind else "; ".join(islice(_unknown(view, query), _MAX_NAMES))
    return Timeline(entries, "" if chosen.count <= query.n else _behind(entries[-1], query), reason)


def _unknown(view: View, query: TimelineQuery) -> Iterator[str]:
    collections = (condition for condition in query.conditions if isinstance(condition, Collections))
    return unknown(view, query.conditions, next(collections, Collections((), suffices=True)))


def _behind(last: TimelineEntry, query: TimelineQuery) -> str:
    return Position(query.oldest_first, last.observed_at, last.id).cursor()


def entry_of(memory: Memory) -> TimelineEntry:
    """Return an active memory, such as a recall finds, as an entry."""
    return TimelineEntry(
        memory.id, memory.observed_at, memory.kind, memory.category, memory.label, memory.tags,
        beginning(memory.content, SNIPPET), memory.collection, memory.session_id, memory.confidence, "active",
        memory.frame_id, memory.map_id, memory.pose,
    )  # fmt: skip


def _entry(row: tuple[Any, ...]) -> TimelineEntry:
    memory_id, observed_at, kind, category, label, tag_sources, content, *values = row
    tags = tuple(sorted(json.loads(tag_sources)))
    collection, session_id, confidence, status, frame_id, map_id, *pose = values
    return TimelineEntry(
        memory_id, observed_at, Kind(kind), category, label, tags, beginning(content, SNIPPET),
        collection, session_id, confidence, status, frame_id, map_id, None if pose[0] is None else Pose(*pose),
    )  # fmt: skip
