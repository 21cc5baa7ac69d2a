"""Fading: what a recall does with faded memories, if its caller names no bound of confidence.

They are left out if anything fresh matches, and the reason counts them. If nothing fresh does, they are the result.
"""

from __future__ import annotations

from dataclasses import replace

from ..conditions.attributes import Confidence
from .query import Query

ALL_FADED = "nothing fresh matches: what is returned has faded"
"""Reason of a result of faded memories."""


def of_faded(query: Query) -> Query | None:
    """Return the same query of faded memories; None if the caller names a bound of confidence."""
    conditions = tuple(part.instead() if isinstance(part, Confidence) else part for part in query.conditions)
    return None if conditions == query.conditions else replace(query, conditions=conditions)
