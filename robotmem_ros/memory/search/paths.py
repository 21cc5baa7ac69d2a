"""Paths into the contexts of the memories of a file: whether one leads anywhere, and which there are."""

from __future__ import annotations

from collections.abc import Callable

from ..conditions.condition import ABSENT
from ..conditions.places import POSITION, context_field
from ..context_path import points, values_of
from ..storage import table_rows
from ..table.view import View

_READ = 2000
"""Memories whose contexts are read to find paths that look alike."""


def has_value(view: View, path: str, holds: Callable[[object], bool] | None = None) -> bool:
    """Tell whether a memory, withdrawn or not, has a value at a path, or one of which something holds."""
    values = view.late(f".{path}")
    mask = ~values.one_of([ABSENT]) if holds is None else values.where(holds)
    return bool((mask & view.is_present).any())


def known_paths(view: View) -> list[str]:
    """Return the paths of some thousand memories, in alphabetical order."""
    return sorted({path for context in _contexts(view) for path, _ in values_of(context)})


def known_fields(view: View) -> list[str]:
    """Return the fields in which some thousand memories have a position, in alphabetical order."""
    fields = {context_field(path) for context in _contexts(view) for path, _ in points(values_of(context))}
    return sorted(fields | ({POSITION} if view.spaces(POSITION, view.is_present) else set()))


def _contexts(view: View) -> set[str]:
    # Of memories from all of the time, since those of one minute are much alike.
    ids = view.ids[view.is_present]
    return {context for _, context in table_rows.contents(view.snapshot, ids[:: len(ids) // _READ + 1])}
