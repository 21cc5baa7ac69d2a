"""Cut a text into pieces of one script, and pieces of scripts without spaces into words.

The words of a query are found by jieba (Chinese) and ICU (Thai, Lao, Khmer, Burmese) where these are installed. The
index does not depend on them: it holds the characters of such a piece, and all pairs of neighbours.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ..threads import importing
from .letters import HAN, MARKS
from .stop_words import STOP_WORDS, korean_stem, without_hiragana_end

_KATAKANA = "\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff"
_HIRAGANA = "\u3041-\u3096\u309d-\u309f"
_LONG_VOWEL = "\u30fc"
_HANGUL = "\uac00-\ud7a3"
_CHAINED = "\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u103f\u1050-\u109d\u1780-\u17d3\ua9e0-\ua9fe\uaa60-\uaa7f"
"""Thai, Lao, Burmese, Khmer: letters and marks without digits."""
UNSPACED = f"{HAN}{_KATAKANA}{_HIRAGANA}{_HANGUL}{_CHAINED}"
_PIECE = re.compile(
    rf"(?P<han>[{HAN}]+)|(?P<katakana>[{_KATAKANA}][{_KATAKANA}{_LONG_VOWEL}]*)"
    rf"|(?P<hiragana>[{_HIRAGANA}][{_HIRAGANA}{_LONG_VOWEL}]*)|(?P<hangul>[{_HANGUL}]+)|(?P<chained>[{_CHAINED}]+)"
    rf"|(?P<word>−?(?:\d+٫\d+|[^\W_{UNSPACED}])(?:[^\W_{UNSPACED}]|(?![{_CHAINED}])[{MARKS}])*)"
)
# A consonant below another one belongs to the same syllable.
_CLUSTER = re.compile(rf"(?s:.)(?:[{MARKS}]|(?<=[\u17d2\u1039]).)*")
_TO_KATAKANA = {code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)}
_LONG_WORD = 4
_FUNCTION_WORD = re.compile("|".join(sorted(word for word in STOP_WORDS if re.match(f"[{_CHAINED}]{{4}}", word))))
_NUMERAL = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_jieba_lock = threading.Lock()


class Piece(NamedTuple):
    """A part of a text that is written in one script."""

    kind: str
    """`word` for a script with spaces; else `han`, `katakana`, `hiragana`, `hangul` or `chained`."""
    text: str
    start: int
    end: int
    """Position in the text."""

    @property
    def is_unspaced(self) -> bool:
        """Return whether its script joins words without a space, or particles to words."""
        return self.kind != "word"


def pieces(text: str) -> list[Piece]:
    """Cut a folded text into pieces, in order; what is between them is no part of a word."""
    matches = _PIECE.finditer(text)
    return [Piece(match.lastgroup or "word", match[0], match.start(), match.end()) for match in matches]


def kind(word: str) -> str:
    """Return the kind of piece that a word is, or begins with."""
    match = None if word.isascii() else _PIECE.match(word)
    return (match.lastgroup if match else None) or "word"


def characters(piece: str, kind: str) -> list[str]:
    """Return the characters of a piece without spaces, each with its marks, and in katakana for hiragana."""
    if kind == "chained":
        return _CLUSTER.findall(piece)
    if kind in ("katakana", "hiragana"):
        if len(piece) >= _LONG_WORD and piece[-1] == _LONG_VOWEL:
            piece = piece[:-1]  # it is often left out: コンピューター
        return list(piece.translate(_TO_KATAKANA))
    return list(piece)


def pairs(characters: list[str]) -> list[str]:
    """Return the pairs of neighbours; a single character as it is."""
    return ["".join(pair) for pair in pairwise(characters)] or characters


def words(piece: Piece) -> list[str]:
    """Return the words of a piece without spaces."""
    if piece.kind == "han":
        return chinese_words(piece.text)
    if piece.kind == "hangul":
        return [korean_stem(piece.text)]
    if piece.kind == "hiragana":
        return [without_hiragana_end(piece.text)]
    return _chained_words(piece.text) if piece.kind == "chained" else [piece.text]


def chinese_number(numeral: str) -> float:
    """Return the number that a Chinese numeral such as 二十三 writes."""
    total, digit = 0, 0
    for character in numeral:
        if character in _NUMERAL:
            digit = _NUMERAL[character]
        else:
            total += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[character]
            digit = 0
    return float(total + digit)


def chinese_words(run: str) -> list[str]:
    """Return the words of a run of Chinese characters; without jieba, all pairs of neighbouring characters."""
    if has_jieba():
        return list(_jieba().cut(run))
    return [run[index : index + 2] for index in range(max(len(run) - 1, 1))]


def load_chinese() -> None:
    """Load jieba's dictionary, if jieba is installed: a second or two, and 100 MB."""
    if has_jieba():
        _jieba()


def lacks_chinese() -> bool:
    """Tell whether jieba's dictionary could be loaded, and is not."""
    return has_jieba() and not _jieba.cache_info().currsize


@cache
def has_jieba() -> bool:
    """Return whether jieba cuts Chinese into words; cached, so that a program always cuts in the same way."""
    return importlib.util.find_spec("jieba") is not None


@cache
def has_icu() -> bool:
    """Return whether ICU cuts Thai, Lao, Khmer and Burmese queries into words."""
    return importlib.util.find_spec("icu4py") is not None


@cache
def _jieba() -> Any:
    with _jieba_lock:
        with importing:
            import jieba
        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
    return jieba


def _chained_words(run: str) -> list[str]:
    if not has_icu():
        return [part for part in _FUNCTION_WORD.split(run) if part] or [run]
    with importing:
        from icu4py.breakers import WordBreaker
    # Not within a character with its marks, which the index does not divide.
    ends = set(accumulate(map(len, _CLUSTER.findall(run))))
    word_ends = [end for end in accumulate(map(len, WordBreaker(run, "und"))) if end in ends]
    return [run[start:end] for start, end in pairwise([0, *word_ends])]
