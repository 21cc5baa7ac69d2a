"""Split a text into words, in the same way for the index and for queries: stems without case and accents.

English words are stemmed. A letter that stands alone is a word if it is a name, see stop_words.py. A script without
spaces between words is indexed by its characters and their pairs, and so are the words of a query, see scripts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from . import chinese, scripts
from .letters import ASCII_SPACES, MARKS, composed, folded
from .stemmer import stem
from .stop_words import STOP_WORDS, without_function_letters

_WRITTEN = re.compile(rf"-?\d+\.\d+|-?[^\W_](?:[^\W_]|[{MARKS}])*")
# 3rd is 3, and the words of room3, 5kg and 12b are found in all ways to write them. What mixes more is a code.
_MIXED = re.compile(r"(−?\d+)(?:st|nd|rd|th)|(−?\d+(?:٫\d+)?)([^\d٫]+)|([^\d−]+)(\d+)")
_NEGATIVE = re.compile(r"(?<![^\s(\[{=:<>,;|])-(?=\d)")
# The Arabic point is no other thing in any text, so it makes one word of 3.14 while 3.14.1 remains three.
_DECIMAL = re.compile(r"(?<![\w.])(\d+)\.(\d+)(?!\d|\.\d)")
HAN_NUMERAL = re.compile("[一二两三四五六七八九十百]+(?=[号楼层室区栋排])")
"""A Chinese numeral that numbers something: 二号 is 2号."""


def scheme() -> str:
    """Name how text is cut; an index made by another scheme must be rebuilt."""
    return "stems, letters, characters, pairs"


def indexed_text(text: str) -> str:
    """Return the text as it is indexed: all its words in their order, a space between two.

    The characters of a run of a script without spaces come first, then their pairs: 红 杯 子 红杯 杯子.
    """
    plain = plain_text(text)
    if text.isascii() or plain.isascii():  # an ASCII text gets other characters in its numbers alone
        return " ".join(map(_indexed_word, plain.translate(ASCII_SPACES).split()))
    return " ".join(word for piece in scripts.pieces(plain) for word in indexed_piece(piece))


def query_words(text: str, *, extra_stop_words: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a query, each once, in order, without function words.

    A single letter or digit counts like any other word: `dock A` is not `dock B`. A query of function words alone keeps
    them.
    """
    pieces = list(scripts.pieces(plain_text(text)))
    words = [word for piece in pieces for word in _words(piece)]
    whole = [piece.text for piece in pieces]
    kept = [word for word in words if word not in STOP_WORDS and word not in extra_stop_words]
    return list(dict.fromkeys(term for word in kept or words or whole for term in terms(word)))


def spellings(text: str) -> dict[str, str]:
    """Return how each word of a query is written there, by the word as it is indexed."""
    found: dict[str, str] = {}
    for match in _WRITTEN.finditer(composed(text)):
        if match[0].isascii() and match[0].isalpha():  # as below, but quicker
            found[stem(folded(match[0]))] = match[0]
            continue
        for piece in scripts.pieces(plain_text(match[0])):
            words = list(_words(piece))
            whole = match[0] if not piece.is_unspaced and len(words) == 1 else ""
            found |= {term: whole or term for word in words for term in terms(word)}
    return found


def only_qualifies(word: str) -> bool:
    """Return whether a word of a query is a letter or digit, which tells things of one kind apart but names no kind."""
    return len(word.lstrip("−")) == 1 and scripts.kind(word) == "word"


def any_of(words: Iterable[str]) -> str:
    """Return the FTS5 expression that matches one word or more; every word is quoted, so none is an operator."""
    return " OR ".join(map(_quoted, words))


def all_of(words: Iterable[str]) -> str:
    """Return the FTS5 expression that matches all of the words, of phrases too: words with a space between two."""
    return " AND ".join(map(_quoted, words))


def warm_up() -> None:
    """Load what cuts Chinese into words, which takes about a second."""
    chinese.warm_up()


def plain_text(text: str) -> str:
    """Return a text without function words of one letter, letter case, and what is optional in its spelling."""
    plain = with_points_and_signs(folded(without_function_letters(composed(text))))
    return plain if plain.isascii() else HAN_NUMERAL.sub(in_digits, plain)


def with_points_and_signs(folded_text: str) -> str:
    """Replace the points and signs of numbers by characters that are parts of words; all else stays where it is."""
    if "." in folded_text:
        folded_text = _DECIMAL.sub("\\1٫\\2", folded_text)
    return _NEGATIVE.sub("−", folded_text) if "-" in folded_text else folded_text


def in_digits(numeral: re.Match[str]) -> str:
    """Write a numeral that `HAN_NUMERAL` found in digits."""
    return f"{chinese.value(numeral[0]):g}"


def split_word(word: str) -> tuple[str, ...]:
    """Split a word of letters and then digits, or the reverse: `room3`, `5kg`; the ending of `3rd` is left out."""
    if word.isalpha() or not (match := _MIXED.fullmatch(word)):
        return (word,)
    return tuple(filter(None, match.groups()))


def terms(word: str) -> list[str]:
    """Return the words of the index that stand for a word of a query."""
    kind = scripts.kind(word)
    return [stem(word)] if kind == "word" else scripts.pairs(scripts.characters(word, kind))


def indexed_piece(piece: scripts.Piece) -> Iterator[str]:
    """Give the words by which a piece is indexed, in order."""
    if piece.kind == "word":
        yield from map(stem, split_word(piece.text))
        return
    characters = scripts.characters(piece.text, piece.kind)
    yield from characters
    if len(characters) > 1:
        yield from scripts.pairs(characters)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


@lru_cache(maxsize=16_384)  # most words of a text stood in others before
def _indexed_word(word: str) -> str:
    return " ".join(map(stem, split_word(word)))


def _words(piece: scripts.Piece) -> Iterator[str]:
    yield from split_word(piece.text) if piece.kind == "word" else filter(None, scripts.words(piece))
