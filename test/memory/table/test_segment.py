"""Postings of rows count what texts hold, to the last row of a full segment, in long texts, and after a merge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from robotmem_ros.memory.table.column import Rows
from robotmem_ros.memory.table.words import SPAN, Postings, Segment


def segment_of(rows: Rows, texts: Sequence[str]) -> tuple[Segment, Rows]:
    """Make the segment of texts whose words stand apart."""
    return Segment.of(rows, [text.split() for text in texts])


def counted(segment: Segment, term: str) -> dict[int, int]:
    """How often a term stands in each row that holds it, as postings tell, and those of all docs."""
    postings = segment.postings(term.split())
    times, in_all = (_times(found) for found in (postings, postings.at(np.arange(len(segment.rows)))))
    assert times == in_all
    return {int(segment.rows[doc]): count for doc, count in times.items()}


def _times(postings: Postings) -> dict[int, int]:
    repeats = dict(zip(postings.repeats.tolist(), postings.counts.tolist(), strict=True))
    return dict.fromkeys(postings.docs.tolist(), 1) | repeats


def test_the_last_row_of_a_full_segment_counts() -> None:
    texts = [*["mug | | | | "] * (SPAN - 1), "red mug red mug | | | | "]
    segment, lengths = segment_of(np.arange(SPAN), texts)
    assert (counted(segment, "red mug"), lengths[-1]) == ({SPAN - 1: 2}, 4)
    assert sum(counted(segment, "mug").values()) == SPAN + 1


def test_a_text_of_more_words_than_half_a_place_numbers_is_held_too() -> None:
    segment, lengths = segment_of(np.array([3, 9]), [f"{'lamp ' * 70_000}mug | | | | ", "mug lamp | | | | "])
    assert segment.is_wide
    assert (counted(segment, "lamp mug"), lengths.tolist()) == ({3: 1}, [70_001, 2])
    assert counted(segment, "lamp") == {3: 70_000, 9: 1}


@pytest.mark.parametrize("wide", [False, True])
def test_a_merge_keeps_the_words_of_the_rows_that_it_keeps(*, wide: bool) -> None:
    long = "red " * (70_000 if wide else 2)
    one, _ = segment_of(np.array([1, 4, 6]), ["red mug | | | | ", "blue mug | | | | ", f"{long}mug | | | | "])
    two, _ = segment_of(np.array([2, 4]), ["red | mug | | | ", "red mug red mug | | | | "])
    both = Segment.merged([(one, np.array([True, False, True])), (two, np.array([True, True]))])
    assert both.rows.tolist() == [1, 2, 4, 6]
    assert counted(both, "red mug") == {1: 1, 4: 2, 6: 1}
    assert counted(both, "mug") == {1: 1, 2: 1, 4: 2, 6: 1}
    assert both.rows[both.holding(["red mug", "mug"])].tolist() == [1, 4, 6]
