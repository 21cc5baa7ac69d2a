"""What becomes of a prepared fact: it strengthens one that says the same, or is stored and its contradictions noted.

All of it in one transaction of the one writer: of two who learn the same at once, one finds the other's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator

from ..config.parameters import Parameters
from ..models import NewMemory
from ..storage import learning_rows, rows, subject_rows, vector_rows, wording_rows
from ..storage.subject_rows import Near
from ..storage.wording_rows import Candidate
from .circumstances import are_one, comparable, outcome
from .contradiction import opposition
from .deduplication import Limits, Match, same_lesson
from .learned import Learned
from .neighbours import Neighbours
from .repetition import repeat
from .subject import stance, subject
from .wording import Stance, wording


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
