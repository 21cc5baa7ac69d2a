"""Choose by FTS5 which memories to rank, of those whose words are not in RAM: all that hold a word if they are few."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, chain, combinations

from ...storage.snapshot import Snapshot
from ...text import tokens
from ..candidates import Candidates

_COMBINED = 4
_NEWEST = """
    SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid
    WHERE memories_fts MATCH ? AND memories_fts.rowid > ? AND {check} ORDER BY memories_fts.rowid DESC LIMIT ?
"""


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
            arguments = (expression, behind, *check.arguments, limit)
            ids.update(snapshot.ids(_NEWEST.format(check=check.sql), arguments))
    return ids
