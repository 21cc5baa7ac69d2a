"""Compare and merge the contexts of two facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from ..validation import compact_json

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
