"""Run single stages of learning a fact: classification, and the comparison with other facts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.learning.classification import Classifier, load_classifier
from robotmem_ros.memory.learning.comparison import (
    AlikeFacts,
    Neighbours,
    candidates_of,
    contradicted_among,
    measure,
    similar_among,
)
from robotmem_ros.memory.models import NewFact, NewMemory
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.snapshot import Snapshot
from robotmem_ros.memory.table.table import Table
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.text.normal_form import digest
from robotmem_ros.memory.text.statement import statement

__all__ = ["Classifier", "NewMemory", "Times", "as_fact", "load_classifier", "similarity_method", "time_each"]


class Times(NamedTuple):
    """Milliseconds that the stages of learning one fact take."""

    read: float
    """Classification, and parsing the statement."""
    compared: float
    """Search for facts that say the same, or the opposite."""


def as_fact(text: str) -> NewMemory:
    """Return a text as a fact that is ready to be classified."""
    return new_fact(Parameters(), NewFact(insight=text), now=time.time_ns)


def similarity_method(first: str, second: str, cosine: float) -> str:
    """Return the method by which two texts are similar: `exact`, `jaccard`, `cosine`; empty if they are not."""
    if digest(first) == digest(second):
        return "exact"
    return measure(statement(first), statement(second), cosine, Parameters())[0]


def time_each(path: Path, texts: Sequence[str]) -> Iterator[Times]:
    """Time the stages for each text as if it were learned; nothing is stored."""
    parameters, classifier = Parameters(db_path=str(path)), load_classifier()
    new = [as_fact(text) for text in texts]
    with closing(Database(parameters)) as database, Tables(database).with_facts() as view:
        for fact in new:
            start = time.perf_counter()
            statement(fact.content)
            fact_with_category = classifier.classify(fact)
            read = time.perf_counter()
            _compare(view.snapshot, fact_with_category, view.table, parameters)
            yield Times((read - start) * 1e3, (time.perf_counter() - read) * 1e3)


def _compare(snapshot: Snapshot, new: NewMemory, table: Table, parameters: Parameters) -> None:
    candidates = candidates_of(snapshot, new, Neighbours(), AlikeFacts(snapshot, table), parameters)
    similar_among(new, candidates, parameters)
    contradicted_among(0, new, candidates, parameters.similar_jaccard)
