"""Words of a text: jieba for Chinese, two-character pieces without it; FTS5 does the rest (case, accents, word stems).

Stemming is FTS5's `porter`, so that mug and mugs, grasp and grasping meet; it leaves Chinese words alone.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from .stop_words import STOP_WORDS

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_KANA = "\u3040-\u30ff"
_CJK_RUN = re.compile(f"([{_HAN}]+|[{_KANA}]+)")
_WORD = re.compile(r"[^\W_]+")
_SYLLABLE = re.compile("[\uac00-\ud7a3]")
_COMPOUND = re.compile(r"[^\W_]+(?:[._\-/:][^\W_]+)+")
_jieba_lock = threading.Lock()


def has_jieba() -> bool:
    """Whether Chinese is cut into words; else into pieces of two characters."""
    return importlib.util.find_spec("jieba") is not None


def scheme() -> str:
    """Names how text is cut; an index made under another scheme must be made anew."""
    return "jieba" if has_jieba() else "bigram"


def indexed_text(text: str) -> str:
    """The text as FTS5 gets it: Chinese words set apart by spaces, all else as it was."""
    return _CJK_RUN.sub(lambda run: f" {' '.join(_cjk_words(run[0], for_index=True))} ", text)


def query_words(text: str, *, extra_stop_words: frozenset[str] = frozenset()) -> list[str]:
    """The words that carry a question, each once, in order, without function words.

    Single characters are dropped unless they are Chinese, Japanese or Korean. If only function words are left, they
    are used.
    """
    words = list(dict.fromkeys(_words(text)))
    kept = [word for word in words if word not in STOP_WORDS and word not in extra_stop_words]
    return kept or words


def query_phrases(text: str) -> list[str]:
    """The compounds of a question, such as `grip_force`, `12.5` or `src/arm.py`, that must stand together."""
    return list(dict.fromkeys(match[0].lower() for match in _COMPOUND.finditer(text)))


def any_of(words: Iterable[str]) -> str:
    """The FTS5 expression that matches one word or more; every word is quoted, so nothing is an operator."""
    return " OR ".join(_quoted(word) for word in words)


def all_of(words: Iterable[str]) -> str:
    """The FTS5 expression that matches all of the words."""
    return " AND ".join(_quoted(word) for word in words)


def warm_up() -> None:
    """Loads jieba's dictionary, which takes about a second, if jieba is there."""
    if has_jieba():
        _jieba()


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _words(text: str) -> Iterator[str]:
    for piece in _CJK_RUN.split(text.lower()):
        if _CJK_RUN.fullmatch(piece):
            yield from _cjk_words(piece, for_index=False)
        else:
            yield from (word for word in _WORD.findall(piece) if len(word) > 1 or _SYLLABLE.match(word))


def _cjk_words(run: str, *, for_index: bool) -> Iterator[str]:
    if has_jieba() and re.match(f"[{_HAN}]", run):
        yield from (_jieba().cut_for_search if for_index else _jieba().cut)(run)
    elif len(run) == 1:
        yield run
    else:
        yield from (run[index : index + 2] for index in range(len(run) - 1))
    if for_index and len(run) > 1:
        yield from run  # a question may hold one character of a word: 杯 for 杯子


@cache
def _jieba() -> Any:
    with _jieba_lock:
        import jieba

        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
    return jieba
