"""Stage 10, normalisation: the best score becomes 1.0, so that answers to different questions can be compared."""

from __future__ import annotations

from .fusion import Scores


def normalise(scores: Scores) -> Scores:
    """The scores divided by the highest one."""
    best = max(scores.values(), default=0.0)
    return {memory_id: score / best if best > 0 else 1.0 for memory_id, score in scores.items()}
