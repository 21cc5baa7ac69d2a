"""Tables on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def table(head: Sequence[str], body: Sequence[Sequence[object]]) -> str:
    """Columns of text side by side, numbers to the right; empty when there are no rows."""
    if not body:
        return ""
    rows = [list(head), *([_cell(value) for value in row] for row in body)]
    widths = [max(_width(row[column]) for row in rows) for column in range(len(head))]
    right = [all(isinstance(row[column], (int, float)) for row in body) for column in range(len(head))]
    lines = ("  ".join(map(_padded, row, widths, right)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _cell(value: object) -> str:
    # One row is one line, whatever a text holds.
    return " ".join(f"{value:,}".split() if isinstance(value, int) else str(value).split())


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _width(text: str) -> int:
    # Chinese characters are two columns wide.
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)
