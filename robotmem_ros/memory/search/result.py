"""The result of a recall, in full or in brief."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from html import escape
from typing import Any, NamedTuple

from ..display import html_table, json_values, place_text, time_text
from ..errors import RobotMemoryError
from ..models import Kind, Memory, Observed, Pose
from ..text.letters import clusters, one_line
from ..text.time_words import TimeWords
from ..text.tokens import WrittenWord, written_words


class ScorePart(NamedTuple):
    """One step of the score of a memory."""

    name: str
    operation: str
    """`add` or `multiply`."""
    value: float
    """Addend or factor."""
    reason: str
    """In words."""
    score: float
    """After this step; it begins at 0."""


@dataclass(frozen=True)
class ScoreExplanation:
    """What the searches measured of a memory, and each step of its score."""

    bm25: float
    """0 if it contains no word of the query."""
    bm25_share: float
    """Share of the score of a memory that contains each word of the query once; may be above 1."""
    text_rank: int
    """Among what the text search found, from 1; 0 if it was not among that."""
    vector_rank: int
    """Among what the vector search found, from 1; 0 if it was not among that."""
    parts: tuple[ScorePart, ...]
    """In their order, without those that change nothing."""
    score: float
    """After all steps; that of the memory is relative to the best result."""


@dataclass(frozen=True)
class Hit:
    """A memory that a recall found, and what the recall adds to it."""

    memory: Memory
    score: float = 1.0
    """In [0, 1], relative to the best result."""
    relevance: float = 1.0
    """In [0, 1], how probable it is that its text answers the query; 1 if no text was asked for."""
    similarity: float = float("nan")
    """Cosine similarity to the query, in [-1, 1]; NaN without one, as without a vector."""
    matched_terms: tuple[str, ...] = ()
    """The words of the query that it contains, as the query spells them."""
    explanation: ScoreExplanation | None = None
    """Why it has its score, if the recall was to explain, and there is a query."""
    distance: float = float("nan")
    """Metres to the target of the spatial sort; NaN without one."""
    folded_count: int = 0
    """Number of older memories of the same text that the hit stands for."""
    folded_ids: tuple[int, ...] = ()
    """The newest of these, newest first."""
    robot: str = ""
    """The robot of the fleet that remembers it; empty for this one."""

    @property
    def id(self) -> int:
        """Return the id of the memory."""
        return self.memory.id

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the memory and those of the hit in one, as JSON can hold them.

        Raises:
            StorageError: the context of the memory is damaged.
        """
        values: dict[str, Any] = json_values(self)
        return {**values.pop("memory"), **values}

    def __repr__(self) -> str:
        folded = f", for {self.folded_count} older ones too" if self.folded_count else ""
        return f"<Hit {self.memory.summary()}, relevance {self.relevance:.2f}{folded}>"


LENGTH = 160
"""Greatest number of code points of the text in a snippet."""
MARK = "**"
_SPECIAL = re.compile(r"[\\*]")
_NEAR = 24
"""Code points that a cut may go back to end between two words."""


class _Window(NamedTuple):
    """A part of a text."""

    start: int
    end: int


def snippet(text: str, weights: Mapping[str, float], length: int = LENGTH) -> str:
    r"""Cut the part of a text that has most to do with a query, on one line, with the words of the query marked.

    A marked word stands between two `**`. What the text itself has of `*` and `\` stands behind a `\`, so that every
    `**` without one is a mark. A "…" stands where the text is cut, and a single space for all white space between two
    words. `weights` are of the words of the query, as they are indexed.
    """
    words = [word for word in written_words(text) if word.word in weights]
    window = _Window(0, len(text)) if len(text) <= length else _best(text, words, weights, length)
    pieces, at = [], window.start
    for first, last in _spans(words):
        start, end = max(first, at), min(last, window.end)
        if start < end:
            pieces += [_escape(text[at:start]), MARK, _escape(text[start:end]), MARK]
            at = end
    pieces.append(_escape(text[at : window.end]))
    line = one_line("".join(pieces)).strip()
    return f"{'…' if window.start else ''}{line}{'…' if window.end < len(text) else ''}"


def _best(text: str, words: Sequence[WrittenWord], weights: Mapping[str, float], length: int) -> _Window:
    # The window from a word on whose different words weigh most together, and of these the first one.
    best, last_of_best, max_weight = 0, 0, 0.0
    for index, first in enumerate(words):
        inside = [word for word in words[index : index + length] if word.end <= first.start + length]
        weight = sum(weights[word] for word in {written_word.word for written_word in inside})
        if weight > max_weight:
            max_weight, best, last_of_best = weight, first.start, max(word.end for word in inside)
    # The rest of the length shows the text before and behind the core.
    start = max(0, min(best - (length - (last_of_best - best)) // 2, len(text) - length))
    return _between_words(text, _Window(start, min(start + length, len(text))), _Window(best, last_of_best))


def _between_words(text: str, window: _Window, core: _Window) -> _Window:
    whole = [0, *(end for _, end in clusters(text))]
    start, end = window
    if start:
        start = min((position for position in whole if position >= start), default=start)
        near = re.compile(r"\s").search(text, start, min(start + _NEAR, core.start))
        start = near.end() if near else start
    if end < len(text):
        end = max((position for position in whole if start < position <= end), default=end)
        spaces = [match.start() for match in re.compile(r"\s").finditer(text, max(end - _NEAR, core.end), end)]
        end = spaces[-1] if spaces and not text[end].isspace() else end
    return _Window(start, end)


def _spans(words: Sequence[WrittenWord]) -> list[tuple[int, int]]:
    # Pairs of characters overlap; what touches is marked as one.
    spans: list[tuple[int, int]] = []
    for start, end in sorted((word.start, word.end) for word in words):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


_COLUMNS = [
    column
    for name in (item.name.removesuffix("_json") for item in (*fields(Memory), *fields(Hit)))
    if name != "memory"
    for column in (Pose._fields if name == "pose" else [name])
]
_TIMES = ("observed_at", "created_at", "first_seen", "last_seen", "first_absent")


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
    """Sentences about what was missing, and how the request was read; empty if there is nothing to tell."""
    relevant: bool = False
    """Whether a memory that was found is as relevant to the text as `min_relevance`.

    True without a text, false if nothing was found. If conditions say what, where or when, the best of what they leave
    is the result even if this is false.
    """
    words: Mapping[str, float] = field(default_factory=dict)
    """The words of the query, as they are indexed, and how rare each is."""
    time_words: TimeWords | None = None
    """The words of the query that told the window, and its ends; None if none did, as in a result of the fleet."""

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
