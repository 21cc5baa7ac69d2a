"""Views of the values of a memory for agents: short, without what is empty, times with their zone and how long ago."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..memory import Hit, Kind, Memory, Pose
from ..memory.models import Change, SeenObject, Session, Sighting
from ..memory.search.details import MemoryDetails
from ..memory.search.result import BriefMemory
from ..memory.search.timeline import TimelineEntry
from ..memory.status import Status
from ..memory.times import ago, iso

Shown = dict[str, Any]
"""Values that JSON can hold."""


_RENAMED = {
    "id", "kind", "content", "human_summary", "observed_at", "created_at", "confidence", "faded", "tags", "pose",
    "frame_id", "map_id", "context_json", "source", "scope_files", "scope_entities", "similar_ids", "first_seen",
    "last_seen", "confirmed", "position_covariance", "size", "first_absent",
    "moved_from",
}  # fmt: skip
_AS_THEY_ARE = tuple(field.name for field in fields(Memory) if field.name not in _RENAMED)
"""Fields of a memory that are shown under their own names, so that a new one is shown as well."""
_PARTS = ("params", "spatial", "robot", "task")
"""Parts of a context that are shown beside it, as filters name them."""
_SHORT = 500
"""Characters of a part up to which it is shown in brief."""


@dataclass(frozen=True)
class View:
    """Show values as they are seen at one time."""

    now: int
    """Time by the robot's clock, in nanoseconds."""
    memory_frame: str

    def at(self, time_ns: int) -> Shown:
        """Show a time."""
        return {"at": iso(time_ns), "ago": ago(time_ns, self.now)}

    def as_text(self, time_ns: int) -> str:
        """Show a time in one text."""
        return f"{iso(time_ns)} ({ago(time_ns, self.now)})"

    def place(self, pose: Pose | tuple[float, ...] | None, frame_id: str) -> Shown:
        """Show a position in metres, and its frame if that is not the memory frame."""
        if pose is None:
            return {}
        frame = {} if frame_id == self.memory_frame else {"frame_id": frame_id}
        return {"position": [rounded(number) for number in pose[:3]], **frame}

    def brief(self, short: BriefMemory, hit: Hit) -> Shown:
        """Show what of a recalled memory tells whether to read it in full."""
        memory = hit.memory
        return filled({
            "id": short.id, "kind": short.kind.value, "text": short.snippet, **self.at(short.observed_at),
            "relevance": rounded(short.relevance), "confidence": rounded(memory.confidence),
            "faded": short.faded or None, "label": short.label,
            "category": memory.category, "source": memory.source, "note": note_lines(memory),
            **parts(memory.context, limit=_SHORT), **self.place(short.pose, short.frame_id),
            "size": lengths(memory.size), "distance": rounded(short.distance), "times_seen": memory.times_seen,
            "presence": rounded(memory.presence),
            "change": memory.change, "moved_from": [rounded(number) for number in (memory.moved_from or ())[:3]],
            "contradicted_by": memory.contradicted_by, "session_id": memory.session_id,
            "similar_ids": list(memory.similar_ids), "folded_count": hit.folded_count, "fleet_robot": hit.robot,
        })  # fmt: skip

    def entry(self, entry: TimelineEntry) -> Shown:
        """Show an entry of a timeline."""
        return filled({
            "id": entry.id, "kind": entry.kind.value, "text": entry.snippet, **self.at(entry.observed_at),
            "label": entry.label, "category": entry.category, **self.place(entry.pose, entry.frame_id),
            "change": entry.change, "session_id": entry.session_id,
            "status": "" if entry.status == "active" else entry.status, "fleet_robot": entry.robot,
        })  # fmt: skip

    def details(self, details: MemoryDetails, newest: int) -> Shown:
        """Show a memory in full, with its newest sightings and changes."""
        memory = details.memory
        data = details.data
        return filled({
            "id": memory.id, "kind": memory.kind.value, "text": memory.content, "summary": memory.human_summary,
            **self.at(memory.observed_at), "confidence": rounded(memory.confidence), "faded": memory.faded or None,
            "tags": list(memory.tags),
            **self.place(memory.pose, memory.frame_id), "size": lengths(memory.size), **parts(memory.context),
            "context": {name: value for name, value in memory.context.items() if name not in _PARTS},
            "source": memory.source, "scope_files": [*memory.scope_files],
            "scope_entities": [*memory.scope_entities], "similar_ids": list(memory.similar_ids),
            **{name: getattr(memory, name) for name in _AS_THEY_ARE},
            "first_seen": "" if memory.first_seen is None else self.as_text(memory.first_seen),
            "confirmed": memory.confirmed if memory.times_seen else None, "presence": rounded(memory.presence),
            "moved_from": [rounded(number) for number in (memory.moved_from or ())[:3]],
            "first_absent": "" if memory.first_absent is None else self.as_text(memory.first_absent),
            "status": "" if details.status == "active" else details.status, "status_reason": details.status_reason,
            "changes": [self.change(change) for change in details.history[:newest]],
            "sightings": [self.sighting(sighting) for sighting in details.sightings[:newest]],
            "data": None if data is None else {"bytes": len(data.data), "format": data.data_format},
        })  # fmt: skip

    def change(self, change: Change) -> Shown:
        """Show a change of a memory."""
        return filled({"at": change.changed_at, "change": change.change, "reason": change.reason, "was": change.before})

    def sighting(self, sighting: Sighting) -> Shown:
        """Show a sighting of an object."""
        return {
            **self.at(sighting.observed_at), "position": [rounded(number) for number in sighting.position],
            "label": sighting.label, "confidence": rounded(sighting.confidence),
        }  # fmt: skip

    def object(self, hit: Hit) -> Shown:
        """Show an object that a recall memory."""
        memory = hit.memory
        last = {name: self.as_text(time) for name, time in (("last_seen", memory.last_seen),) if time is not None}
        return filled({
            "id": memory.id, "label": memory.label, "text": memory.content, **self.place(memory.pose, memory.frame_id),
            "size": lengths(memory.size), "distance": rounded(hit.distance), **last, "times_seen": memory.times_seen,
            "confidence": rounded(memory.confidence), "faded": memory.faded or None, "confirmed": memory.confirmed,
        })  # fmt: skip

    def seen_object(self, item: SeenObject) -> Shown:
        """Show an object of the list of all."""
        return filled({
            "id": item.memory_id, "label": item.label, **self.place(item.position, item.frame_id),
            "size": lengths(item.size),
            "last_seen": self.as_text(item.last_seen), "times_seen": item.times_seen,
            "confidence": rounded(item.confidence), "confirmed": item.confirmed,
            "uncertainty": rounded(item.uncertainty),
        })  # fmt: skip

    def session(self, session: Session) -> Shown:
        """Show an episode."""
        return filled({
            "session_id": session.session_id, "collection": session.collection, "context": session.context,
            "started": self.as_text(session.started_at),
            "ended": "" if session.ended_at is None else self.as_text(session.ended_at), "end": session.end_reason,
            "outcome": session.outcome, "memories": session.memories,
        })  # fmt: skip

    def status(self, status: Status) -> Shown:
        """Show what a memory holds."""
        return {
            "facts": status.facts, "perceptions": status.perceptions, "notes": status.notes,
            "removed_by_retention": status.removed, "search": status.mode.value,
            "pending_vectors": status.pending_vectors, "file": status.db_path, "bytes": status.db_bytes,
            **filled({"missing": status.reason, "intake": status.intake.trouble, "model": status.embedding_model}),
        }  # fmt: skip


def parts(context: Mapping[str, Any], limit: float = math.inf) -> Shown:
    """Show the parts of a context that have a meaning for all robots, without those of more characters than `limit`."""
    values = {name: context[name] for name in _PARTS if name in context}
    return {name: value for name, value in values.items() if len(json.dumps(value)) <= limit}


def note_lines(memory: Memory) -> str:
    """Say where a note stands, such as `handbook/battery.md:12-20`; empty for what is no note."""
    note = memory.context.get("note") if memory.kind is Kind.NOTE else None
    return f"{note['path']}:{note['first_line']}-{note['last_line']}" if isinstance(note, dict) else ""


def rounded(number: float | None) -> float | None:
    """Return a number to three places; None for NaN."""
    return None if number is None or math.isnan(number) else round(number, 3)


def lengths(numbers: tuple[float, ...] | None) -> list[float | None]:
    """Return lengths in metres to the millimetre; none without any."""
    return [rounded(number) for number in numbers or ()]


def filled(values: Mapping[str, Any]) -> Shown:
    """Return the values without those that are empty, zero counts included; numbers with a point stay."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value not in ("", [], {}) and not (value == 0 and type(value) is int)
    }
