"""Store the contribution of each learning of a fact, so that a single learning can be removed or corrected."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ..clocks import iso
from ..models import Decision, NewMemory
from ..new_memory import TOLD
from .snapshot import Snapshot, Transaction

FIRST = "first"
"""Method of the first learning."""
_MAX_REPETITIONS = 100
_FIELDS = (*TOLD, "given", "decisions")
_UNKNOWN = {field.name: field.default for field in fields(NewMemory) if field.name in _FIELDS} | {"confidence": 0.0}


@dataclass(frozen=True)
class Contribution:
    """One learning of a fact."""

    id: int
    learned_at: str
    """ISO 8601 in UTC, by the wall clock."""
    method: str
    """Comparison that found the repetition: `exact`, `jaccard` or `cosine`; `first` for the first learning."""
    similarity: float
    gain: float
    """Share of the missing confidence that is added, times the confidence of this learning."""
    fact: NewMemory
    """The fact as it was learned: text, session, time, and values of the caller and of rules."""


def add(
    transaction: Transaction,
    memory_id: int,
    fact: NewMemory,
    *,
    method: str,
    similarity: float,
    gain: float,
    adds: bool,
) -> None:
    """Store a learning of a fact; `adds` says whether it changed the fact."""
    transaction.execute(
        "INSERT INTO contributions (memory_id, learned_at, session_id, observed_at, method, similarity, gain, adds, "
        "fact) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_id, iso(time.time_ns()), fact.session_id, fact.observed_at, method, similarity, gain, adds,
            _fact_json(fact),
        ),
    )  # fmt: skip


def has(snapshot: Snapshot, memory_id: int) -> bool:
    """Return whether a fact was learned again."""
    return snapshot.row("SELECT 1 FROM contributions WHERE memory_id = ?", (memory_id,)) is not None


def of(snapshot: Snapshot, memory_id: int, current: NewMemory, repetition: int | None = None) -> list[Contribution]:
    """Return the learnings of a fact, or the first one and one repetition, oldest first.

    Empty for a fact that was learned once. Fields that all learnings share, such as the frame, are those of `current`.
    """
    rows = snapshot.rows(
        "SELECT id, learned_at, session_id, observed_at, method, similarity, gain, fact FROM contributions "
        "WHERE memory_id = ?1 AND (?2 IS NULL OR id = ?2 OR method = 'first') ORDER BY method <> 'first', id",
        (memory_id, repetition),
    )
    return [
        Contribution(key, learned_at, method, similarity, gain, _read(current, session, observed_at, fact))
        for key, learned_at, session, observed_at, method, similarity, gain, fact in rows
    ]


def superfluous(snapshot: Snapshot, memory_id: int) -> int | None:
    """Return the repetition to drop if there are more than a hundred: the earliest that added nothing."""
    (count,) = snapshot.row("SELECT count(*) FROM contributions WHERE memory_id = ?", (memory_id,))
    if count <= _MAX_REPETITIONS + 1:
        return None
    row = snapshot.row(
        "SELECT id FROM contributions WHERE memory_id = ? AND method <> 'first' AND NOT adds "
        "ORDER BY observed_at, id LIMIT 1",
        (memory_id,),
    )
    return None if row is None else int(row[0])


def rewrite(transaction: Transaction, contributions: Sequence[Contribution]) -> None:
    """Update the method, gain and fact of contributions."""
    transaction.executemany(
        "UPDATE contributions SET method = ?, gain = ?, fact = ? WHERE id = ?",
        [(item.method, item.gain, _fact_json(item.fact), item.id) for item in contributions],
    )


def delete_of(transaction: Transaction, memory_id: int) -> None:
    """Delete the learnings of a fact; the fact itself stays as it is."""
    transaction.execute("DELETE FROM contributions WHERE memory_id = ?", (memory_id,))


def delete(transaction: Transaction, ids: Sequence[int]) -> None:
    """Delete contributions."""
    transaction.executemany("DELETE FROM contributions WHERE id = ?", [(key,) for key in ids])


def _fact_json(fact: NewMemory) -> str:
    values = {name: getattr(fact, name) for name in _FIELDS}
    return json.dumps({**values, "given": sorted(fact.given)}, ensure_ascii=False)


def _read(current: NewMemory, session_id: str, observed_at: int, fact_json: str) -> NewMemory:
    values: dict[str, Any] = {**_UNKNOWN, **json.loads(fact_json)}
    values["tags"] = tuple(values["tags"])
    values["given"] = frozenset(values["given"])
    values["decisions"] = tuple(Decision(*decision) for decision in values["decisions"])
    return replace(current, session_id=session_id, observed_at=observed_at, **values)
