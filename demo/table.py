"""A table for the terminal: cells wrap, and Chinese characters count as the two columns that they take."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest


def table(head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Head and rows, each column as wide as said, a rule below the head and between rows."""
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    blocks = [_block(row, widths) for row in (head, *rows)]
    return "\n".join(line for block in blocks for line in (*block, rule))


def _block(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [list(_wrapped(text, width)) for text, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        padded = (part + " " * (width - _columns(part)) for part, width in zip(parts, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and _columns(line) + 1 + _columns(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while _columns(line) > width:
            part = _prefix(line, width)
            yield part
            line = line[len(part) :]
    yield line


def _prefix(text: str, width: int) -> str:
    end = 1
    while _columns(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
