"""Store a prepared fact, or reinforce the fact that it repeats.

A fact repeats another one if it has the same text, see `text/normal_form.py`. A fact that is only similar is stored and
linked, because no measure of similarity tells what a difference means. All of it happens in one transaction of the one
writer, so that two callers that learn the same fact at once store it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..config.parameters import Parameters
from ..models import NewMemory, Similarity, Stored
from ..storage import fact_rows, rows, vector_rows
from ..storage.fact_index import Candidate
from ..text.statement import Statement, statement
from .candidates import Compared, Neighbours, candidates_of, similar_among
from .comparison import can_merge, comparable, contradiction, outcome
from .repetition import repeat


@dataclass(frozen=True)
class Learned(Stored):
    """The result of learning a fact."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 0.0
    """As it is stored now, in [0, 1]."""
    method: str = ""
    """Method that found the fact it repeats, or the most similar one: `exact`, `jaccard` or `cosine`."""
    similarity: float = 0.0
    """Similarity by that method, in [0, 1]."""
    similar_ids: tuple[int, ...] = ()
    """The similar facts of another text, most similar first. Each fact stays as it is."""
    contradicts: tuple[int, ...] = ()
    """The facts that it contradicts."""
    reason: str = ""
    """Why meanings were not compared, such as a missing model; empty if they were."""

    @property
    def status(self) -> str:
        """`stored`; `similar`, stored and linked with `similar_ids`; or `duplicate`, which reinforced this fact."""
        if not self.is_new:
            return "duplicate"
        return "similar" if self.similar_ids else "stored"


EQUAL, SEED, OFF = "equal", "seed", "off"
"""Values of the parameter `deduplication`."""
_LINKED = 16
"""Number of similar facts that a fact is linked with, the most similar."""


def store_or_merge(connection: sqlite3.Connection, new: NewMemory, near: Neighbours, parameters: Parameters) -> Learned:
    """Store a prepared fact, unless it repeats one of the collection. To be called in a transaction."""
    candidates = candidates_of(connection, new, near, parameters)
    alike = similar_among(new, candidates, parameters)
    repeated = _repeated(new, candidates, alike, parameters.deduplication)
    if repeated is not None:
        fact = repeat(connection, repeated, new, parameters.reinforcement_gain)
        return Learned(
            repeated.memory_id, is_new=False, category=fact.category, tags=fact.tags, confidence=fact.confidence,
            method=repeated.method, similarity=repeated.similarity,
        )  # fmt: skip
    memory_id = rows.insert(connection, new)
    fact_rows.add_decisions(connection, memory_id, new.decisions)
    if near.vector is not None:
        vector_rows.add(connection, memory_id, new.content, vector=near.vector, of=near.model)
    similar = alike[:_LINKED]
    fact_rows.link_similar(connection, memory_id, similar)
    contradicts = contradicted_among(memory_id, new, candidates, parameters.similar_jaccard)
    fact_rows.link_contradictions(connection, memory_id, contradicts)
    nearest = similar[0] if similar else Similarity(0, "", 0.0)
    return Learned(
        memory_id, category=new.category, tags=new.tags, confidence=new.confidence, method=nearest.method,
        similarity=nearest.similarity, similar_ids=tuple(one.memory_id for one in similar),
        contradicts=tuple(other for other, _ in contradicts), reason=near.reason,
    )  # fmt: skip


def link_again(connection: sqlite3.Connection, memory_id: int, near: Neighbours | None, parameters: Parameters) -> None:
    """Replace the links of a corrected fact: its contradictions and, with a new text, the similar facts.

    `near` is None if the text is as it was.
    """
    fact = rows.stored_fact(connection, memory_id)
    if fact is None:
        return
    candidates = candidates_of(connection, fact, near or Neighbours(), parameters, but=memory_id)
    if near is not None:
        fact_rows.unlink_similar(connection, memory_id)
        fact_rows.link_similar(connection, memory_id, similar_among(fact, candidates, parameters)[:_LINKED])
    contradicts = contradicted_among(memory_id, fact, candidates, parameters.similar_jaccard)
    fact_rows.unlink_contradictions(connection, memory_id)
    fact_rows.link_contradictions(connection, memory_id, contradicts)


def _repeated(
    new: NewMemory, candidates: Mapping[int, Compared], similar: Sequence[Similarity], deduplication: str
) -> Similarity | None:
    for one in similar if deduplication != OFF else ():
        known = candidates[one.memory_id].fact
        merges = one.method == "exact" or deduplication == SEED
        if merges and _same_place(known, new) and can_merge(known.context, new.context):
            return one
    return None


def contradicted_among(
    memory_id: int, new: NewMemory, candidates: Mapping[int, Compared], limit: float
) -> list[tuple[int, str]]:
    """Return the facts that a fact contradicts, with the reason of each; oldest id first."""
    stated, found = _stated(new.content, new.context), []
    for _, (one, _) in sorted(candidates.items()):
        known = _stated(one.content, one.context)
        is_older = (one.observed_at, one.id) < (new.observed_at, memory_id)
        reason = contradiction(known, stated, limit) if is_older else contradiction(stated, known, limit)
        if reason and _same_place(one, new) and comparable(one.context, new.context):
            found.append((one.id, reason))
    return found


def _same_place(one: Candidate, new: NewMemory) -> bool:
    return (one.frame_id, one.map_id) == (new.frame_id, new.map_id)


def _stated(content: str, context: str) -> Statement:
    # An outcome in the context counts like one in the text.
    stated, added = statement(content), outcome(context)
    if not added:
        return stated
    return replace(stated, claim=stated.claim._replace(polarities=stated.claim.polarities | added))
