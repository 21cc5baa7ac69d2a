"""Read the words of a text and reduce English ones to their stems, so that mug and mugs, grasp and grasping match.

M. F. Porter: An algorithm for suffix stripping, Program 14 (3), 1980. A stem is measured by how often a vowel is
followed by a consonant in it; the longest suffix of a table is replaced if what is left before it measures enough.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .letters import HAN, simplify

_PLAIN = re.compile("[a-z]{3,40}")
_PLURAL = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_DERIVED = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "logi": "log",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_ADJECTIVES = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_ENDINGS = dict.fromkeys(
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism",
     "ate", "iti", "ous", "ive", "ize"), ""
) | {"sion": "s", "tion": "t"}  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_HAN_RUN = re.compile(f"[{HAN}]+")


class Reading(NamedTuple):
    """The words of a text."""

    original: str
    """The text in compatibility form (NFKC), in its letter case."""
    text: str
    """The same in simplified Chinese characters."""
    words: tuple[str, ...]
    """Words other than Chinese ones, in lower case, in order."""
    stems: tuple[str, ...]
    """Stems of the words."""
    runs: tuple[str, ...]
    """Uninterrupted runs of Chinese characters."""


def read(text: str) -> Reading:
    """Split a text into its words."""
    original = unicodedata.normalize("NFKC", text)
    plain = simplify(original)
    words = tuple(word.replace("’", "'") for word in _WORD.findall(_HAN_RUN.sub(" ", plain.lower())))
    return Reading(original, plain, words, stems(words), tuple(_HAN_RUN.findall(plain)))


def stems(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of words; one of three letters stays whole, so that `one` and `on` remain two."""
    return tuple(stem(word) if len(word) > 3 else word for word in words)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; one with other than English letters stays as it is."""
    if not _PLAIN.fullmatch(word):
        return word
    word = _replace_suffix(word, _PLURAL, -1)
    word = _without_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _DERIVED, 0)
    word = _replace_suffix(word, _ADJECTIVES, 0)
    word = _replace_suffix(word, _ENDINGS, 1)
    return _tidy(word)


def _replace_suffix(word: str, table: Mapping[str, str], min_measure: int) -> str:
    # The longest suffix that fits decides, even if what stands before it measures too little.
    for length in range(min(7, len(word)), 0, -1):
        suffix = word[-length:]
        if suffix in table:
            before = word[:-length]
            measure = _measure(before + _stem_letter(suffix))
            return before + table[suffix] if min_measure < 0 or measure > min_measure else word
    return word


def _stem_letter(suffix: str) -> str:
    # The first letter of -sion and -tion belongs to the stem.
    return suffix[0] if suffix in ("sion", "tion") else ""


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        before = word.removesuffix(suffix)
        if before != word and "v" in _shape(before):
            if before.endswith(("at", "bl", "iz")):
                return before + "e"
            if before[-2:-1] == before[-1] and _shape(before)[-1] == "c" and before[-1] not in "lsz":
                return before[:-1]
            return before + "e" if _measure(before) == 1 and _is_short(before) else before
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        before = word[:-1]
        if _measure(before) > 1 or (_measure(before) == 1 and not _is_short(before)):
            word = before
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _shape(word: str) -> str:
    # "v" for each vowel, "c" for each consonant; y is a vowel after a consonant.
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
