"""Cut the part of a text that has most to do with a query, for results in brief."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..text.letters import clusters, one_line
from ..text.tokens import WrittenWord, written_words

LENGTH = 160
"""Greatest number of code points of the text in a snippet."""
MARK = "**"
_SPECIAL = re.compile(r"[\\*]")
_NEAR = 24
"""Code points that a cut may go back to end between two words."""


class _Window(NamedTuple):
    """A part of a text."""

    start: int
    end: int


def snippet(text: str, weights: Mapping[str, float], length: int = LENGTH) -> str:
    r"""Cut the part of a text that has most to do with a query, on one line, with the words of the query marked.

    A marked word stands between two `**`. What the text itself has of `*` and `\` stands behind a `\`, so that every
    `**` without one is a mark. A "…" stands where the text is cut, and a single space for all white space between two
    words. `weights` are of the words of the query, as they are indexed.
    """
    words = [word for word in written_words(text) if word.word in weights]
    window = _Window(0, len(text)) if len(text) <= length else _best(text, words, weights, length)
    pieces, at = [], window.start
    for first, last in _spans(words):
        start, end = max(first, at), min(last, window.end)
        if start < end:
            pieces += [_escape(text[at:start]), MARK, _escape(text[start:end]), MARK]
            at = end
    pieces.append(_escape(text[at : window.end]))
    line = one_line("".join(pieces)).strip()
    return f"{'…' if window.start else ''}{line}{'…' if window.end < len(text) else ''}"


def _best(text: str, words: Sequence[WrittenWord], weights: Mapping[str, float], length: int) -> _Window:
    # The window from a word on whose different words weigh most together, and of these the first one.
    best, last_of_best, max_weight = 0, 0, 0.0
    for index, first in enumerate(words):
        inside = [word for word in words[index : index + length] if word.end <= first.start + length]
        weight = sum(weights[word] for word in {written_word.word for written_word in inside})
        if weight > max_weight:
            max_weight, best, last_of_best = weight, first.start, max(word.end for word in inside)
    # The rest of the length shows the text before and behind the core.
    start = max(0, min(best - (length - (last_of_best - best)) // 2, len(text) - length))
    return _between_words(text, _Window(start, min(start + length, len(text))), _Window(best, last_of_best))


def _between_words(text: str, window: _Window, core: _Window) -> _Window:
    whole = [0, *(end for _, end in clusters(text))]
    start, end = window
    if start:
        start = min((position for position in whole if position >= start), default=start)
        near = re.compile(r"\s").search(text, start, min(start + _NEAR, core.start))
        start = near.end() if near else start
    if end < len(text):
        end = max((position for position in whole if start < position <= end), default=end)
        spaces = [match.start() for match in re.compile(r"\s").finditer(text, max(end - _NEAR, core.end), end)]
        end = spaces[-1] if spaces and not text[end].isspace() else end
    return _Window(start, end)


def _spans(words: Sequence[WrittenWord]) -> list[tuple[int, int]]:
    # Pairs of characters overlap; what touches is marked as one.
    spans: list[tuple[int, int]] = []
    for start, end in sorted((word.start, word.end) for word in words):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
