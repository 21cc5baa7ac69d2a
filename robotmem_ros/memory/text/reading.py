"""A text as the rules see it: English words with their stems, and runs of Chinese."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .simplified import simplified
from .stems import stem

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN_RUN = re.compile(f"[{_HAN}]+")
_NOT_HAN = re.compile(f"[{_HAN}]")


class Reading(NamedTuple):
    """A text, taken apart once for all rules."""

    written: str
    """In compatible form (NFKC), letters as they were."""
    text: str
    """The same in simplified Chinese characters."""
    words: tuple[str, ...]
    """Words other than Chinese ones, in small letters, in order."""
    stems: tuple[str, ...]
    """Their stems."""
    runs: tuple[str, ...]
    """Uninterrupted runs of Chinese characters."""


def read(text: str) -> Reading:
    """Takes a text apart."""
    written = unicodedata.normalize("NFKC", text)
    plain = simplified(written)
    words = tuple(word.replace("’", "'") for word in _WORD.findall(_NOT_HAN.sub(" ", plain.lower())))
    return Reading(written, plain, words, tuple(map(stem, words)), tuple(_HAN_RUN.findall(plain)))


def has_han(text: str) -> bool:
    """Whether there is a Chinese character in a text."""
    return _NOT_HAN.search(text) is not None
