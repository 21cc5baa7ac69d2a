"""What a fact is about and what it claims, as whole numbers by which an index finds facts of like wording.

Facts of one subject have all words in common, and the names that may not differ. A number that two facts have by chance
does no harm: what is found is compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .statement import Stance, wording

_BITS = 64
_WORD_BITS = 48


class Subject(NamedTuple):
    """The words of a fact together with its collection and its names."""

    id: int
    """Of all of them."""
    words: tuple[int, ...]
    """One for each word that carries the subject, smallest first; others in another collection, or with other names."""
    signature: int
    """A bit for each word: without all bits of a signature, a subject has not all of its words."""
    claim: int
    """What must be the same in two facts that say one thing."""

    @property
    def words_json(self) -> str:
        """The words as they are stored."""
        return json.dumps(self.words, separators=(",", ":"))


@lru_cache(maxsize=256)  # the triggers ask several times for the same fact
def subject(collection: str, text: str) -> Subject:
    """The subject of a fact."""
    mine = wording(text)
    base = hashlib.blake2b(f"{collection}\0{sorted(mine.names)!r}\0".encode("utf-8", "surrogatepass"), digest_size=8)
    words = tuple(sorted(_number(base, word) >> (_BITS - _WORD_BITS) for word in mine.words))
    signature = 0
    for word in words:
        signature |= 1 << word % _BITS
    claim = _number(hashlib.blake2b(digest_size=8), mine.claim)
    return Subject(_number(base, repr(words)), words, _signed(signature), claim)


def lesson(subject_id: int, claim: int) -> int:
    """Stands for all facts of a subject that claim the same."""
    return subject_id ^ claim


@lru_cache(maxsize=4096)
def stance(stored: str) -> Stance:
    """The values, sides and negations of a fact as the index has them."""
    values, sides, negations = json.loads(stored)
    return Stance(tuple(map(tuple, values)), frozenset(sides), negations)


def digest(text: str) -> str:
    """The digest of a normalised text, for the column `content_hash`."""
    return wording(text).digest


def _number(base: hashlib.blake2b, text: str) -> int:
    hashed = base.copy()
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(hashed.digest(), "big", signed=True)


def _signed(bits: int) -> int:
    return bits - (1 << _BITS) if bits >> (_BITS - 1) else bits


def _lesson(collection: str, text: str) -> int:
    mine = subject(collection, text)
    return lesson(mine.id, mine.claim)


def _stance_json(text: str) -> str:
    values, sides, negations = wording(text).stance
    return json.dumps([values, sorted(sides), negations], ensure_ascii=False, separators=(",", ":"))


FUNCTIONS: Mapping[str, tuple[int, Callable[..., str | int]]] = {
    "content_digest": (1, digest),
    "subject_id": (2, lambda collection, text: subject(collection, text).id),
    "subject_signature": (2, lambda collection, text: subject(collection, text).signature),
    "subject_words": (2, lambda collection, text: subject(collection, text).words_json),
    "fact_lesson": (2, _lesson),
    "fact_stance": (1, _stance_json),
}
"""What the triggers call, by name, with the number of arguments."""
