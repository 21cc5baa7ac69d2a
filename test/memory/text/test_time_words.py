"""Which words of a query say when, and the window that they mean.

`time_words.tsv` was written before what reads it, half of it without a time.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from robotmem_ros.memory.text.time_words import find_time

BERLIN = ZoneInfo("Europe/Berlin")
ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("time_words.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
TIMES, NAMES = [row for row in ROWS if len(row) > 1], [row[0] for row in ROWS if len(row) == 1]
Read = tuple[str, int | None, int | None]


def ns(text: str) -> int | None:
    """Return a local time of Berlin; None for a dash."""
    return None if text == "-" else int(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()) * 10**9


NOW = ns("2026-10-28 15:20") or 0


def read(query: str, now: int = NOW) -> Read | None:
    """Return what is searched, and the window."""
    found = find_time(query, now, BERLIN)
    return found and (found[1], found[0].after, found[0].before)


def test_times_are_read_as_a_speaker_means_them() -> None:
    wrong = [row for row in TIMES if read(row[0]) != (row[1], ns(row[2]), ns(row[3]))]
    assert len(TIMES) >= 120
    assert len(wrong) <= 2, wrong  # an abbreviated weekday, and "during the night"


def test_hardly_any_words_are_mistaken_for_a_time() -> None:
    wrong = [query for query in NAMES if read(query)]
    assert len(NAMES) >= 150
    assert len(wrong) <= len(NAMES) // 75, wrong


def test_a_day_has_the_hours_of_the_zone() -> None:
    found = read("who came on Sunday")  # when summer time ended
    assert found is not None
    assert (found[2] or 0) - (found[1] or 0) == 25 * 3600 * 10**9


@pytest.mark.parametrize("query", ["on Monday and on Tuesday", "yesterday or today", "周一和周二的送货"])
def test_two_times_are_none(query: str) -> None:
    assert read(query) is None


@pytest.mark.parametrize("query", ["who ruled in 1961", "the news since 1965", "1961年的新闻", "on 1969-12-30"])
def test_years_before_any_clock_began_stay_words(query: str) -> None:
    assert read(query) is None


@pytest.mark.parametrize("query", ["the parcel on 2026-13-45", "who came on 31 February", "who came on 2027-01-01"])
def test_dates_that_never_were_stay_words(query: str) -> None:
    assert read(query) is None


@pytest.mark.parametrize(
    "words", ["at nine " * 240, "一二三四五六七八九十" * 190, "the day before " * 130, " " * 1900, "9:" * 900]
)
def test_long_queries_are_read(words: str) -> None:
    found = read(f"{words} yesterday")
    assert found is None or "yesterday" not in found[0]


def test_what_is_found_is_told_in_the_time_zone_of_the_machine() -> None:
    found = find_time("the mug since 2026-10-20", NOW)
    assert found is not None
    assert str(found[0]).startswith("'since 2026-10-20' is from 2026-10-20T00:00:00")
