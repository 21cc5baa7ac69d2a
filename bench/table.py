"""Tables in Markdown that are readable in a terminal too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_FIRST, _OTHER_WIDTH = 36, 8


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join([*_head(head, widths), *(_line(row, widths) for row in rows)])


def show(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, each row as soon as it is measured; columns are aligned unless a cell is longer than its head."""
    widths = [max(_FIRST, len(head[0])), *(max(_OTHER_WIDTH, len(cell)) for cell in head[1:])]
    print("\n".join(_head(head, widths)), flush=True)
    for row in rows:
        print(_line(row, widths), flush=True)
    print()


def _head(head: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [_line(head, widths), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(map(str.ljust, cells, widths)) + " |"
