"""Views of the values of a memory for agents: short, without what is empty, times with their zone and how long ago."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..memory import Hit, Kind, Memory
from ..memory.display import is_time, json_values
from ..memory.models import SeenObject
from ..memory.search.details import MemoryDetails
from ..memory.search.result import BriefMemory
from ..memory.status import Status
from ..memory.times import ago, iso

Shown = dict[str, Any]
"""Values that JSON can hold."""


NAMES = {
    "content": "text", "snippet": "text", "human_summary": "summary", "lines": "of_lines", "robot": "fleet_robot",
    "started_at": "started", "ended_at": "ended", "end_reason": "end", "changed_at": "at", "before": "was",
}  # fmt: skip
"""Names under which fields are shown, if not their own; a new one is shown as well."""
_UNSHOWN = {"created_at", "map_id", "position_covariance", "orientation", "expires_at", "subsampled"}
_OF_AN_OBJECT = (
    "id", "label", "text", "position", "frame_id", "size", "distance", "last_seen", "times_seen", "confidence", "faded",
    "confirmed",
)  # fmt: skip
_PARTS = ("params", "spatial", "robot", "task")
"""Parts of a context that are shown beside it, as filters name them."""
_PLACE = ("position", "frame_id", "size", "presence", "moved_from")
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

    def record(self, value: object) -> Shown:
        """Show a value by its fields, without those that are empty."""
        shown: Shown = {}
        usual = {"frame_id": self.memory_frame, "status": "active"}
        for name, entry in json_values(value).items():
            if name == "observed_at":
                shown |= self.at(entry)
            elif is_time(name) and isinstance(entry, int):
                shown[NAMES.get(name, name)] = self.as_text(entry)
            elif name not in _UNSHOWN and entry != usual.get(name):
                shown["position" if name == "pose" else NAMES.get(name, name)] = self.plain(entry)
        return filled(shown)

    def plain(self, value: Any) -> Any:
        """Show a part of a value: numbers to three places, a pose or a size as three of them, and lists of records."""
        if isinstance(value, float):
            return rounded(value)
        if isinstance(value, Mapping) and [*value][:3] == ["x", "y", "z"]:
            return [rounded(number) for number in [*value.values()][:3]]
        if isinstance(value, list):
            return [self.record(part) if isinstance(part, Mapping) else self.plain(part) for part in value]
        return value

    def memory(self, memory: Memory) -> Shown:
        """Show a memory, with the parts of its context that filters name beside it."""
        context = {name: value for name, value in memory.context.items() if name not in _PARTS}
        confirmed, faded = memory.confirmed if memory.times_seen else None, memory.faded or None
        shown = {**self.record(memory), **parts(memory.context), "context": context}
        return filled({**shown, "confirmed": confirmed, "faded": faded})

    def brief(self, short: BriefMemory, hit: Hit) -> Shown:
        """Show what of a recalled memory tells whether to read it in full."""
        memory, shown = hit.memory, self.memory(hit.memory)
        return filled({
            "id": short.id, "kind": short.kind.value, "text": short.snippet, **self.at(short.observed_at),
            "relevance": rounded(short.relevance), "confidence": rounded(memory.confidence),
            "faded": short.faded or None, "label": short.label,
            "category": memory.category, "source": memory.source, "note": note_lines(memory),
            **parts(memory.context, limit=_SHORT), **{name: shown.get(name) for name in _PLACE},
            "distance": rounded(short.distance), "times_seen": memory.times_seen, "change": memory.change,
            "contradicted_by": memory.contradicted_by, "session_id": memory.session_id,
            "similar_ids": list(memory.similar_ids), "folded_count": hit.folded_count, "fleet_robot": hit.robot,
        })  # fmt: skip

    def details(self, details: MemoryDetails, newest: int) -> Shown:
        """Show a memory in full, with its newest sightings and changes."""
        data, status = details.data, "" if details.status == "active" else details.status
        return filled({
            **self.memory(details.memory), "status": status, "status_reason": details.status_reason,
            "changes": [self.record(change) for change in details.history[:newest]],
            "sightings": [self.record(sighting) for sighting in details.sightings[:newest]],
            "data": None if data is None else {"bytes": len(data.data), "format": data.data_format},
        })  # fmt: skip

    def object(self, hit: Hit) -> Shown:
        """Show an object that was recalled."""
        shown = {**self.memory(hit.memory), "distance": rounded(hit.distance)}
        return filled({name: shown.get(name) for name in _OF_AN_OBJECT})

    def seen_object(self, item: SeenObject) -> Shown:
        """Show an object of the list of all."""
        return {"id": item.memory_id, **self.record(item)}

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


def filled(values: Mapping[str, Any]) -> Shown:
    """Return the values without those that are empty, zero counts included; numbers with a point stay."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value not in ("", [], {}) and not (value == 0 and type(value) is int)
    }
