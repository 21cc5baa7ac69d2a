"""Find the phrases of a query: words that stand together, which count once more where a memory holds them so.

A phrase is a compound (`grip_force`, `12.5`, `src/arm.py`), a word with the letter or number that tells it from others
of its kind (`dock A`, `room 3.14`, `x axis`, `3号`), or a longer word of a script without spaces, except Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from . import scripts
from .scripts import Piece
from .stop_words import ERRAND_WORDS, STOP_WORDS
from .tokens import indexed_piece, split_word, terms

_JOINT = re.compile(r"[._\-/:]")
_ONLY_WORDS = re.compile(r"[\s,;?!]*(?:[a-z]{2,}(?:[\s,;?!]+|\Z))*")
"""Words of letters, which most queries are made of: no phrase is among them."""
_LONGEST = 8
"""Number of characters; a longer run was not cut into words."""
_UNNUMBERED = STOP_WORDS | ERRAND_WORDS | {""}


def phrases(plain: str, pieces: Iterable[Piece]) -> tuple[str, ...]:
    """Return the phrases of a plain text that is cut into pieces, each once: words as they are indexed."""
    if _ONLY_WORDS.fullmatch(plain):
        return ()
    units = list(_units(plain, pieces))
    compounds = (unit.words for unit in units if not unit.is_unspaced and len(unit.words) > 1)
    long_words = (word for unit in units if unit.is_unspaced for word in unit.long_words())
    return tuple(dict.fromkeys(map(" ".join, chain(compounds, long_words, _numbered_words(plain, units)))))


@dataclass(frozen=True)
class _Unit:
    """A compound, a single word, or a piece without spaces."""

    pieces: Sequence[Piece]
    words: Sequence[str]

    @property
    def is_unspaced(self) -> bool:
        return self.pieces[0].is_unspaced

    @property
    def is_number(self) -> bool:
        # Numbers and single letters: 3, A, 3.14, 12b.
        parts = [part for piece in self.pieces for part in split_word(piece.text)]
        return not self.is_unspaced and all(len(part) == 1 or part[-1].isdigit() for part in parts)

    def can_be_numbered(self, *, from_right: bool) -> bool:
        piece = self.pieces[-1 if from_right else 0]
        words = [piece.text] if len(self.pieces) == 1 else []
        if self.is_unspaced:
            words = [scripts.words(piece)[-1 if from_right else 0]]
        return not self.is_number and _UNNUMBERED.isdisjoint(words)

    def long_words(self) -> Iterator[list[str]]:
        # The pairs of a Chinese word weigh more than the word would already.
        for word in scripts.words(self.pieces[0]) if self.pieces[0].kind != "han" else ():
            pairs = [] if word in _UNNUMBERED else terms(word)
            if 1 < len(pairs) < _LONGEST:
                yield pairs


def _units(plain: str, pieces: Iterable[Piece]) -> Iterator[_Unit]:
    compound: list[Piece] = []
    for piece in pieces:
        if compound and not _makes_compound(plain, compound[-1], piece):
            yield _unit(compound)
            compound = []
        compound.append(piece)
    if compound:
        yield _unit(compound)


def _makes_compound(plain: str, first: Piece, second: Piece) -> bool:
    return not (first.is_unspaced or second.is_unspaced) and bool(_JOINT.fullmatch(plain[first.end : second.start]))


def _unit(pieces: Sequence[Piece]) -> _Unit:
    return _Unit(pieces, [word for piece in pieces for word in indexed_piece(piece)])


def _numbered_words(plain: str, units: Sequence[_Unit]) -> Iterator[list[str]]:
    # A number belongs to the characters that it touches, as in 3号; else to the word before it, or else behind it.
    for index, unit in enumerate(units):
        if not unit.is_number:
            continue
        before, after = units[max(index - 1, 0)], units[min(index + 1, len(units) - 1)]
        is_before = _stand_together(plain, before, unit) and before.can_be_numbered(from_right=True)
        is_after = _stand_together(plain, unit, after) and after.can_be_numbered(from_right=False)
        if is_after and (not is_before or unit.pieces[-1].end == after.pieces[0].start):
            yield [*unit.words, after.words[0]]
        elif is_before:
            yield [before.words[-1], *unit.words]


def _stand_together(plain: str, first: _Unit, second: _Unit) -> bool:
    return not plain[first.pieces[-1].end : second.pieces[0].start].strip(" \t")
