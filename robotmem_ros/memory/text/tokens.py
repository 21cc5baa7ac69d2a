"""Split a text into words, in the same way for the index and for queries: stems without case and accents.

English words are stemmed here, those of other languages in inflection.py. A script without spaces between words is
indexed by its characters and their pairs, and so are the words of a query, see scripts.py.

A letter that stands alone is a word if it is a name. A function word of one letter never stands last, before
punctuation, or before most other function words. A capital A within a sentence is a name.

The words of a query that stand together are a phrase, which counts once more where a memory holds them so: a compound
(`grip_force`, `12.5`, `src/arm.py`), a word with the letter or number that tells it from others of its kind (`dock A`,
`room 3.14`, `x axis`, `3号`), or a longer word of a script without spaces, except Chinese.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from . import scripts
from .inflection import has_snowball, is_function_word, language_of, stem_by_script, stem_in
from .letters import ASCII_SPACES, clusters, compose, fold
from .scripts import Piece
from .stemmer import stem
from .stop_words import ENGLISH, ERRAND_WORDS, SPATIAL_WORDS, STOP_WORDS

# 3rd is 3, and the words of room3, 5kg and 12b are found in all ways to write them. What mixes more is a code.
_MIXED = re.compile(r"(−?\d+)(?:st|nd|rd|th)|(−?\d+(?:٫\d+)?)([^\d٫]+)|([^\d−]+)(\d+)")
_NEGATIVE = re.compile(r"(?<![^\s(\[{=:<>,;|])-(?=\d)")
# The Arabic point is no other thing in any text, so it makes one word of 3.14 while 3.14.1 remains three.
_DECIMAL = re.compile(rf"(?:(?<![\w.])|(?<=[{scripts.UNSPACED}]))(\d+)\.(\d+)(?!\d|\.\d)")
_HAN_NUMERAL = re.compile("[一二两三四五六七八九十百]+(?=[号楼层室区栋排])")
"""A Chinese numeral that numbers something: 二号 is 2号."""
_AFTER_A = "few further more one saw show thing use used very"
_AFTER_I = """
also am can could did do does get give go got had have just let like look need now once only please pick put saw see
should show take tell use used want was will would
"""
_LETTERS: dict[str, frozenset[str]] = {"a": frozenset(_AFTER_A.split()), "i": frozenset(_AFTER_I.split())}
"""The function words of one letter, and the other function words that may follow each: `a few`, `I saw`.

