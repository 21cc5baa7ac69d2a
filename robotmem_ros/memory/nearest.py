"""The name that was probably meant by one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """End a message about an unknown name with the nearest one, "; did you mean 'a'?"; empty for none.

    `cutoff` is the least likeness, in [0, 1]; upper and lower case are alike.
    """
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
