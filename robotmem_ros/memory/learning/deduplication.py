"""Whether two lessons are one: the same text, else the same words, else the same meaning, and always the same claim.

What texts claim (numbers with units, negations, sides taken, names) is compared exactly before anything is measured.
"""

from __future__ import annotations

from typing import NamedTuple

from .wording import Wording, jaccard


class Limits(NamedTuple):
    """From where on two lessons are one; each in [0, 1]."""

    jaccard: float
    cosine: float


class Match(NamedTuple):
    """How two lessons were found to be one."""

    method: str
    """`exact`, `jaccard` or `cosine`."""
    similarity: float


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
