"""What there is of a query in a memory, by the formulas of the documentation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .reference_model import ReferenceMemory

SPATIAL_WORD = "nearest"
"""A word of the errand: it tells nothing of what is asked, unless it is the only word."""


class Evidence(NamedTuple):
    """Relevance, cosine (NaN without a vector), and the words of the query that a memory holds."""

    relevance: float
    similarity: float
    terms: tuple[str, ...]


def evidence(
    memory: ReferenceMemory, words: Sequence[str], rarity: Mapping[str, float], cosine: float, *, less: float
) -> Evidence:
    """Measure a memory by the words of a query, their rarity, and the cosine, which counts by so much less."""
    subject = [word for word in words if word != SPATIAL_WORD] or words
    held = [word for word in words if memory.frequency([word])]
    share = sum(rarity[word] for word in held if word in subject) / sum(rarity[word] for word in subject)
    x = 7.3 * share**3 - 1.7 if math.isnan(cosine) else 7.3 * (cosine - less) + 3.1 * share**3 - 4.1
    relevance = 0.0 if math.isnan(cosine) and not share else 1 / (1 + math.exp(-x))
    return Evidence(relevance, cosine, tuple(held))
