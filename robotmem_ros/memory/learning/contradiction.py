"""Tell whether two facts contradict: the same subject, and another value of one quantity or another outcome, not both.

8 N failed and 12 N worked do not contradict; 12 N worked and 15 N worked do, and so do 12 N worked and 12 N failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..text.quantities import unit_named
from ..text.statement import Claim, Statement, Values, load_terms

_ROUNDING = 1e-9


def contradiction(older: Statement, newer: Statement, limit: float) -> str:
    """Return the reason why two facts contradict, such as `force: 12.5 N, now 15 N`; empty if they do not.

    `limit` is the Jaccard similarity in [0, 1] from which two sets of words have one subject.
    """
    if older.names != newer.names or not _same_subject(older.words, newer.words, limit):
        return ""
    was, now = older.claim, newer.claim
    differences = [_other_values(was.values, now.values), _other_polarities(was, now)]
    found = [difference for difference in differences if difference is not None]
    reasons = [difference for difference in found if difference]
    return reasons[0] if len(found) == 2 and len(reasons) == 1 else ""


def _same_subject(left: frozenset[str], right: frozenset[str], limit: float) -> bool:
    both = left | right
    one_sided = not left - right or not right - left
    return bool(both) and one_sided and len(left & right) / len(both) >= limit


def _other_polarities(older: Claim, newer: Claim) -> str | None:
    # None when they cannot be compared; an empty text when they agree.
    inverted = "one is the negation of the other" if (older.negations - newer.negations) % 2 else ""
    if older.polarities == newer.polarities:
        return inverted
    was, now = (_with_defaults(one.polarities, other.polarities) for one, other in ((older, newer), (newer, older)))
    if {one[:-1] for one in was} != {one[:-1] for one in now}:
        return None
    opposed = sorted(one[:-1] for one in was ^ now if one.endswith("+"))
    if opposed and older.negations == newer.negations:
        return f"other {' and '.join(opposed)}"
    return None if opposed else inverted


def _with_defaults(polarities: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    # A default polarity holds for a statement that does not deny it.
    opposites = {default: default[:-1] + "-" for default in load_terms().defaults}
    return polarities | {one for one, other in opposites.items() if other in others and other not in polarities}


def _other_values(older: Values, newer: Values) -> str | None:
    if len(older) != len(newer):
        return None
    reasons = []
    for (kind, left, was), (other_kind, right, now) in zip(_in_base(older), _in_base(newer), strict=True):
        if kind != other_kind:
            return None
        if not all(abs(a - b) <= _ROUNDING * max(abs(a), abs(b)) for a, b in zip(left, right, strict=True)):
            # A plain number may be the name of a room or a dock.
            if not kind:
                return None
            reasons.append(f"{kind}: {was}, now {now}")
    return "".join(reasons) if len(reasons) <= 1 else None


@lru_cache(maxsize=4096)
def _in_base(values: Values) -> tuple[tuple[str, tuple[float, float], str], ...]:
    def converted() -> Iterator[tuple[str, tuple[float, float], str]]:
        for low, high, written in values:
            unit = unit_named(written)
            kind, factor = (unit.kind, unit.factor) if unit else (written.removesuffix(" ="), 1.0)
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            yield kind, (low * factor, high * factor), f"{span} {unit.symbol}" if unit else span

    return tuple(sorted(converted()))
