"""Find where the words of a text are written in it, in the same way as the index reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from . import scripts
from .graphemes import clusters
from .letters import composed, folded
from .stemmer import stem
from .stop_words import without_function_letters
from .tokens import HAN_NUMERAL, in_digits, split_word, with_points_and_signs

# A text has few different characters.
_composed = lru_cache(maxsize=4096)(composed)
_folded = lru_cache(maxsize=4096)(folded)


class WrittenWord(NamedTuple):
    """A word of a text, and where it is written."""

    word: str
    """As it is indexed."""
    start: int
    end: int
    """In whole characters of the text."""


class _Plain(NamedTuple):
    """A text as words are cut from it, and where each of its characters comes from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def at(self, start: int, end: int, word: str) -> WrittenWord:
        """Return a word with the place where it is written."""
        return WrittenWord(word, self.starts[start], self.ends[end - 1])


def written_words(text: str) -> Iterator[WrittenWord]:
    """Give the words of a text as `tokens.indexed_text` does, in the same order."""
    plain = _plain(text)
    for piece in scripts.pieces(plain.text):
        yield from _of_word(plain, piece) if piece.kind == "word" else _of_run(plain, piece)


def _of_word(plain: _Plain, piece: scripts.Piece) -> Iterator[WrittenWord]:
    parts = split_word(piece.text)
    if len(parts) == 1:
        yield plain.at(piece.start, piece.end, stem(parts[0]))  # with the ending of 3rd
        return
    start = piece.start
    for part in parts:
        yield plain.at(start, start + len(part), stem(part))
        start += len(part)


def _of_run(plain: _Plain, piece: scripts.Piece) -> Iterator[WrittenWord]:
    characters = scripts.characters(piece.text, piece.kind)
    places, start = [], piece.start
    for character in characters:
        places.append((start, start + len(character)))
        start += len(character)
    for character, (start, end) in zip(characters, places, strict=True):
        yield plain.at(start, end, character)
    for (one, other), ((start, _), (_, end)) in zip(pairwise(characters), pairwise(places), strict=True):
        yield plain.at(start, end, one + other)


def _plain(text: str) -> _Plain:
    # As `tokens.plain_text`, one character of the text after the other.
    if text.isascii():
        spaced = without_function_letters(text, " ")
        return _Plain(with_points_and_signs(folded(spaced)), range(len(text)), range(1, len(text) + 1))
    places = list(clusters(text))
    parts = [_composed(text[start:end]) for start, end in places]
    spaced = without_function_letters("".join(parts), " ")
    starts: list[int] = []
    ends: list[int] = []
    written, at = [], 0
    for (start, end), part in zip(places, parts, strict=True):
        characters = _folded(spaced[at : at + len(part)])
        written.append(characters)
        starts += [start] * len(characters)
        ends += [end] * len(characters)
        at += len(part)
    return _with_digits(_Plain(with_points_and_signs("".join(written)), starts, ends))


def _with_digits(plain: _Plain) -> _Plain:
    text, starts, ends = plain.text, list(plain.starts), list(plain.ends)
    for match in reversed(list(HAN_NUMERAL.finditer(text))):
        start, end = match.span()
        digits = in_digits(match)
        text = text[:start] + digits + text[end:]
        starts[start:end] = [starts[start]] * len(digits)
        ends[start:end] = [ends[end - 1]] * len(digits)
    return _Plain(text, starts, ends)
