"""Read a text as the rules do: English words with their stems, and runs of simplified Chinese characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from .chinese import HAN, simplified
from .stemmer import stem

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_HAN_RUN = re.compile(f"[{HAN}]+")


class Reading(NamedTuple):
    """The words of a text."""

    written: str
    """The text in compatibility form (NFKC), in its letter case."""
    text: str
    """The same in simplified Chinese characters."""
    words: tuple[str, ...]
    """Words other than Chinese ones, in lower case, in order."""
    stems: tuple[str, ...]
    """Their stems."""
    runs: tuple[str, ...]
    """Uninterrupted runs of Chinese characters."""


def read(text: str) -> Reading:
    """Split a text into its words."""
    written = unicodedata.normalize("NFKC", text)
    plain = simplified(written)
    words = tuple(word.replace("’", "'") for word in _WORD.findall(_HAN_RUN.sub(" ", plain.lower())))
    return Reading(written, plain, words, stems(words), tuple(_HAN_RUN.findall(plain)))


def stems(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of words; one of three letters stays whole, so that `one` and `on` remain two."""
    return tuple(stem(word) if len(word) > 3 else word for word in words)
