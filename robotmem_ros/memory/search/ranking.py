"""What the search stages give: memories in order."""

from __future__ import annotations

from typing import NamedTuple


class Hit(NamedTuple):
    """A memory that a search found, with what the search measured: BM25 (lower is better) or cosine distance."""

    memory_id: int
    measure: float


Ranking = list[Hit]
"""Hits, best first; equals stand newest first."""
