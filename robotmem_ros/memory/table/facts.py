"""The facts of a table by the terms of their statements: which of them are similar to another one?

Their terms are counted in inverted lists. This is ScanCount of Li, Lu and Lu, Efficient merging and filtering
algorithms for approximate string searches, 2008. Only who learns asks for them, and a statement takes ten times as long
to read as the words of a text: so the rows of new and changed facts wait in `unread`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..text.statement import statement
from .column import Array, Numbers, Rows
from .words import Codes, Segment, Words, are_among, code

_ROUNDING = 1e-9
_NO_ROWS = np.empty(0, np.intp)


class FactTerms(NamedTuple):
    """The terms of a fact, by their codes.

    Two terms that share a code by chance do no harm: facts that are found by them are compared by their terms.
    """

    words: Codes
    """Words of the subject."""
    claims: Codes
    """Parts of the claim."""
    states: Codes
    """One if the fact tells a state of a subject; facts that share it tell one of the same subject."""


@lru_cache(maxsize=256)
def fact_terms(content: str) -> FactTerms:
    """Return the terms of a fact."""
    stated = statement(content)
    return FactTerms(_codes(stated.words), _codes(stated.terms - stated.words), _codes(stated.state_terms))


@dataclass(frozen=True)
class Facts:
    """The terms of those rows of a table that have facts."""

    terms: Words
    subjects: Numbers
    """How many of the terms of a row are words of the subject."""
    claims: Numbers
    """How many are parts of the claim."""
    unread: Rows
    """Rows whose terms are not read yet."""

    @classmethod
    def empty(cls) -> Facts:
        """Return those of no rows."""
        return cls(Words.empty(), Numbers.of(np.uint16), Numbers.of(np.uint16), _NO_ROWS)

    def put(self, rows: Rows, contents: Sequence[str], size: int, *, shared: bool) -> Facts:
        """Return them with the terms of some rows, ascending, as `Numbers.put` does; those are read then."""
        statements = [*map(statement, contents)]
        subjects = np.array([len(stated.words) for stated in statements], np.uint16)
        claims = np.array([len(stated.terms) for stated in statements], np.uint16) - subjects
        return Facts(
            self.terms.put(rows, [[*stated.terms, *stated.state_terms] for stated in statements], size, shared=shared),
            self.subjects.put(rows, subjects, size, shared=shared),
            self.claims.put(rows, claims, size, shared=shared),
            _without(self.unread, rows),
        )

    def put_segment(self, segment: Segment, subjects: Array, claims: Array, unread: Rows, size: int) -> Facts:
        """Return them with the terms of new rows, and others that are not read yet, where nothing looks at them."""
        rows = segment.rows
        return Facts(
            self.terms.put_segment(segment, rows, np.zeros(len(rows), np.uint32), size, shared=False),
            self.subjects.put(rows, subjects, size, shared=False),
            self.claims.put(rows, claims, size, shared=False),
            np.concatenate((self.unread, unread)),
        )

    def renew(self, rows: Rows, *, shared: bool) -> Facts:
        """Return them with some rows, ascending, that are to be read, or read again."""
        if not len(rows):
            return self
        others = self.without(rows, shared=shared)
        return replace(others, unread=np.sort(np.concatenate((others.unread, rows))))

    def without(self, rows: Rows, *, shared: bool) -> Facts:
        """Return them without some rows, ascending."""
        read = rows[: np.searchsorted(rows, self.subjects.size)]
        return replace(self, terms=self.terms.without(read, shared=shared), unread=_without(self.unread, rows))

    def similar(self, asked: FactTerms, similarity: float) -> tuple[Rows, Array]:
        """Return the rows whose facts are as similar to one with some terms, and how many of its terms each lacks.

        By the Jaccard similarity of all terms, or of the words of the subject where one fact has all of the other's;
        those that tell a state of the same subject are as similar as can be.
        """
        words, size = len(asked.words), len(asked.words) + len(asked.claims)
        least = max(1, math.ceil(similarity * words - _ROUNDING))
        found = [np.empty((4, 0), np.int64)]
        for rows, (of_words, of_claims, of_states) in self.terms.count_all(*asked):
            at = np.flatnonzero((of_words + of_claims >= least) | (of_states > 0))
            found.append(np.array((rows[at], of_words[at], of_claims[at], of_states[at])))
        rows, shared_words, shared_claims, shared_states = np.concatenate(found, axis=1)
        shared, subjects, is_state = shared_words + shared_claims, self.subjects.all[rows], shared_states > 0
        fewer, more = np.minimum(subjects, words), np.maximum(subjects, words)
        is_similar = shared >= similarity * (size + subjects + self.claims.all[rows] - shared) - _ROUNDING
        is_similar |= (shared_words == fewer) & (fewer >= similarity * more - _ROUNDING)
        is_similar |= is_state
        return rows[is_similar], np.where(is_state, 0, size - shared)[is_similar]


def _without(rows: Rows, others: Rows) -> Rows:
    return rows[~are_among(rows, others)] if len(rows) else rows


def _codes(terms: Iterable[str]) -> Codes:
    return np.array(sorted({*map(code, terms)}), np.int64)