The same letter is a name where its function word cannot stand, as in `dock a is free`.
"""
# The letter comes first, which makes the search quick; the context before it is checked afterwards.
_LETTER = re.compile(r"([aàiAÀI])(?=\s+([^\W_]+))(?<![\w._\-/:'’].)")
_CLITIC = re.compile(r"(?<=[^\W_])['’](?:s|t|d|m|re|ve|ll)(?![^\W_])", re.IGNORECASE)
_ELISION = re.compile(r"(?<![^\W_])[cdjlmnst]['’](?=[^\W\d_]{2})", re.IGNORECASE)
_LAST_WORD = re.compile(r"([^\W_]+)[ \t]*\Z")
_SHORTEST_STEM = 4
"""Letters of a stem by which words of an unknown language are found."""
_SIGHT = 40
"""Number of characters before a letter that are searched for the word there."""
# A text has few different characters.
_compose = lru_cache(maxsize=4096)(compose)
_fold = lru_cache(maxsize=4096)(fold)


class WrittenWord(NamedTuple):
    """A word of a text, and where it is written."""

    word: str
    """Word as it is indexed."""
    start: int
    end: int
    """End in the text, in whole characters like `start`."""


def scheme() -> str:
    """Name how text is cut; an index made by another scheme must be rebuilt."""
    return f"stems, letters, characters, pairs{', stems of languages, no article' * has_snowball()}"


@lru_cache(maxsize=1024)  # a robot often sees the same
def indexed_text(text: str) -> str:
    """Return the text as it is indexed: all its words in their order, a space between two.

    The characters of a run of a script without spaces come first, then their pairs: 红 杯 子 红杯 杯子. The language of
    the text comes last if it is in Latin script and not English.
    """
    plain = plain_text(text)
    if text.isascii() or plain.isascii():  # an ASCII text gets other characters in its numbers alone
        words = plain.translate(ASCII_SPACES).split()
        language = language_of(words)
        indexed = " ".join(_indexed_word(word, language) for word in words)
    else:
        pieces = scripts.pieces(plain)
        language = language_of(piece.text for piece in pieces)
        indexed = " ".join(word for piece in pieces for word in indexed_piece(piece, language))
    return f"{indexed} :{language}" if language else indexed


def query_words(text: str) -> list[str]:
    """Return the words of a query, each once, in order, without function words."""
    return content_words(scripts.pieces(plain_text(text)))


def content_words(pieces: Sequence[scripts.Piece]) -> list[str]:
    """Return the words of a query that is cut into pieces, each once, in order, without function words.

    A single letter or digit counts like any other word: `dock A` is not `dock B`. A query of function words alone keeps
    them.
    """
    words = [word for piece in pieces for word in _words(piece)]
    language = language_of(words)
    content = [word for word in words if word not in STOP_WORDS and not is_function_word(word, language)]
    whole = content or words or [piece.text for piece in pieces]
    return list(dict.fromkeys(term for word in whole for term in terms(word)))


def written_words(text: str) -> list[WrittenWord]:
    """Return the words of a text as `indexed_text` does, in the same order, without its language."""
    plain = PlainText.of(text)
    pieces = scripts.pieces(plain.text)
    return words_of(plain, pieces, language_of(piece.text for piece in pieces))


def words_of(plain: PlainText, pieces: Iterable[scripts.Piece], language: str = "") -> list[WrittenWord]:
    """Return the words of a plain text that is cut into pieces, as they are indexed in a language, in order."""
    return [
        word
        for piece in pieces
        for word in (_of_word(plain, piece, language) if piece.kind == "word" else _of_run(plain, piece))
    ]


def plain_text(text: str) -> str:
    """Return a text without function words of one letter, letter case, and what is optional in its spelling."""
    plain = _with_points_and_signs(fold(without_function_letters(compose(text))))
    return plain if plain.isascii() else _HAN_NUMERAL.sub(_in_digits, plain)


def _with_points_and_signs(folded_text: str) -> str:
    # Characters that are parts of words for the points and signs of numbers; all else stays where it is.
    if "." in folded_text:
        folded_text = _DECIMAL.sub("\\1٫\\2", folded_text)
    return _NEGATIVE.sub("−", folded_text) if "-" in folded_text else folded_text


def _in_digits(numeral: re.Match[str]) -> str:
    return f"{scripts.chinese_number(numeral[0]):g}"


@lru_cache(maxsize=16_384)
def split_word(word: str) -> tuple[str, ...]:
    """Split a word of letters and then digits, or the reverse: `room3`, `5kg`; the ending of `3rd` is left out."""
    if word.isalpha() or not (match := _MIXED.fullmatch(word)):
        return (word,)
    return tuple(filter(None, match.groups()))


def terms(word: str) -> list[str]:
    """Return the words of the index that stand for a word of a query."""
    kind = "word" if word.isascii() else scripts.kind(word)
    return [_stem(word)] if kind == "word" else scripts.pairs(scripts.characters(word, kind))


def indexed_piece(piece: scripts.Piece, language: str = "") -> Iterator[str]:
    """Yield the words by which a piece is indexed in a text of a language, in order."""
    if piece.kind == "word":
        yield from (_stem(word, language) for word in split_word(piece.text))
        return
    characters = scripts.characters(piece.text, piece.kind)
    yield from characters
    if len(characters) > 1:
        yield from scripts.pairs(characters)


@lru_cache(maxsize=16_384)  # most words of a text stood in others before
def _stem(word: str, language: str = "") -> str:
    return stem_in(word, language) or (stem(word) if word.isascii() else stem_by_script(word))


@lru_cache(maxsize=16_384)
def _indexed_word(word: str, language: str) -> str:
    return " ".join(_stem(part, language) for part in split_word(word))


def by_stems(texts: Iterable[str], language: str) -> Mapping[str, set[str]]:
    """Return the words of texts, as they are indexed in English, by their stems in a language.

    Words of very short stems are left out: they are too often the same as those of others, such as lid and lidar in
    Spanish.
    """
    words = defaultdict[str, set[str]](set)
    for text in texts:
        for word in _plain_words(text):
            if (key := stem_in(word, language)).find(":") >= _SHORTEST_STEM:
                words[key].add(stem(word))
    return words


@lru_cache(maxsize=16_384)
def _plain_words(text: str) -> tuple[str, ...]:
    # Those of scripts with spaces between words.
    pieces = scripts.pieces(plain_text(text))
    return tuple(word for piece in pieces if piece.kind == "word" for word in split_word(piece.text))


def _words(piece: scripts.Piece) -> Iterator[str]:
    yield from split_word(piece.text) if piece.kind == "word" else filter(None, scripts.words(piece))


def without_function_letters(text: str, filler: str = "") -> str:
    """Remove the article `a` and the pronoun `I`, and letters cut off by an apostrophe: `robot's`, `l'atelier`.

    `filler` stands for each removed character: a space leaves the others where they are.
    """
    if "'" in text or "’" in text:
        for cut_off in (_CLITIC, _ELISION):
            text = cut_off.sub(lambda match: filler * len(match[0]), text)
    has_case = not (text.isupper() or text.istitle())
    return _LETTER.sub(lambda match: match[0] if _is_name(match, has_case=has_case) else filler, text)


def _is_name(match: re.Match[str], *, has_case: bool) -> bool:
    letter, next_word = match[1], match[2].lower()
    if letter in "iI":
        last = _LAST_WORD.search(_before(match))
        return last is not None and last[1].lower() not in ENGLISH and _cannot_follow("i", next_word)
    return (letter == "A" and has_case and _is_within_sentence(match)) or _cannot_follow("a", next_word)


def _cannot_follow(function_letter: str, word: str) -> bool:
    return word in ENGLISH and word not in _LETTERS[function_letter]


def _is_within_sentence(match: re.Match[str]) -> bool:
    before = _before(match)
    return _LAST_WORD.search(before) is not None or before.rstrip(" \t").endswith(",")


def _before(match: re.Match[str]) -> str:
    return match.string[max(match.start() - _SIGHT, 0) : match.start()]


class PlainText(NamedTuple):
    """A text as words are cut from it, and where each of its characters comes from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, text: str) -> PlainText:
        """Make `plain_text` of a text, one character after the other."""
        places = list(clusters(text)) if not text.isascii() else [(at, at + 1) for at in range(len(text))]
        parts = [_compose(text[start:end]) for start, end in places] if not text.isascii() else text
        whole = "".join(parts)
        spaced = without_function_letters(whole, " ")
        if text.isascii() and spaced == text:
            return cls(_with_points_and_signs(fold(text)), range(len(text)), range(1, len(text) + 1))
        starts: list[int] = []
        ends: list[int] = []
        pieces, at = [], 0
        for (start, end), part in zip(places, parts, strict=True):
            # What a space stands for now is no part of a word.
            visible = "".join(new for new, old in zip(spaced[at:], part, strict=False) if new == old)
            characters = _fold(visible)
            pieces.append(characters)
            starts += [start] * len(characters)
            ends += [end] * len(characters)
            at += len(part)
        return _with_digits(cls(_with_points_and_signs("".join(pieces)), starts, ends))

    def at(self, start: int, end: int, word: str) -> WrittenWord:
        """Return a word with the place where it is written."""
        return WrittenWord(word, self.starts[start], self.ends[end - 1])


