"""How sure a lesson is by its wording: a base, and what each signal adds or takes away."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import Decision
from .rule import Rule
from .rules import Rules


def confidence(holding: Sequence[Rule], rules: Rules) -> tuple[float, Decision]:
    """Base + the sum of what the signals add, kept within lowest and highest; in [0, 1]."""
    total = rules.base + sum(rule.weight for rule in holding)
    estimate = round(min(max(total, rules.lowest), rules.highest), 6)
    reasons = " + ".join(f"{rule.name} ({rule.weight:+.2f})" for rule in holding)
    return estimate, Decision("confidence", f"{estimate:g}", reasons or "default")
