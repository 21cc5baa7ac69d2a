"""The keys by which facts of like wording are found in an index: whole numbers of 64 bits.

Two facts have a key in common when they share a word and all that may not differ. So those that cannot be one are not
even looked at, and a key that two facts have by chance does no harm: what is found is compared.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import NamedTuple

from .wording import wording


class Keys(NamedTuple):
    """The keys of a fact; one of each kind for each word that carries its subject."""

    same: tuple[int, ...]
    """Shared with facts of the same collection and claim: these may be one with it."""
    opposed: tuple[int, ...]
    """Shared with facts of the same collection that name the same things: these may contradict it."""


@lru_cache(maxsize=256)
def keys(collection: str, text: str) -> Keys:
    """The keys of a fact."""
    mine = wording(text)
    same = tuple(_key("same", collection, mine.claim, word) for word in sorted(mine.words))
    names = repr(sorted(mine.names))
    return Keys(same, tuple(_key("opposed", collection, names, word) for word in sorted(mine.words)))


@lru_cache(maxsize=64)  # the triggers ask several times for the same fact
def keys_json(kind: str, collection: str, text: str) -> str:
    """All keys of a fact as a JSON array; of anything else an empty one."""
    if kind != "fact":
        return "[]"
    found = keys(collection, text)
    return json.dumps(sorted({*found.same, *found.opposed}))


def digest(text: str) -> str:
    """The digest of a normalised text, for the column `content_hash`."""
    return wording(text).digest


def _key(*parts: str) -> int:
    hashed = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed, "big", signed=True)
