"""Cut a long text into pieces of whole sentences, which overlap a little."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_SENTENCE = re.compile(r".+?(?:[.!?;\u061f\u06d4](?=\s)\s*|\n\s*|[\u3002\uff01\uff1f\uff1b\u0964]|\Z)", re.DOTALL)


def cut(text: str, *, limit: int, overlap: int, count: Callable[[str], int]) -> Iterator[str]:
    """Yield pieces of a text, each of `limit` tokens at most, as `count` counts them.

    The last sentences of a piece, of up to `overlap` tokens, are repeated at the beginning of the next one. A sentence
    that is too long by itself is cut between words, or else anywhere.
    """
    sentences = [*_fitting(text, limit, count)]
    sizes = [*map(count, sentences)]
    first = 0
    for end in range(1, len(sentences) + 1):
        if end == len(sentences) or sum(sizes[first : end + 1]) > limit:
            yield "".join(sentences[first:end])
            room = min(overlap, limit - sizes[end]) if end < len(sentences) else 0
            start = end
            while start - 1 > first and sum(sizes[start - 1 : end]) <= room:
                start -= 1
            first = start


def _fitting(text: str, limit: int, count: Callable[[str], int]) -> Iterator[str]:
    # Sentences, and pieces of those that are too long by themselves.
    for sentence in _SENTENCE.findall(text):
        yield from _halved(sentence, limit, count)


def _halved(text: str, limit: int, count: Callable[[str], int]) -> Iterator[str]:
    if len(text) == 1 or count(text) <= limit:
        yield text
        return
    middle = len(text) // 2
    cut_at = text.rfind(" ", 0, middle) + 1 or middle
    yield from _halved(text[:cut_at], limit, count)
    yield from _halved(text[cut_at:], limit, count)
