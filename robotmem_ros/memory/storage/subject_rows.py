"""Searches the subjects of facts: those whose words hold all words of another, or are all among them, and their facts.

Of two such sets the smaller one is a part of the larger one. So a larger one stands under the rarest word of what is
searched for. The first word of a smaller one, in the order of their numbers, is one of the first k + 1 of what is
searched for if it lacks at most k of its words. Length and prefix filter: Chaudhuri, Ganti, Kaushik: A primitive
operator for similarity joins in data cleaning, 2006.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ..text.subject import Subject, lesson
from .wording_rows import CANDIDATE, CANDIDATES, Candidate

_COUNTED = 128
"""How exactly it is counted how rare a word is."""
_MOST_SUBJECTS = 512
_WORDIEST = 4000

_COUNTS = """
    SELECT j.value, (
        SELECT count(*) FROM (
            SELECT 1 FROM subject_words WHERE word = j.value AND first IN (0, 1) AND size BETWEEN ?2 AND ?3 LIMIT ?4
        )
    ) FROM json_each(?1) AS j
"""
_LARGER = """
    SELECT subject_id, size FROM subject_words
    WHERE word = ?1 AND first IN (0, 1) AND size BETWEEN ?2 AND ?3 AND signature & ?4 = ?4
"""
_SMALLER = """
    SELECT k.subject_id, k.size FROM json_each(?1) AS j CROSS JOIN subject_words AS k ON k.word = j.value
    WHERE k.first = 1 AND k.size BETWEEN ?2 AND ?3 AND k.signature & ~?4 = 0
"""
_SAYING = f"""
    SELECT {CANDIDATE} FROM json_each(?1) AS j CROSS JOIN memories AS m ON m.id IN (
        SELECT memory_id FROM subject_facts WHERE lesson = j.value AND active ORDER BY memory_id DESC LIMIT ?2
    ) ORDER BY m.id DESC LIMIT ?2
"""
_ABOUT = f"""
    SELECT f.stance, {CANDIDATE} FROM json_each(?1) AS j CROSS JOIN subject_facts AS f ON f.memory_id IN (
        SELECT memory_id FROM subject_facts WHERE subject_id = j.value AND active ORDER BY memory_id DESC LIMIT ?2 + 1
    ) CROSS JOIN memories AS m ON m.id = f.memory_id WHERE m.id <> ?3 ORDER BY m.id DESC LIMIT ?2
"""


class Near(NamedTuple):
    """A subject whose words hold all words of another, or are all among them."""

    id: int
    size: int
    """How many words it has."""


def near(connection: sqlite3.Connection, mine: Subject, *, shared: int, similarity: float) -> list[Near]:
    """The subjects that are as near as this, the most similar first; the subject itself is the first.

    Jaccard similarity, `shared` things counted in that both have besides their words. Of more than 512 others, those
    with the most similar numbers of words.
    """
    size = len(mine.words)
    least, most = _sizes(size, shared, similarity)
    if not size or least > most:
        return [Near(mine.id, size)]
    found: list[tuple[int, int]] = []
    if most > size:
        counts = connection.execute(_COUNTS, (json.dumps(mine.words), size + 1, most, _COUNTED))
        rarest, _ = min(counts, key=itemgetter(1))
        found += connection.execute(_LARGER, (rarest, size + 1, most, mine.signature))
    if least < size:
        first = json.dumps(mine.words[: size - least + 1])
        found += connection.execute(_SMALLER, (first, least, size - 1, mine.signature))
    others = sorted((Near(*row) for row in found), key=lambda one: (-_ratio(one.size, size, shared), one.id))
    return [Near(mine.id, size), *_verified(connection, mine, others[:_MOST_SUBJECTS])]


def saying(
    connection: sqlite3.Connection, subjects: Collection[Near], mine: Subject, shared: int
) -> Iterator[Candidate]:
    """The facts of these subjects with the claim of another one: the most similar first, then the newest; 64 each."""

    def similarity(one: Near) -> float:
        return _ratio(one.size, len(mine.words), shared)

    for _, alike in groupby(subjects, key=similarity):
        lessons = [lesson(one.id, mine.claim) for one in alike]
        rows = connection.execute(_SAYING, (json.dumps(lessons), CANDIDATES))
        yield from (Candidate(*row) for row in rows.fetchall())


def about(
    connection: sqlite3.Connection, subjects: Collection[Near], mine: Subject, *, similarity: float, but: int
) -> list[tuple[Candidate, str]]:
    """Facts of these subjects as similar by their words alone, but for one, each with its stance; 64 at most.

    Those of the subject itself come first, then the newest.
    """
    size = len(mine.words)
    others = [one.id for one in subjects if one.id != mine.id and _ratio(one.size, size, 0) >= similarity]
    found: list[tuple[Candidate, str]] = []
    for chosen in ([mine.id], others):
        rows = connection.execute(_ABOUT, (json.dumps(chosen), CANDIDATES - len(found), but))
        found += [(Candidate(*row), stance) for stance, *row in rows.fetchall()]
    return found


def _sizes(size: int, shared: int, similarity: float) -> tuple[int, int]:
    # How many words another one may have. Rounded, so that 7 of 10 are 0.7.
    if similarity <= 0.0:
        return 1, _WORDIEST
    least = math.ceil(round(similarity * (size + shared) - shared, 9))
    most = math.floor(round((size + shared) / similarity - shared, 9))
    return max(1, least), min(most, _WORDIEST)


def _ratio(one: int, other: int, shared: int) -> float:
    return (min(one, other) + shared) / (max(one, other) + shared) if one or other else 1.0


def _verified(connection: sqlite3.Connection, mine: Subject, others: list[Near]) -> Iterator[Near]:
    # Two words may have one bit of a signature.
    if not others:
        return
    words = frozenset(mine.words)
    known = dict(
        connection.execute(
            "SELECT s.id, s.words FROM json_each(?) AS j CROSS JOIN subjects AS s ON s.id = j.value",
            (json.dumps([one.id for one in others]),),
        ).fetchall()
    )
    for one in others:
        theirs = json.loads(known[one.id])
        if words.issuperset(theirs) if one.size < len(words) else words.issubset(theirs):
            yield one
