"""Store what is known of facts: decisions, links, groups, and what each learning contributed; find some to compare."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..clocks import iso
from ..models import Contradiction, Decision, NewMemory, Similarity
from ..new_memory import TOLD
from . import codec, lived_days, revisions
from .snapshot import Snapshot, Transaction, json_array


def set_decisions(transaction: Transaction, memory_id: int, decisions: Iterable[Decision]) -> None:
    """Replace the decisions of a memory."""
    transaction.execute("UPDATE memories SET decisions = ? WHERE id = ?", (as_json([*decisions]), memory_id))


def decisions_of(snapshot: Snapshot, memory_id: int) -> tuple[Decision, ...]:
    """Return the decisions about a memory, in the order in which they were made."""
    return decisions_in(snapshot.row("SELECT decisions FROM memories WHERE id = ?", (memory_id,))[0])


def as_json(decisions: Collection[Decision]) -> str | None:
    """Return decisions as `memories` has them."""
    return json.dumps(decisions, ensure_ascii=False) if decisions else None


def decisions_in(value: str | None) -> tuple[Decision, ...]:
    """Return the decisions that a value of `memories` holds."""
    return tuple(Decision(*decision) for decision in json.loads(value or "[]"))


def reinforce(transaction: Transaction, memory_id: int, confidence: float, observed_at: int) -> None:
    """Note that a fact was learned again: set its new confidence, and keep the later time of observation."""
    transaction.execute(
        "UPDATE memories SET confidence = ?, times_learned = times_learned + 1, updated_at = ?, "
        f"observed_at = max(observed_at, ?), {revisions.SET_REVISION} WHERE id = ?",
        (confidence, iso(time.time_ns()), observed_at, memory_id),
    )
    lived_days.renew(transaction, memory_id)


def times_learned(snapshot: Snapshot, memory_id: int) -> int:
    """Return how often a fact was learned."""
    return int(snapshot.row("SELECT times_learned FROM memories WHERE id = ?", (memory_id,))[0])


CONTRADICTION, SIMILAR = "contradiction", "similar"
"""Kinds of links between facts."""


def link_contradictions(transaction: Transaction, memory_id: int, links: Collection[tuple[int, str]]) -> None:
    """Link a fact with the facts that it contradicts, each with the reason."""
    _link(transaction, CONTRADICTION, memory_id, [(other_id, reason, None) for other_id, reason in links])


def link_similar(transaction: Transaction, memory_id: int, links: Collection[Similarity]) -> None:
    """Link a fact with similar facts."""
    _link(transaction, SIMILAR, memory_id, links)


def _link(transaction: Transaction, kind: str, memory_id: int, links: Collection[tuple[object, ...]]) -> None:
    # From both sides.
    rows = [
        (kind, *ids, *about) for other_id, *about in links for ids in ((memory_id, other_id), (other_id, memory_id))
    ]
    transaction.insert("fact_links (kind, memory_id, other_id, reason, similarity)", "(?, ?, ?, ?, ?)", rows)


def unlink(transaction: Transaction, memory_ids: Collection[int], *kinds: str) -> None:
    """Remove the links of facts of these kinds, or of both."""
    own = "kind IN (SELECT value FROM json_each(?)) AND memory_id IN (SELECT value FROM json_each(?))"
    arguments = (json.dumps(kinds or (CONTRADICTION, SIMILAR)), json_array(memory_ids))
    of_others = f"SELECT kind, other_id, memory_id FROM fact_links WHERE {own}"
    transaction.execute(f"DELETE FROM fact_links WHERE (kind, memory_id, other_id) IN ({of_others})", arguments)
    transaction.execute(f"DELETE FROM fact_links WHERE {own}", arguments)


def similar_to(snapshot: Snapshot, memory_id: int) -> tuple[Similarity, ...]:
    """Return the active facts that are linked as similar to a fact, most similar first."""
    rows = snapshot.rows(
        "SELECT o.id, s.reason, s.similarity FROM fact_links AS s JOIN memories AS o ON o.id = s.other_id "
        "WHERE s.kind = 'similar' AND s.memory_id = ? AND o.status = 'active' ORDER BY s.similarity DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Similarity(*row) for row in rows)


def contradictions_of(snapshot: Snapshot, memory_id: int) -> tuple[Contradiction, ...]:
    """Return the active facts that contradict a fact, newest first."""
    rows = snapshot.rows(
        "SELECT o.id, c.reason, o.content, (o.observed_at, o.id) > (m.observed_at, m.id) FROM fact_links AS c "
        "JOIN memories AS o ON o.id = c.other_id JOIN memories AS m ON m.id = c.memory_id "
        "WHERE c.kind = 'contradiction' AND c.memory_id = ? AND o.status = 'active' "
        "ORDER BY o.observed_at DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Contradiction(other_id, reason, content, bool(newer)) for other_id, reason, content, newer in rows)


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


def add_contribution(
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


def has_contributions(snapshot: Snapshot, memory_id: int) -> bool:
    """Return whether a fact was learned again."""
    return snapshot.row("SELECT 1 FROM contributions WHERE memory_id = ?", (memory_id,)) is not None


def contributions_of(
    snapshot: Snapshot, memory_id: int, current: NewMemory, repetition: int | None = None
) -> list[Contribution]:
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


def learned_last(snapshot: Snapshot, after: int, before: int) -> dict[int, int]:
    """Return when each fact that was learned several times was learned last in `[after, before)`, by id."""
    sql = (
        "SELECT memory_id, max(observed_at) FROM contributions WHERE observed_at >= ? AND observed_at < ? "
        "GROUP BY memory_id"
    )
    return dict(snapshot.rows(sql, (after, before)))


def superfluous_contributions(snapshot: Snapshot, memory_id: int) -> int | None:
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


def rewrite_contributions(transaction: Transaction, contributions: Sequence[Contribution]) -> None:
    """Update the method, gain and fact of contributions."""
    transaction.executemany(
        "UPDATE contributions SET method = ?, gain = ?, fact = ? WHERE id = ?",
        [(item.method, item.gain, _fact_json(item.fact), item.id) for item in contributions],
    )


def delete_contributions_of(transaction: Transaction, memory_id: int) -> None:
    """Delete the learnings of a fact; the fact itself stays as it is."""
    transaction.execute("DELETE FROM contributions WHERE memory_id = ?", (memory_id,))


def delete_contributions(transaction: Transaction, ids: Sequence[int]) -> None:
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


CANDIDATES = 64
"""Maximum number of facts to compare a fact with, by words and by meaning each."""
_PART = CANDIDATES
"""Ids that are looked up at once, since hardly any is not there."""


class Candidate(NamedTuple):
    """A fact to compare another one with."""

    id: int
    content: str
    context: str
    content_hash: str
    frame_id: str
    map_id: str
    observed_at: int


_CANDIDATE = ", ".join(f"m.{name}" for name in Candidate._fields)
_IS_FACT_OF = "m.collection = ? AND m.type = 'fact' AND m.status = 'active'"
_CHANGED = """
    SELECT m.id, m.content FROM memories AS m INDEXED BY idx_mem_revision WHERE m.revision > ? AND m.type = 'fact'
    ORDER BY m.id
