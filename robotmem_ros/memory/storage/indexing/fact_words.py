"""The terms of the statements of facts, by which similar and contradicting facts are found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ...models import Kind, NewMemory
from ...text.statement import statement
from .. import bulk
from .vectors import text_digest


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Index the facts among new memories."""
    rows = [
        (word, memory_id)
        for memory_id, new in added
        if new.kind is Kind.FACT
        for word in word_ids(new.collection, statement(new.content).terms)
    ]
    bulk.insert(connection, "fact_words (word, memory_id)", "(?, ?)", rows)


def word_ids(collection: str, terms: Iterable[str]) -> list[int]:
    """Return 64-bit numbers that stand for terms of the facts of a collection, ascending.

    Two terms that share a number by chance do no harm: facts that are found by them are compared by their terms.
    """
    return sorted({_word_id(collection, term) for term in terms})


def fact_words(collection: str, content: str) -> str:
    """Return the numbers of the terms of a fact, as a JSON array."""
    return json.dumps(word_ids(collection, statement(content).terms))


@lru_cache(maxsize=16_384)
def _word_id(collection: str, term: str) -> int:
    return text_digest(f"{collection}\0{term}")
