"""Run single stages of learning a fact: classification, and the comparison with other facts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.learning.classification import Classifier, load_classifier
from robotmem_ros.memory.learning.neighbours import Neighbours
from robotmem_ros.memory.learning.store_or_merge import Limits, duplicates, near_subjects, opposed, same_lesson
from robotmem_ros.memory.models import NewFact, NewMemory
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.text.statement import wording
from robotmem_ros.memory.text.subject import subject

__all__ = ["Classifier", "NewMemory", "Times", "as_fact", "duplicate_method", "load_classifier", "time_each"]


class Times(NamedTuple):
    """Milliseconds that the stages of learning one fact take."""

    read: float
    """Classification, and parsing the statement."""
    compared: float
    """Search for facts that say the same, or the opposite."""


def as_fact(text: str) -> NewMemory:
    """Return a text as a fact that is ready to be classified."""
    return new_fact(Parameters(), NewFact(insight=text), now=time.time_ns)


def duplicate_method(one: str, other: str, cosine: float | None) -> str:
    """Return by which method two texts count as one fact; empty if they count as two."""
    parameters = Parameters()
    limits = Limits(parameters.duplicate_jaccard, parameters.duplicate_cosine)
    match = same_lesson(wording(one), wording(other), cosine, limits)
    return match.method if match else ""


def time_each(path: Path, texts: Sequence[str]) -> Iterator[Times]:
    """Time the stages for each text as if it were learned; nothing is stored."""
    parameters, classifier = Parameters(db_path=str(path)), load_classifier()
    facts = [as_fact(text) for text in texts]
    with closing(Database(parameters)) as database, database.snapshot() as connection:
        for fact in facts:
            began = time.perf_counter()
            subject(fact.collection, fact.content)
            classified = classifier.classified(fact)
            read = time.perf_counter()
            _compare(connection, classified, parameters)
            yield Times((read - began) * 1e3, (time.perf_counter() - read) * 1e3)


def _compare(connection: sqlite3.Connection, new: NewMemory, parameters: Parameters) -> None:
    subjects = near_subjects(connection, new, parameters)
    if next(duplicates(connection, new, subjects, Neighbours(), parameters), None) is None:
        list(opposed(connection, 0, new, subjects, parameters.duplicate_jaccard))