"""
_AMONG = f"SELECT {_CANDIDATE} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {_IS_FACT_OF}"
_NEAR = f"""
    SELECT {_CANDIDATE}, v.embedding FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id
    CROSS JOIN vectors AS v ON v.id = mv.vector_id AND v.parts = 1 AND length(v.embedding) = ?
    WHERE {_IS_FACT_OF}
"""


def changed_facts(snapshot: Snapshot, revision: int) -> list[tuple[int, str]]:
    """Return the facts that changed after a revision, ascending by id, with their contents."""
    return snapshot.rows(_CHANGED, (revision,))


def with_digest(snapshot: Snapshot, collection: str, digest: str) -> list[Candidate]:
    """Return the active facts of a collection with this digest of their text, newest first, 64 at most."""
    rows = snapshot.rows(
        f"SELECT {_CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND {_IS_FACT_OF} ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in rows]


def first_active(snapshot: Snapshot, collection: str, ids: npt.NDArray[np.int64]) -> list[Candidate]:
    """Return the first active facts of a collection among some memories, 64 at most."""
    rows: list[Any] = []
    for start in range(0, len(ids), _PART):
        rows += snapshot.rows(_AMONG, (json_array(ids[start : start + _PART]), collection))
        if len(rows) >= CANDIDATES:
            break
    return [Candidate(*row) for row in rows[:CANDIDATES]]


def near_facts(
    snapshot: Snapshot, collection: str, ids: Iterable[int], *, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Return the similar facts among some memories, nearest first; none of more than one part, as they say more."""
    query = np.frombuffer(vector, np.float32)
    rows = snapshot.rows(_NEAR, (json_array(ids), codec.size(len(query)), collection))
    similarities = 1.0 - codec.nearest([code for *_, code in rows], query)[1]
    close = [
        (Candidate(*row), similarity)
        for (*row, _), similarity in zip(rows, similarities.tolist(), strict=True)
        if similarity >= cosine
    ]
    return sorted(close, key=lambda pair: (-pair[1], -pair[0].id))[:CANDIDATES]


_LEAVE = """
    UPDATE memories SET represented_by = NULL WHERE represented_by IS NOT NULL
    AND (id IN (SELECT value FROM json_each(?1)) OR represented_by IN (SELECT value FROM json_each(?1))) RETURNING id
"""
_REPRESENTED = """
    SELECT m.id FROM memories AS r CROSS JOIN memories AS m ON m.superseded_by = r.id
    WHERE r.id = ?1 AND r.status = 'active' AND (?2 = 'invalidated' OR r.content <> ?3)
    AND m.status = 'superseded' AND m.status_reason = 'consolidated'
"""


def leave_groups(transaction: Transaction, memory_ids: Collection[int]) -> None:
    """Remove memories from their groups, before they are deleted, and when they have another status, text or group."""
    left = transaction.execute(_LEAVE, (json_array(memory_ids),)).fetchall()
    if left:
        revisions.touch(transaction, [memory_id for (memory_id,) in left])


def represented(snapshot: Snapshot, memory_id: int, columns: Mapping[str, object]) -> list[int]:
    """Return the facts that a memory superseded when they were consolidated, if these columns change what it says."""
    status, content = columns.get("status"), columns.get("content")
    if status != "invalidated" and content is None:
        return []
    return [fact_id for (fact_id,) in snapshot.rows(_REPRESENTED, (memory_id, status, content))]
