"""Split a text into words, in the same way for the index and for queries: stems without case and accents.

Chinese is cut by jieba, or into pieces of two characters without it; English words are stemmed, all others stay whole.
A letter that stands alone is a word if it is a name, see stop_words.py.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from .stemmer import stem
from .stop_words import STOP_WORDS, without_function_letters

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_KANA = "\u3040-\u30ff"
_CJK_RUN = re.compile(f"([{_HAN}]+|[{_KANA}]+)")
_WORD = re.compile(r"[^\W_]+")
_SYLLABLE = re.compile("[\uac00-\ud7a3]")
_COMPOUND = re.compile(r"[^\W_]+(?:[._\-/:][^\W_]+)+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_jieba_lock = threading.Lock()


@cache
def has_jieba() -> bool:
    """Return whether Chinese is cut into words; else into pieces of two characters.

    Cached, so that a jieba installed while the program runs does not cut text for an index made without it.
    """
    return importlib.util.find_spec("jieba") is not None


def scheme() -> str:
    """Name how text is cut; an index made by another scheme must be rebuilt."""
    return f"stems, letters, {'jieba' if has_jieba() else 'bigrams'}"


def indexed_text(text: str) -> str:
    """Return the text as it is indexed: all its words in their order, a space between two."""
    return _joined(_plain(text))


def query_words(text: str, *, extra_stop_words: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a query, each once, in order, without function words.

    A single letter or digit counts like any other word: `dock A` is not `dock B`. A query of function words alone keeps
    them.
    """
    words = list(_words(_plain(text), for_index=False))
    kept = [word for word in words if word not in STOP_WORDS and word not in extra_stop_words]
    return list(dict.fromkeys(map(stem, kept or words)))


def spellings(text: str) -> dict[str, str]:
    """Return how each word of a query is written there, by the word as it is indexed."""
    written = {_plain(match[0]): match[0] for match in _WORD.finditer(text)}
    return {stem(word): written.get(word, word) for word in _words(_plain(text), for_index=False)}


def only_qualifies(word: str) -> bool:
    """Return whether a word of a query is a letter or digit, which tells things of one kind apart but names no kind."""
    return len(word) == 1 and not (_CJK_RUN.match(word) or _SYLLABLE.match(word))


def query_phrases(text: str) -> list[str]:
    """Return the compounds of a query, such as `grip_force`, `12.5` or `src/arm.py`, whose words must be adjacent."""
    compounds = (_joined(match[0]) for match in _COMPOUND.finditer(_plain(text)))
    return list(dict.fromkeys(compounds))


def any_of(words: Iterable[str]) -> str:
    """Return the FTS5 expression that matches one word or more; every word is quoted, so none is an operator."""
    return " OR ".join(map(_quoted, words))


def all_of(words: Iterable[str]) -> str:
    """Return the FTS5 expression that matches all of the words."""
    return " AND ".join(map(_quoted, words))


def warm_up() -> None:
    """Load jieba's dictionary, which takes about a second, if jieba is installed."""
    if has_jieba():
        _jieba()


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _joined(plain: str) -> str:
    return " ".join(map(stem, _words(plain, for_index=True)))


def _plain(text: str) -> str:
    text = without_function_letters(text).lower()
    if text.isascii():
        return text
    # Only Latin, Greek and Cyrillic letters lose their accents: a Korean syllable must not fall apart.
    composed = unicodedata.normalize("NFKC", text)
    plain = "".join(unicodedata.normalize("NFD", letter)[0] if letter < "\u2000" else letter for letter in composed)
    return _ACCENTS.sub("", plain.lower())


def _words(plain: str, *, for_index: bool) -> Iterator[str]:
    if plain.isascii():
        yield from _WORD.findall(plain)
        return
    for piece in _CJK_RUN.split(plain):
        if _CJK_RUN.fullmatch(piece):
            yield from _cjk_words(piece, for_index=for_index)
        else:
            yield from _WORD.findall(piece)


def _cjk_words(run: str, *, for_index: bool) -> Iterator[str]:
    if has_jieba() and re.match(f"[{_HAN}]", run):
        yield from (_jieba().cut_for_search if for_index else _jieba().cut)(run)
    elif len(run) == 1:
        yield run
    else:
        yield from (run[index : index + 2] for index in range(len(run) - 1))
    if for_index and len(run) > 1:
        yield from run  # a query may hold one character of a word: 杯 for 杯子


@cache
def _jieba() -> Any:
    with _jieba_lock:
        import jieba

        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
    return jieba
