"""Relevance: how probable it is that a memory answers a query, by its own text alone.

    1 / (1 + exp(-x)),  x = 7.3 * cosine + 3.1 * share ** 3 - 4.1,  or  x = 7.3 * share ** 3 - 1.7  without a cosine

The share is that of the query's words which the memory contains, weighed by their rarity. With neither of the two the
relevance is 0. Both curves are logistic regressions over queries that a memory answers and queries that none does, one
half each; `python3 -m bench relevance` fits them again. The cube says that half of the words is little, and all of them
nearly enough.
"""

from __future__ import annotations

import math

_COSINE, _SHARE, _NEITHER = 7.3, 3.1, -4.1
_SHARE_ALONE, _NOTHING = 7.3, -1.7
_LAST_LATIN = "\u024f"


def relevance(similarity: float, share: float) -> float:
    """Return the relevance, in [0, 1], of a memory with a cosine similarity (NaN for none) and a share of the words."""
    if math.isnan(similarity):
        return _logistic(_SHARE_ALONE * share**3 + _NOTHING) if share else 0.0
    return _logistic(_COSINE * similarity + _SHARE * share**3 + _NEITHER)


def tells_meaning(query: str) -> bool:
    """Return whether cosines tell anything of a query: not if most of its letters are beyond Latin script.

    To the default model, which reads English, any two Chinese texts are about as near as a question and its answer.
    """
    if query.isascii():
        return True
    letters = [letter for letter in query if letter.isalpha()]
    return 2 * sum(letter > _LAST_LATIN for letter in letters) <= len(letters)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