def _of_word(plain: PlainText, piece: scripts.Piece, language: str) -> Iterator[WrittenWord]:
    parts = split_word(piece.text)
    if len(parts) == 1:
        yield plain.at(piece.start, piece.end, _stem(parts[0], language))  # with the ending of 3rd
        return
    start = piece.start
    for part in parts:
        yield plain.at(start, start + len(part), _stem(part, language))
        start += len(part)


def _of_run(plain: PlainText, piece: scripts.Piece) -> Iterator[WrittenWord]:
    characters = scripts.characters(piece.text, piece.kind)
    places, start = [], piece.start
    for character in characters:
        places.append((start, start + len(character)))
        start += len(character)
    for character, (start, end) in zip(characters, places, strict=True):
        yield plain.at(start, end, character)
    for (first, second), ((start, _), (_, end)) in zip(pairwise(characters), pairwise(places), strict=True):
        yield plain.at(start, end, first + second)


def _with_digits(plain: PlainText) -> PlainText:
    text, starts, ends = plain.text, list(plain.starts), list(plain.ends)
    for match in reversed(list(_HAN_NUMERAL.finditer(text))):
        start, end = match.span()
        digits = _in_digits(match)
        text = text[:start] + digits + text[end:]
        starts[start:end] = [starts[start]] * len(digits)
        ends[start:end] = [ends[end - 1]] * len(digits)
    return PlainText(text, starts, ends)


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
    def language(self) -> str:
        """Return the language that its words are told to be of; empty for English, and where too little tells."""
        return language_of(piece.text for piece in self._pieces)

    def forms(self, word: str, languages: Iterable[str]) -> tuple[str, ...]:
        """Return all that stands for one of its words in an index with texts in some languages: itself first."""
        # English endings go as well: snowball has other stems for some plurals, such as bicchieri.
        stems = (stem_in(one, language) for language in languages for one in (*self._written.get(word, ()), word))
        return tuple(dict.fromkeys([word, *filter(None, stems)]))

    @cached_property
    def _written(self) -> Mapping[str, set[str]]:
        # By each word as it is indexed in English, how the text writes it.
        written = defaultdict[str, set[str]](set)
        for piece in self._pieces:
            for word in split_word(piece.text) if piece.kind == "word" else ():
                written[_stem(word)].add(word)
        return written

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
