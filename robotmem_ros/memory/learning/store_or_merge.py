"""Store a prepared fact, or reinforce the fact that it repeats.

A fact repeats another one if it has the same text, see `text/normal_form.py`. One that is only similar is stored, and
the two are linked: no measure of likeness tells what a difference means. All of it happens in one transaction of the
one writer, so two callers that learn the same fact at once store it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..config.parameters import Parameters
from ..models import NewMemory, Similarity
from ..storage import fact_rows, learning_rows, rows, vector_rows
from ..storage.fact_rows import Candidate
from ..text.normal_form import digest
from ..text.statement import Statement, jaccard, statement
from .context_match import can_merge, comparable, outcome
from .contradiction import contradiction
from .learned import Learned
from .neighbours import Neighbours
from .repetition import repeat

EQUAL, SEED, OFF = "equal", "seed", "off"
"""Values of the parameter `deduplication`."""
_LINKED = 16
"""Number of similar facts that a fact is linked with, the most similar."""


def store_or_merge(connection: sqlite3.Connection, new: NewMemory, near: Neighbours, parameters: Parameters) -> Learned:
    """Store a prepared fact, unless the collection has one that it repeats. To be called in a transaction."""
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
    learning_rows.set_decisions(connection, memory_id, new.decisions)
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
        fact_rows.link_similar(connection, memory_id, similar_among(fact, candidates, parameters)[:_LINKED])
    contradicts = contradicted_among(memory_id, fact, candidates, parameters.similar_jaccard)
    fact_rows.link_contradictions(connection, memory_id, contradicts)


class Compared(NamedTuple):
    """A fact that another one is compared with."""

    fact: Candidate
    cosine: float
    """Similarity of the vectors; 0 if unknown."""


def candidates_of(
    connection: sqlite3.Connection, new: NewMemory, near: Neighbours, parameters: Parameters, *, but: int = 0
) -> Mapping[int, Compared]:
    """Return the facts that a fact is compared with: of the same text, with common words, or of like meaning."""
    stated, limit = statement(new.content), parameters.similar_jaccard
    found = {
        one.id: Compared(one, 0.0)
        for one in (
            *fact_rows.with_digest(connection, new.collection, digest(new.content)),
            *fact_rows.sharing_words(connection, new.collection, stated, similarity=limit, but=but),
        )
    }
    if near.vector is not None:
        close = fact_rows.near(
            connection, new.collection, near.ids, after_id=near.last_id, vector=near.vector,
            cosine=parameters.similar_cosine,
        )  # fmt: skip
        found |= {one.id: Compared(one, cosine) for one, cosine in close}
    found.pop(but, None)
    return found


def similar_among(new: NewMemory, candidates: Mapping[int, Compared], parameters: Parameters) -> list[Similarity]:
    """Return the facts that are similar to another one, most similar first, of equal ones the newest."""
    measured = (
        Similarity(one.id, *likeness(new.content, one.content, cosine, parameters))
        for one, cosine in candidates.values()
    )
    return sorted((one for one in measured if one.method), key=lambda one: (-one.similarity, -one.memory_id))


def likeness(one: str, other: str, cosine: float, parameters: Parameters) -> tuple[str, float]:
    """Return how two texts are alike, and how much, in [0, 1]; an empty method and 0 if they are not.

    `cosine` is the similarity of their vectors, 0 if unknown.
    """
    if digest(one) == digest(other):
        return "exact", 1.0
    by_words = jaccard(statement(one).terms, statement(other).terms)
    if by_words and by_words >= parameters.similar_jaccard:
        return "jaccard", round(by_words, 6)
    if cosine and cosine >= parameters.similar_cosine:
        return "cosine", round(cosine, 6)
    return "", 0.0


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
    """Return the facts that a fact contradicts, and in what; oldest id first."""
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
    # An outcome in the context is one as if the text said it.
    stated, told = statement(content), outcome(context)
    return stated._replace(claim=stated.claim._replace(polarities=stated.claim.polarities | told)) if told else stated
