"""The text of a query, cut once: its words, its phrases, and how it spells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from . import scripts
from .phrases import phrases
from .stop_words import SPATIAL_WORDS
from .tokens import PlainText, content_words, terms, words_of


@dataclass(frozen=True)
class Analysis:
    """Words and phrases of a query, as they are indexed."""

    text: str

    @cached_property
    def words(self) -> Sequence[str]:
        """Return its words, each once, in order, without function words."""
        return content_words(self._pieces)

    @cached_property
    def phrases(self) -> Sequence[str]:
        """Return its phrases, each once: words that should stand together, a space between two."""
        return phrases(self._plain.text, self._pieces)

    @cached_property
    def subject(self) -> Sequence[str]:
        """Return the words without those that speak of the errand, such as `find` and `nearest`, if others are left."""
        return [word for word in self.words if word not in _spatial_terms()] or self.words

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Return the spelling of each word in the text."""
        spellings = {word: self.text[start:end] for word, start, end in words_of(self._plain, self._pieces)}
        return {word: spellings.get(word, word) for word in self.words}

    @cached_property
    def _plain(self) -> PlainText:
        return PlainText.of(self.text)

    @cached_property
    def _pieces(self) -> Sequence[scripts.Piece]:
        return scripts.pieces(self._plain.text)


@lru_cache(maxsize=16)
def analyse(text: str) -> Analysis:
    """Analyse the text of a query."""
    return Analysis(text)


@cache
def _spatial_terms() -> frozenset[str]:
    return frozenset(term for word in SPATIAL_WORDS for term in terms(word))
