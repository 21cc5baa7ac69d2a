"""Split a text into parts: along headings and paragraphs, each with its lines and its headings.

A part begins with a heading, or where the one before it is full; then the last lines of that one are repeated, as many
as fit into the overlap. Headings come on top of the limit, up to a half of it, rather than stand alone. Code and tables
stay whole up to four times the limit.

The blocks of a Markdown or plain text say which lines belong together, and under which headings. Their lines are
numbered from 0, and end where Markdown lets them end: at LF, CR, or both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from ..text.sentences import cut
from ..threads import importing
from .lines import lines_of

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


MOST_PARTS = 4000
"""Parts of a file: one of more is split by size alone, as if it had no headings."""
_WHOLE_UP_TO = 4
"""Times the limit up to which code and tables are not cut."""
_BETWEEN = " > "
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTERS, _DIGITS = 6, 3


class Limits(NamedTuple):
    """Sizes in tokens, as `count` estimates them."""

    tokens: int
    """Largest part."""
    overlap: int
    """Most of a part that is repeated at the beginning of the next one."""


class Part(NamedTuple):
    """Some lines of a file."""

    first_line: int
    """From 1."""
    last_line: int
    """Itself included."""
    heading: str
    """The headings that it stands under, the outermost first, as in `Safety > Battery`; empty without any."""
    text: str
    """Exactly these lines; of a line that is too long by itself, a piece."""


class _Piece(NamedTuple):
    """Lines that go into one part."""

    first: int
    end: int
    is_whole: bool


def split(
    text: str, *, is_markdown: bool, limits: Limits, is_stopped: Callable[[], bool] = lambda: False
) -> list[Part]:
    """Split a text; every line that is not blank is in a part.

    Raises:
        ImportError: it is Markdown, and markdown-it-py is not installed.
        StoppedError: `is_stopped` returned true.
    """
    lines = lines_of(text)
    blocks = markdown_blocks(lines, is_stopped) if is_markdown else plain_blocks(lines)
    splitter = _Splitter(lines, limits)
    parts = [part for section in _sections(blocks) for part in splitter.parts(section)]
    if len(parts) <= MOST_PARTS:
        return parts
    splitter = _Splitter(lines, limits._replace(tokens=max(limits.tokens, 2 * splitter.tokens // MOST_PARTS)))
    return [*splitter.parts(plain_blocks(lines))]


def count(text: str) -> int:
    """Estimate how many tokens an embedding model sees in a text, without the model.

    Parts must not change with the model or with whether one is there, or else all notes would be split anew. Counted as
    by the word pieces of BERT: a word of up to six letters and a number of up to three digits are one token, longer
    ones one more for each six or three begun, and each Chinese, Japanese or Korean character and each sign is one. On
    this project's documentation and on Chinese texts that is 0 to 11 percent above the count of the default model.
    """
    return sum(map(_tokens, _WORD.findall(text)))


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    # From one heading to the next; headings without a text belong to what follows.
    section: list[Block] = []
    for block in blocks:
        if block.is_heading and section and not section[-1].is_heading:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


class _Splitter:
    """Splits the sections of one text."""

    def __init__(self, lines: Sequence[str], limits: Limits) -> None:
        self._lines = lines
        self._limits = limits
        self._overlap = min(limits.overlap, limits.tokens // 2)
        self._until = [0, *accumulate(map(count, lines))]

    @property
    def tokens(self) -> int:
        """Return the size of the whole text."""
        return self._until[-1]

    def parts(self, section: Sequence[Block]) -> Iterator[Part]:
        """Split a section."""
        heading = _BETWEEN.join(section[-1].headings)
        first: int | None = None
        has_text = False
        end = 0
        wholes: list[_Piece] = []
        for piece, is_heading in self._pieces(section):
            if piece.end - piece.first == 1 and self._size(*piece[:2]) > self._limits.tokens and not piece.is_whole:
                if first is not None:
                    yield self._part(first, end, heading)
                    first, has_text = None, False
                yield from self._of_long_line(piece.first, heading)
                continue
            if first is not None and has_text and self._size(first, piece.end) > self._limits.tokens:
                yield self._part(first, end, heading)
                first, has_text = piece.first if is_heading else self._repeat(first, end, piece, wholes), False
            first = piece.first if first is None else first
            has_text = has_text or not is_heading
            end = piece.end
            if piece.is_whole:
                wholes.append(piece)
        if first is not None:
            yield self._part(first, end, heading)

    def _pieces(self, section: Sequence[Block]) -> Iterator[tuple[_Piece, bool]]:
        # With whether it is a heading. A block that is too large for one part goes line by line.
        above = 0
        for block in section:
            size = self._size(block.first, block.end)
            is_heading = block.is_heading and above + size <= self._limits.tokens // 2
            above = above + size if is_heading else 0
            if size <= self._limits.tokens or (block.is_whole and size <= _WHOLE_UP_TO * self._limits.tokens):
                yield _Piece(block.first, block.end, block.is_whole), is_heading
            else:
                yield from ((_Piece(line, line + 1, False), False) for line in range(block.first, block.end))

    def _repeat(self, first: int, end: int, piece: _Piece, wholes: Sequence[_Piece]) -> int:
        # From which line on the part before is repeated in front of a piece.
        room = min(self._overlap, self._limits.tokens - self._size(*piece[:2]))
        start = end
        while start - 1 > first and self._size(start - 1, end) <= room:
            start -= 1
        around = next((whole for whole in reversed(wholes) if whole.first < start), None)
        start = max(start, around.end) if around else start
        blank = sum(1 for _ in takewhile(lambda line: not line.strip(), self._lines[start : piece.first]))
        return start + blank

    def _of_long_line(self, number: int, heading: str) -> Iterator[Part]:
        for piece in cut(self._lines[number], limit=self._limits.tokens, overlap=self._overlap, count=count):
            if text := piece.strip():
                yield Part(number + 1, number + 1, heading, text)

    def _part(self, first: int, end: int, heading: str) -> Part:
        return Part(first + 1, end, heading, "\n".join(self._lines[first:end]))

    def _size(self, first: int, end: int) -> int:
        return self._until[end] - self._until[first]


def _tokens(piece: str) -> int:
    wide = 0 if piece.isascii() else len(_WIDE.findall(piece))
    narrow = len(piece) - wide
    return wide - (-narrow // (_DIGITS if piece[0].isdigit() else _LETTERS))
