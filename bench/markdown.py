"""Tables in Markdown, their columns in line."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, *body)
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines
