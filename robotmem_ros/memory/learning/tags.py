"""The tags of a lesson: those whose rules hold, and those of its category."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import Decision
from .rule import Rule
from .taxonomy import Taxonomy


def tags(holding: Sequence[Rule], category: str, taxonomy: Taxonomy) -> list[Decision]:
    """A decision for each tag, in alphabetical order."""
    found = {rule.name.removeprefix("tag."): rule.name for rule in holding}
    for tag in taxonomy.by_category.get(category, ()):
        of_category = f"category {category}"
        found[tag] = f"{found[tag]} + {of_category}" if tag in found else of_category
    return [Decision("tag", tag, found[tag]) for tag in sorted(found)]
