"""Choose by FTS5 which memories to rank, of those whose words are not in RAM: all that hold a word if they are few."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, chain, combinations

from ...storage import text_rows
from ...storage.candidates import Candidates
from ...storage.snapshot import Snapshot
from ...text import tokens

_COMBINED = 4


def choice(
    snapshot: Snapshot, frequencies: Mapping[str, int], candidates: Candidates, *, limit: int, behind: int
) -> set[int]:
    """Choose candidates behind an id by words with their frequencies, about `limit`: all that hold rare words.

    Then the newest that hold all of the four rarest words, three of them, and so on.
    """
    rarest_first = sorted(frequencies, key=frequencies.__getitem__)
    sums = accumulate(frequencies[word] for word in rarest_first)
    rare = [word for word, memories in zip(rarest_first, sums, strict=True) if memories <= limit]
    # A group with a rare word has nothing new: all memories with that word are chosen.
    rarest = [word for word in rarest_first[:_COMBINED] if word not in rare]
    groups = chain.from_iterable(combinations(rarest, size) for size in range(len(rarest), 0, -1))
    check = candidates.check
    ids: set[int] = set()
    for expression in (tokens.any_of(rare), *map(tokens.all_of, groups), tokens.any_of(rarest_first)):
        if expression and len(ids) < limit:
            ids.update(text_rows.newest_with(snapshot, expression, behind, check, limit))
    return ids
