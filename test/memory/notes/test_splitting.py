"""Splitting a text into parts: every line is in one, and what is cited is what stands there."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.notes.lines import lines_of
from robotmem_ros.memory.notes.splitting import MOST_PARTS, Limits, StoppedError, count, markdown_blocks, split

LIMITS = Limits(40, 10)
words = st.lists(
    st.sampled_from(["mug", "grip", "12.5", "N", "充电桩", "坡道", "and", "**bold**", "`code`"]), max_size=30
)
lines = st.one_of(
    st.just(""),
    st.just("   "),
    words.map(" ".join),
    words.map(". ".join),
    st.sampled_from(
        ["# Safety", "## Battery", "### Cells", "Battery", "=======", "-------", "---", "```", "~~~", "- item",
         "  - inner", "> quoted", "1. first", "| a | b |", "|---|---|", "| 1 | 2 |", "    code", "<div>", "</div>",
         "[a]: http://b", "\t"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
)  # fmt: skip
texts = st.tuples(st.lists(lines, max_size=60), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda both: both[1].join(both[0])
)
sizes = st.builds(Limits, st.integers(20, 120), st.integers(0, 80))


@settings(max_examples=100, deadline=None)
@given(texts, sizes, st.booleans())
def test_every_line_that_is_not_blank_is_in_a_part_and_parts_are_exactly_their_lines(
    text: str, limits: Limits, is_markdown: bool
) -> None:
    own = lines_of(text)
    parts = split(text, is_markdown=is_markdown, limits=limits)
    for part in parts:
        cited = "\n".join(own[part.first_line - 1 : part.last_line])
        assert part.text == cited or (part.first_line == part.last_line and part.text in cited)
        assert part.text.strip()
    covered = {number for part in parts for number in range(part.first_line, part.last_line + 1)}
    assert {number for number, line in enumerate(own, start=1) if line.strip()} <= covered
    long_lines = {part.first_line for part in parts if part.text != own[part.first_line - 1]}
    for number in long_lines:
        pieces = [part.text for part in parts if part.first_line == part.last_line == number]
        assert not pieces or joins(pieces, own[number - 1])


def joins(pieces: list[str], line: str) -> bool:
    """Whether pieces that may overlap make up a line."""
    reached = 0
    for piece in pieces:
        blank = len(line[reached:]) - len(line[reached:].lstrip())
        at = line.rfind(piece, 0, reached + blank + len(piece))
        if at < 0:
            return False
        reached = max(reached, at + len(piece))
    return not line[reached:].strip()


@settings(max_examples=100, deadline=None)
@given(texts, sizes)
def test_parts_are_no_larger_than_the_limit_but_for_code_and_tables(text: str, limits: Limits) -> None:
    own = lines_of(text)
    wholes = [block for block in markdown_blocks(own) if block.is_whole]
    for part in split(text, is_markdown=True, limits=limits):
        has_whole = any(part.first_line <= one.first + 1 and one.end <= part.last_line for one in wholes)
        # With its headings, which are a half more at most.
        assert count(part.text) <= limits.tokens * (5.5 if has_whole else 1.5)


@settings(max_examples=100, deadline=None)
@given(texts, sizes, st.booleans())
def test_a_part_goes_on_after_the_one_before_it_and_repeats_no_more_than_the_overlap(
    text: str, limits: Limits, is_markdown: bool
) -> None:
    own = lines_of(text)
    for before, after in itertools.pairwise(split(text, is_markdown=is_markdown, limits=limits)):
        assert after.last_line >= before.last_line
        assert after.first_line > before.first_line or (before.first_line, before.last_line) == after[:2]
        if after.first_line <= before.last_line and len({before.first_line, before.last_line, *after[:2]}) > 1:
            repeated = own[after.first_line - 1 : before.last_line]
            assert sum(map(count, repeated)) <= min(limits.overlap, limits.tokens // 2)


@settings(max_examples=100, deadline=None)
@given(texts, sizes)
def test_code_is_in_one_part_unless_it_is_far_too_large(text: str, limits: Limits) -> None:
    own = lines_of(text)
    parts = split(text, is_markdown=True, limits=limits)
    for block in markdown_blocks(own):
        if block.is_whole and sum(map(count, own[block.first : block.end])) <= 4 * limits.tokens:
            assert any(part.first_line <= block.first + 1 and block.end <= part.last_line for part in parts)


def headings(text: str) -> list[tuple[int, int, str]]:
    """The lines and headings of the parts of a Markdown text."""
    return [part[:3] for part in split(text, is_markdown=True, limits=LIMITS)]


def test_a_part_knows_its_headings_of_both_styles() -> None:
    text = "# Safety\n\n## Battery **pack**\ntext\n\nCharging\n--------\nmore\n\nDocks\n=====\nlast"
    assert headings(text) == [
        (1, 4, "Safety > Battery pack"),
        (6, 8, "Safety > Charging"),
        (10, 12, "Docks"),
    ]


def test_a_hash_within_code_is_no_heading() -> None:
    text = "# Start\n```sh\n# charge\nrun\n```\n\n    # indented\n\nthen"
    assert headings(text) == [(1, 9, "Start")]


def test_front_matter_is_text_and_no_heading() -> None:
    text = "---\ntitle: Batteries\n---\n# Care\nkeep cool"
    assert headings(text) == [(1, 3, ""), (4, 5, "Care")]


def test_a_rule_that_is_never_closed_is_no_front_matter() -> None:
    assert headings("---\n# Care\nkeep cool") == [(1, 1, ""), (2, 3, "Care")]


def test_a_heading_in_a_list_or_quotation_parts_nothing() -> None:
    assert headings("# Care\n> # Quoted\n> text\n\n- # Item\n\nend") == [(1, 7, "Care")]


def test_the_parts_of_a_long_section_overlap_by_whole_lines() -> None:
    sentences = "\n".join(f"the arm lifts box number {number} now" for number in range(12))
    parts = split(f"# Arm\n{sentences}", is_markdown=True, limits=Limits(40, 16))
    assert [(part.first_line, part.last_line) for part in parts] == [(1, 6), (5, 9), (8, 12), (11, 13)]
    assert {part.heading for part in parts} == {"Arm"}


def test_a_line_that_is_too_long_is_split_between_sentences() -> None:
    line = " ".join(f"Sentence {number} of the long line ends here." for number in range(20))
    parts = split(line, is_markdown=False, limits=Limits(40, 10))
    assert len(parts) > 4
    assert all(part[:2] == (1, 1) and part.text.startswith("Sentence") for part in parts)


def test_a_chinese_line_is_split_between_sentences() -> None:
    parts = split("机器人每天晚上要回到充电桩。" * 10, is_markdown=False, limits=Limits(40, 0))
    assert {part.text for part in parts} == {"机器人每天晚上要回到充电桩。" * 2}


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n", "\r\n\r\n"])
def test_a_blank_text_has_no_parts(text: str) -> None:
    assert split(text, is_markdown=True, limits=LIMITS) == []


def test_a_text_of_headings_alone_takes_no_longer_than_other_texts() -> None:
    text = "\n".join(f"{'#' * (number % 6 + 1)} h{number}" for number in range(50_000))
    before = time.process_time()
    parts = split(text, is_markdown=True, limits=Limits(400, 80))
    assert parts[-1].last_line == 50_000
    assert time.process_time() - before < 12.0  # growing with the square of the length it was 29 s


@pytest.mark.parametrize(
    "heading", ["# " + "h " * 50_000, "a\n" * 50_000 + "===", "# " + "[" * 30_000, "# " + "![](" * 8_000]
)
def test_a_heading_of_any_length_is_kept_short_with_each_part(heading: str) -> None:
    parts = split(f"{heading}\n\n" + "body words stand here\n\n" * 2000, is_markdown=True, limits=LIMITS)
    assert {len(part.heading) for part in parts} <= {200}
    text = heading + "body words stand here" * 2000
    assert sum(len(part.text) + len(part.heading) for part in parts) < 20 * len(text)


def test_of_nested_headings_each_is_cut() -> None:
    text = "".join(f"{'#' * level} {str(level) * 500}\n\n" for level in range(1, 7)) + "body"
    assert [len(title) for title in split(text, is_markdown=True, limits=LIMITS)[-1].heading.split(" > ")] == [200] * 6


def test_a_file_of_very_many_sections_is_split_by_size_alone() -> None:
    parts = split("# h\n\nx y\n\n" * (MOST_PARTS + 1), is_markdown=True, limits=LIMITS)
    assert {part.heading for part in parts} == {""}
    assert MOST_PARTS / 20 < len(parts) <= MOST_PARTS
    assert parts[-1].last_line == 4 * MOST_PARTS + 3
    tiny = split("! " * 400_000, is_markdown=False, limits=Limits(20, 5))
    assert len(tiny) <= 2 * MOST_PARTS


def test_reading_of_markdown_ends_when_it_is_stopped() -> None:
    asked = itertools.count()
    with pytest.raises(StoppedError):
        split("- item\n" * 10_000, is_markdown=True, limits=LIMITS, is_stopped=lambda: next(asked) > 100)
    assert next(asked) < 200
