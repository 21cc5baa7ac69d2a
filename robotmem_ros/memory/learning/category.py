"""The category of a lesson: the weights of the rules that hold are added, the greatest sum wins."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import Decision
from .rule import Rule


def category(holding: Sequence[Rule], order: Sequence[str], default: str) -> Decision:
    """The category that the rules that hold speak for, with their names; of equals, the first of `order`."""
    votes: dict[str, list[Rule]] = {}
    for rule in holding:
        votes.setdefault(rule.name.partition(".")[0], []).append(rule)
    if not votes:
        return Decision("category", default, "default")
    best = min(votes, key=lambda name: (-sum(rule.weight for rule in votes[name]), order.index(name)))
    return Decision("category", best, " + ".join(rule.name for rule in votes[best]))
