"""Read the blocks of a Markdown or plain text: which lines belong together, and under which headings.

Lines are numbered from 0 here, and end where Markdown lets them end: at LF, CR, or both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from ..threads import importing

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_LONGEST_TITLE = 200
"""Characters that are kept of the title of a heading, which each part below it repeats."""
_READ_OF_TITLE = 1000
"""Characters of it that are read: what stands within a line takes more than its length, if brackets do not match."""
_FRONT_MATTER = re.compile(r"---[ \t]*")
_END_OF_FRONT_MATTER = re.compile(r"(---|\.\.\.)[ \t]*")
_WHOLE = frozenset({"fence", "code_block", "table_open", "html_block"})
"""Types of tokens whose lines say little apart from each other."""
_IS_STOPPED = "is_stopped"
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"})


class StoppedError(Exception):
    """Reading was stopped before it was done."""


class Block(NamedTuple):
    """Lines that belong together, from `first` up to, but without, `end`; neither the first nor the last is blank."""

    first: int
    end: int
    headings: tuple[str, ...] = ()
    """The headings above it, the outermost first; its own among them, if it is one."""
    is_heading: bool = False
    is_whole: bool = False
    """Whether it should not be cut: code, a table, HTML."""


def markdown_blocks(lines: Sequence[str], is_stopped: Callable[[], bool] = lambda: False) -> list[Block]:
    """Return the blocks of Markdown, in their order; every line that is not blank is in one.

    Raises:
        ImportError: markdown-it-py is not installed.
        StoppedError: `is_stopped` returned true, which is asked for each block.
    """
    body = _end_of_front_matter(lines)
    # Blank lines in its place keep the numbers of the lines.
    source = "\n".join([*[""] * body, *lines[body:]])
    blocks = [*_paragraphs(lines, 0, body, ())]
    path: list[tuple[int, str]] = []
    at = body
    for block, level, title in _top_blocks(_block_parser().parse(source, {_IS_STOPPED: is_stopped})):
        # What is no token has no block yet, such as the definitions of links.
        blocks += _paragraphs(lines, at, block.first, _titles(path))
        if block.is_heading:
            path = [*(heading for heading in path if heading[0] < level), (level, title)]
        blocks += _trim(lines, block._replace(headings=_titles(path)))
        at = max(at, block.end)
    return [*blocks, *_paragraphs(lines, at, len(lines), _titles(path))]


def plain_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the paragraphs of a text, which blank lines part."""
    return [*_paragraphs(lines, 0, len(lines), ())]


def _end_of_front_matter(lines: Sequence[str]) -> int:
    # Between two lines of hyphens at the very beginning.
    if not lines or not _FRONT_MATTER.fullmatch(lines[0]):
        return 0
    ends = (number for number, line in enumerate(lines) if number and _END_OF_FRONT_MATTER.fullmatch(line))
    return next(ends, -1) + 1


def _top_blocks(tokens: Sequence[Token]) -> Iterator[tuple[Block, int, str]]:
    # Each with the level and the title of a heading. Lists and quotations are entered, and nothing else.
    closes_at: int | None = None
    for token, next_token in zip_longest(tokens, tokens[1:]):
        if closes_at is not None:
            if token.nesting == -1 and token.level == closes_at:
                closes_at = None
        elif token.map is not None and token.type not in _CONTAINERS:
            if token.nesting == 1:
                closes_at = token.level
            first, end = token.map
            # A heading within a list or a quotation parts nothing but that.
            is_heading = token.type == "heading_open" and token.level == 0 and next_token is not None
            title = _plain(next_token.content) if is_heading and next_token else ""
            block = Block(first, end, (), is_heading, token.type in _WHOLE)
            yield block, int(token.tag[1:]) if is_heading else 0, title


def _plain(title: str) -> str:
    children = _parser().parseInline(title[:_READ_OF_TITLE])[0].children or ()
    texts = (child.content if child.type in ("text", "code_inline") else "" for child in children)
    text = " ".join("".join(texts).split())
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def _paragraphs(lines: Sequence[str], first: int, end: int, headings: tuple[str, ...]) -> Iterator[Block]:
    start: int | None = None
    for number in range(first, end):
        if lines[number].strip():
            start = number if start is None else start
        elif start is not None:
            yield Block(start, number, headings)
            start = None
    if start is not None:
        yield Block(start, end, headings)


def _trim(lines: Sequence[str], block: Block) -> Iterator[Block]:
    first, end = block.first, min(block.end, len(lines))
    while first < end and not lines[first].strip():
        first += 1
    while first < end and not lines[end - 1].strip():
        end -= 1
    if first < end:
        yield block._replace(first=first, end=end)


def _titles(path: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    with importing:
        from markdown_it import MarkdownIt
    return MarkdownIt("commonmark").enable("table")


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    with importing:
        from markdown_it import MarkdownIt
    # What stands within a line is of no interest, and takes most of the time.
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.block.ruler.before("table", "stop", _stop)
    return parser


def _stop(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    # A rule of the parser that no block fits.
    if state.env[_IS_STOPPED]():
        raise StoppedError
    return False
