"""Which names somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str:
    """Continue a sentence with the names that are like one, the most alike first; empty if none is."""
    by_folded = {other.casefold(): other for other in names}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=3)
    return f"; near it: {', '.join(repr(by_folded[one]) for one in found)}" if found else ""
