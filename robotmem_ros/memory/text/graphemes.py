"""Cut a text only between characters as a reader sees them: grapheme clusters, see Unicode Standard Annex #29.

A cluster here is one of the annex or several: what must not be parted is never parted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .letters import IGNORED, MARKS

_VIRAMAS = "".join(char for char in map(chr, range(0x900, 0x11F50)) if unicodedata.combining(char) == 9)
_INDIC = "\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1b00-\u1bff\ua800-\uabff\U00011000-\U00011f5f"
_LEADING, _VOWELS, _TRAILING = "\u1100-\u115f\ua960-\ua97c", "\u1160-\u11a7\ud7b0-\ud7c6", "\u11a8-\u11ff\ud7cb-\ud7fb"
_HANGUL = rf"[{_LEADING}]*[{_VOWELS}\uac00-\ud7a3][{_VOWELS}{_TRAILING}]*|[{_LEADING}]+|[{_TRAILING}]+"
_PREFIXES = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
_EXTENDED = f"(?![{_PREFIXES}])[{MARKS}{IGNORED}\u200c\U0001f3fb-\U0001f3ff\u0e33\u0eb3\uff9e\uff9f]"
_CLUSTER = re.compile(
    rf"(?s:\r\n|[{_PREFIXES}]*(?:[\U0001f1e6-\U0001f1ff]{{2}}|{_HANGUL}|\u0e40{{2}}|.)"
    rf"(?:{_EXTENDED}|(?<=[{_VIRAMAS}])[{_INDIC}]|(?<=[{_VIRAMAS}]\u200d)[{_INDIC}]"
    rf"|(?<=\u200d)[^\w\s]|(?<=[\u0e48-\u0e4b\u0e4d])\u0e32)*)"
)
_LONGEST = 32
"""Number of code points from which a cluster may be parted: no script has such a character."""


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each character of a text."""
    if text.isascii() and "\r" not in text:
        yield from ((at, at + 1) for at in range(len(text)))
        return
    for match in _CLUSTER.finditer(text):
        for start in range(match.start(), match.end(), _LONGEST):
            yield start, min(start + _LONGEST, match.end())


def beginning(text: str, length: int) -> str:
    """Return the first `length` code points of a text, fewer if a character would be parted, and "…" if there is more.

    White space becomes single spaces, so that it is one line.
    """
    if len(text) <= length:
        return one_line(text)
    end = 0
    for _, after in clusters(text[: length + _LONGEST + 1]):
        if after > length:
            break
        end = after
    return one_line(text[:end]).rstrip() + "…"


def one_line(text: str) -> str:
    """Return a text with a single space for all white space between two words."""
    return re.sub(r"\s+", " ", text)
