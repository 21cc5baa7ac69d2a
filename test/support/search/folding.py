"""Folding by brute force: which memories are the same as far as is known, and the groups that they form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .reference_model import ReferenceMemory, at_path, folded

_RADIUS = 0.4
_FIELDS = ("position", "spatial.object_position", "spatial.grasp.point")


class Group(NamedTuple):
    """The best of some memories, and all of them, newest first."""

    best: ReferenceMemory
    members: list[ReferenceMemory]


def groups(
    best_first: Iterable[ReferenceMemory],
    candidates: Iterable[ReferenceMemory],
    n: int,
    is_same: Callable[[ReferenceMemory, ReferenceMemory], bool],
) -> list[Group]:
    """Fold ranked memories into at most `n` groups."""
    by_text: dict[str, list[ReferenceMemory]] = {}
    for memory in sorted(candidates, key=lambda memory: (-memory.new.observed_at, -memory.id)):
        by_text.setdefault(memory.new.content, []).append(memory)
    found: list[Group] = []
    covered: set[int] = set()
    for best in best_first:
        if len(found) == n:
            break
        if best.id not in covered:
            same = (one for one in by_text[best.new.content] if one.id not in covered)
            members = [one for one in same if one.id == best.id or is_same(best, one)]
            covered.update(one.id for one in members)
            found.append(Group(best, members))
    return found


def are_the_same(one: ReferenceMemory, other: ReferenceMemory, field: str) -> bool:
    """Tell whether two memories are the same as far as is known."""
    return (
        are_of_one_text(one, other)
        and _at_one_place(_places(one, field), _places(other, field))
        and (
            bool(_places(one, field)) or at_path(one.context, "spatial.area") == at_path(other.context, "spatial.area")
        )
    )


def are_of_one_text(one: ReferenceMemory, other: ReferenceMemory) -> bool:
    """Tell whether two memories say the same, wherever that is."""
    return _told(one) == _told(other) and (one.new.kind.value != "fact" or _context(one) == _context(other))


def _told(memory: ReferenceMemory) -> tuple[object, ...]:
    new = memory.new
    return new.kind, new.collection, new.content, folded(new.label), new.perception_type


def _context(memory: ReferenceMemory) -> tuple[str, ...]:
    return memory.new.context, memory.new.frame_id, memory.new.map_id


def _places(memory: ReferenceMemory, sorted_by: str) -> dict[tuple[str, ...], Sequence[float]]:
    found = {field: memory.position(field) for field in {*_FIELDS, sorted_by}}
    where = memory.new.frame_id, memory.new.map_id
    return {(field, *where): position for field, position in found.items() if position is not None}


def _at_one_place(one: dict[tuple[str, ...], Sequence[float]], other: dict[tuple[str, ...], Sequence[float]]) -> bool:
    return one.keys() == other.keys() and all(
        sum((a - b) * (a - b) for a, b in zip(one[field], other[field], strict=False)) <= _RADIUS * _RADIUS
        for field in one
    )
