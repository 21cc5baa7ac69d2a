"""The terms of the statements of facts, by which similar and contradicting facts are found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...models import Kind, NewMemory
from ...text.statement import statement
from .. import bulk
from .vectors import text_digest

_WORD_BITS, _CLAIM_BITS = 48, 15
SUBJECT = (1 << _WORD_BITS) - 1
"""The bits of a signature for words of the subject."""


class FactTerms(NamedTuple):
    """The terms of a fact, as numbers of 64 bits; other collections have other numbers.

    Two terms that share a number by chance do no harm: facts that are found by them are compared by their terms.
    """

    words: frozenset[int]
    """Words of the subject."""
    claims: frozenset[int]
    """Parts of the claim."""
    signature: int
    """A bit for each term: a fact that lacks the bit lacks the term. Positive, because SQLite knows no other."""


@lru_cache(maxsize=256)  # triggers need the same fact several times
def fact_terms(collection: str, content: str) -> FactTerms:
    """Return the terms of a fact."""
    stated = statement(content)
    words = frozenset(_term_id(collection, term) for term in stated.words)
    claims = frozenset(_term_id(collection, term) for term in stated.terms - stated.words)
    return FactTerms(words, claims, word_bits(words) | _bits(claims, _CLAIM_BITS) << _WORD_BITS)


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Index the facts among new memories."""
    facts = [(memory_id, fact_terms(new.collection, new.content)) for memory_id, new in added if new.kind is Kind.FACT]
    rows = [(word, memory_id, one.signature) for memory_id, one in facts for word in one.words | one.claims]
    bulk.insert(connection, "fact_words (word, memory_id, signature)", "(?, ?, ?)", rows)


def fact_words(collection: str, content: str) -> str:
    """Return the numbers of the terms of a fact, as a JSON array."""
    terms = fact_terms(collection, content)
    return json.dumps([*terms.words, *terms.claims])


def fact_signature(collection: str, content: str) -> int:
    """Return the signature of a fact."""
    return fact_terms(collection, content).signature


def word_bits(words: Iterable[int]) -> int:
    """Return the bits of words of a subject in a signature."""
    return _bits(words, _WORD_BITS)


def _bits(terms: Iterable[int], number: int) -> int:
    found = 0
    for term in terms:
        found |= 1 << term % number
    return found


@lru_cache(maxsize=16_384)
def _term_id(collection: str, term: str) -> int:
    return text_digest(f"{collection}\0{term}")
