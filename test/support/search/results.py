"""Results of the oracle, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .evidence import Evidence
from .folding import Group
from .reference_model import Result


def result(
    mode: str,
    found: Sequence[Group],
    scores: list[float],
    distances: Sequence[float] = (),
    evidence: Sequence[Evidence] = (),
    *,
    is_relevant: bool = True,
) -> Result:
    """Make a result of groups and what was measured of them."""
    newest = [group.members[0].id for group in found]
    folded = [[one.id for one in group.members[1:]] for group in found]
    return Result(mode, newest, scores, [*distances], [], [], [*evidence], folded, bool(found) and is_relevant)


def normalised(ids: Sequence[int], scores: Mapping[int, float]) -> list[float]:
    """Divide scores by the highest one of them."""
    best = max((scores.get(memory_id, 0.0) for memory_id in ids), default=0.0)
    return [scores.get(memory_id, 0.0) / best if best > 0 else 1.0 for memory_id in ids]
