"""The result of a recall, in full or in brief."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from html import escape
from typing import Any

from ..display import html_table, place_text, time_text
from ..errors import RobotMemoryError
from ..models import Kind, Memory, Observed, Pose
from .hits import Hit
from .snippets import snippet

_COLUMNS = [
    column
    for name in (item.name.removesuffix("_json") for item in (*fields(Memory), *fields(Hit)))
    if name != "memory"
    for column in (Pose._fields if name == "pose" else [name])
]
_TIMES = ("observed_at", "created_at", "first_seen", "last_seen")


class Mode(str, Enum):
    """What a recall really ran on."""

    HYBRID = "hybrid"
    BM25_ONLY = "bm25_only"
    VEC_ONLY = "vec_only"
    STRUCTURED = "structured"


@dataclass(frozen=True)
class BriefMemory(Observed):
    """What of a memory tells whether to read it in full."""

    id: int
    kind: Kind
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    score: float
    relevance: float
    faded: bool
    """Whether it was as sure as recall asks for by default, and is no longer."""
    snippet: str
    """The part of its content that has most to do with the query, with the words of the query marked: see `snippet`."""
    label: str
    pose: Pose | None
    frame_id: str
    distance: float
    """Metres to the target of the spatial sort; NaN without one."""
    collection: str
    folded_count: int
    """Number of older memories of the same text that it stands for."""
    robot: str = ""
    """The robot of the fleet that remembers it; empty for this one."""
    map_id: str = ""


@dataclass(frozen=True)
class RecallResult:
    """The result of one recall: hits, best first, and how they were found."""

    hits: tuple[Hit, ...]
    mode: Mode
    reason: str = ""
    """Sentences about what was missing; empty if nothing was."""
    relevant: bool = False
    """Whether a memory that was found is as relevant to the text as `min_relevance`.

    True without a text, false if nothing was found. If conditions say what, where or when, the best of what they leave
    is the result even if this is false.
    """
    words: Mapping[str, float] = field(default_factory=dict)
    """The words of the query, as they are indexed, and how rare each is."""

    def brief(self) -> tuple[BriefMemory, ...]:
        """Return of each memory what tells whether to read it in full, see `RobotMemory.get_memories`."""
        return tuple(
            BriefMemory(
                memory.id, memory.kind, memory.observed_at, hit.score, hit.relevance, memory.faded,
                snippet(memory.content, self.words), memory.label, memory.pose, memory.frame_id, hit.distance,
                memory.collection, hit.folded_count, hit.robot, memory.map_id,
            )
            for hit in self.hits
            for memory in [hit.memory]
        )  # fmt: skip

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Return the memories alone."""
        return tuple(hit.memory for hit in self.hits)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return `Hit.to_dict` of each hit.

        Raises:
            StorageError: the context of a memory is damaged.
        """
        return [hit.to_dict() for hit in self.hits]

    def to_pandas(self) -> Any:
        """Return the hits as a `pandas.DataFrame` with the fields of `Hit.to_dict`.

        Times are datetimes in UTC, and a pose has a column for each of its numbers.

        Raises:
            RobotMemoryError: pandas is not installed.
            StorageError: the context of a memory is damaged.
        """
        try:
            import pandas as pd
        except ImportError as cause:
            raise RobotMemoryError("to_pandas: pandas is not installed; run: pip install pandas") from cause
        rows = [values | (values["pose"] or {}) for values in self.to_dicts()]
        table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)  # as objects, nanoseconds stay whole
        for name in _TIMES:
            table[name] = pd.to_datetime(table[name], utc=True)
        return table.infer_objects()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    def _repr_html_(self) -> str:
        head = ("id", "text", "older of it", "place", "time", "relevance", "score")
        rows = [
            (
                memory.id, memory.content, hit.folded_count or "",
                place_text(memory.pose, memory.frame_id).removeprefix(" at "),
                time_text(memory.observed_at), f"{hit.relevance:.2f}", f"{hit.score:.2f}",
            )
            for hit in self.hits
            for memory in [hit.memory]
        ]  # fmt: skip
        return html_table(head, rows) + (f"<p>{escape(self.reason)}</p>" if self.reason else "")
