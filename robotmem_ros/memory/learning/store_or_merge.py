"""Store a prepared fact, or strengthen the fact that says the same.

Everything happens in one transaction of the one writer, so two callers that learn the same fact at once store it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..config.parameters import Parameters
from ..models import NewMemory
from ..storage import learning_rows, rows, subject_rows, vector_rows, wording_rows
from ..storage.subject_rows import Near
from ..storage.wording_rows import Candidate
from ..text.statement import Stance, Wording, jaccard, wording
from ..text.subject import stance, subject
from .context_match import are_one, comparable, outcome
from .contradiction import opposition
from .learned import Learned
from .neighbours import Neighbours
from .repetition import Match, repeat


class Limits(NamedTuple):
    """From where on two lessons are one; each in [0, 1]."""

    jaccard: float
    cosine: float


def same_lesson(one: Wording, other: Wording, cosine: float | None, limits: Limits) -> Match | None:
    """How two texts are one lesson, or None. `cosine` is the similarity of their vectors, None without a model."""
    if one.claim != other.claim or one.sequence != other.sequence or _exchanged(one, other):
        return None
    if one.digest == other.digest:
        return Match("exact", 1.0)
    if not one.words & other.words:
        return None
    similarity = jaccard(one, other)
    if similarity >= limits.jaccard and not _substituted(one, other):
        return Match("jaccard", similarity)
    if cosine is not None and cosine >= limits.cosine and not _swapped(one, other):
        return Match("cosine", cosine)
    return None


def _swapped(one: Wording, other: Wording) -> bool:
    # Vectors of sentences that differ in one thing only are close, whatever the thing is.
    return len(one.words - other.words) == 1 == len(other.words - one.words)


def _exchanged(one: Wording, other: Wording) -> bool:
    # The robot follows the person, the person follows the robot: two things have changed places. Two words beside each
    # other may do that, the thin tall glass being the tall thin one, but not two names.
    if len(one.order) != len(other.order):
        return False
    places = [index for index, (here, there) in enumerate(zip(one.order, other.order, strict=True)) if here != there]
    if len(places) != 2:
        return False
    first, last = (one.order[place] for place in places)
    if (first, last) != tuple(other.order[place] for place in reversed(places)):
        return False
    return places[1] - places[0] > 1 or {first, last} <= one.names


def _substituted(one: Wording, other: Wording) -> bool:
    # Each has a word that the other has not: one thing in the place of another.
    return bool(one.words - other.words) and bool(other.words - one.words)


def admit(connection: sqlite3.Connection, new: NewMemory, near: Neighbours, parameters: Parameters) -> Learned:
    """Stores a prepared fact, unless the collection has one that says the same; to be called in a transaction."""
    subjects = near_subjects(connection, new, parameters)
    for candidate, match in duplicates(connection, new, subjects, near, parameters) if parameters.deduplicate else ():
        if (candidate.frame_id, candidate.map_id) == (new.frame_id, new.map_id) and are_one(
            candidate.context, new.context
        ):
            return _repeated(connection, candidate.id, new, match, parameters.reinforcement_gain)
    memory_id = rows.insert(connection, new)
    learning_rows.set_decisions(connection, memory_id, new.decisions)
    if near.vector is not None:
        vector_rows.add(connection, memory_id, new.content, vector=near.vector, of=near.model)
    contradicted = _note(connection, memory_id, new, subjects, parameters)
    return Learned(
        memory_id, category=new.category, tags=new.tags, confidence=new.confidence, contradicts=contradicted,
        reason=near.reason if parameters.deduplicate else "",
    )  # fmt: skip


def note_contradictions(connection: sqlite3.Connection, memory_id: int, parameters: Parameters) -> tuple[int, ...]:
    """Links an active fact with those that it contradicts, and gives their ids."""
    new = rows.stored_fact(connection, memory_id)
    if new is None:
        return ()
    return _note(connection, memory_id, new, near_subjects(connection, new, parameters), parameters)


def _note(
    connection: sqlite3.Connection, memory_id: int, new: NewMemory, subjects: Collection[Near], parameters: Parameters
) -> tuple[int, ...]:
    found = sorted(opposed(connection, memory_id, new, subjects, parameters.duplicate_jaccard))
    wording_rows.link(connection, memory_id, found)
    return tuple(other for other, _ in found)


def near_subjects(connection: sqlite3.Connection, new: NewMemory, parameters: Parameters) -> list[Near]:
    """The subjects of which a fact may say the same as another one, or the opposite."""
    mine, shared = subject(new.collection, new.content), wording(new.content).shared
    return subject_rows.near(connection, mine, shared=shared, similarity=parameters.duplicate_jaccard)


def duplicates(
    connection: sqlite3.Connection,
    new: NewMemory,
    subjects: Collection[Near],
    near: Neighbours,
    parameters: Parameters,
) -> Iterator[tuple[Candidate, Match]]:
    """The facts that say the same, best first, and how that was found: by text, by words, by meaning."""
    limits = Limits(parameters.duplicate_jaccard, parameters.duplicate_cosine)
    said = wording(new.content)
    for candidate in wording_rows.with_digest(connection, new.collection, said.digest):
        match = same_lesson(said, wording(candidate.content), None, limits)
        if match:
            yield candidate, match
    for candidate in subject_rows.saying(connection, subjects, subject(new.collection, new.content), said.shared):
        match = same_lesson(said, wording(candidate.content), None, limits)
        if match:
            yield candidate, match
    if near.vector is not None:
        close = wording_rows.near(
            connection, new.collection, near.ids, after_id=near.last_id, vector=near.vector, cosine=limits.cosine
        )
        for candidate, cosine in close:
            match = same_lesson(said, wording(candidate.content), cosine, limits)
            if match:
                yield candidate, match


def _repeated(connection: sqlite3.Connection, memory_id: int, new: NewMemory, match: Match, gain: float) -> Learned:
    fact = repeat(connection, memory_id, new, match, gain)
    return Learned(
        memory_id, is_new=False, category=fact.category, tags=fact.tags, confidence=fact.confidence,
        method=match.method, similarity=round(match.similarity, 6),
    )  # fmt: skip


def opposed(
    connection: sqlite3.Connection, memory_id: int, new: NewMemory, subjects: Collection[Near], limit: float
) -> Iterator[tuple[int, str]]:
    """The facts that a fact contradicts, and in what."""
    mine = subject(new.collection, new.content)
    said = _with_outcome(wording(new.content).stance, new.context)
    for candidate, stored in subject_rows.about(connection, subjects, mine, similarity=limit, but=memory_id):
        other = _with_outcome(stance(stored), candidate.context)
        is_older = (candidate.observed_at, candidate.id) < (new.observed_at, memory_id)
        reason = opposition(*((other, said) if is_older else (said, other)))
        same_place = (candidate.frame_id, candidate.map_id) == (new.frame_id, new.map_id)
        if reason and same_place and comparable(candidate.context, new.context):
            yield candidate.id, reason


def _with_outcome(said: Stance, context: str) -> Stance:
    # An outcome in the context is one as if the text said it.
    told = outcome(context)
    return said._replace(sides=said.sides | told) if told else said
