"""Compare two facts: whether their contexts let them be merged, and whether they contradict.

Facts contradict if they have the same subject, and another value of one quantity or another outcome, not both. 8 N
failed and 12 N worked do not contradict; 12 N worked and 15 N worked do, and so do 12 N worked and 12 N failed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial

from ..text.entities import unit_named
from ..text.statement import Claim, Statement, Values, load_terms
from ..validation import compact_json

_is_close = partial(math.isclose, rel_tol=1e-9)
_OUTCOMES = (("task", "success"), ("task", "outcome"), ("success",), ("outcome",))
_ABSENT = object()


def can_merge(one: str, other: str) -> bool:
    """Return whether two facts of the same text can be merged: their contexts agree in all keys that both have.

    An outcome must be in both or in neither: that something worked once does not make it a general statement.
    """
    left, right = json.loads(one), json.loads(other)
    return all(_same(_at(left, path), _at(right, path)) for path in _OUTCOMES) and _agree(left, right)


def merged_context(one: str, other: str) -> str:
    """Return the union of the contexts of two facts that are merged."""
    left, right = json.loads(one), json.loads(other)
    merged = _merged(left, right)
    return one if left == merged else compact_json(merged)


def comparable(one: str, other: str) -> bool:
    """Return whether two facts can contradict: their contexts agree, parameters and outcome aside."""
    return one == other or _agree(_without_claims(one), _without_claims(other))


@lru_cache(maxsize=1024)
def outcome(context: str) -> frozenset[str]:
    """Return the outcome of a context as a polarity of a statement; empty if it has none."""
    parsed = json.loads(context)
    found = [value for path in _OUTCOMES if isinstance(value := _at(parsed, path), bool)]
    return frozenset({"outcome+" if found[0] else "outcome-"}) if found else frozenset()


def _agree(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return all(_same(left[name], right[name]) for name in left.keys() & right.keys())


def _same(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return _agree(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _merged(left: Mapping[str, object], right: Mapping[str, object]) -> dict[str, object]:
    merged = dict(left)
    for name, value in right.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


@lru_cache(maxsize=1024)  # similar facts often have the same context
def _without_claims(context: str) -> dict[str, object]:
    rest = {name: value for name, value in json.loads(context).items() if name not in ("params", "success", "outcome")}
    task = rest.get("task")
    if isinstance(task, dict):
        rest["task"] = {name: value for name, value in task.items() if name not in ("success", "outcome")}
    return rest


def _at(context: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = context
    for name in path:
        value = value.get(name, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


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
    # One has all words of the other, so their Jaccard similarity follows from their sizes.
    fewer, more = (left, right) if len(left) <= len(right) else (right, left)
    return bool(more) and fewer <= more and len(fewer) / len(more) >= limit


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
        if left != right and not all(map(_is_close, left, right)):
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
