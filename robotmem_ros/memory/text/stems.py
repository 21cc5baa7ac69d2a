"""Word forms of English: slip, slips, slipped and slipping have one stem. Light: endings only, no dictionary."""

from __future__ import annotations

import re
from functools import lru_cache

_VOWEL = re.compile("[aeiouy]")
_KEPT_DOUBLE = ("l", "s", "z", "e", "o")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The stem of a word in small letters; for comparing, not for reading."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    return _without_e(_without_ending(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_ending(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in _KEPT_DOUBLE
            return rest[:-1] if doubled else rest
    return word[:-2] if word.endswith("ly") and len(word) > 5 else word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
