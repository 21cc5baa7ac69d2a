"""Find the words of a query that say when, and the window that they mean, in English and Chinese.

The grammar is strict on purpose, as in `times.py`: a library that guesses takes "the box that may contain screws" for
May, and a wrong window hides what is looked for. What may be a name or a size stays words:

- A weekday, a month or a clock time stands with its preposition ("on Tuesday", "at nine o'clock"), and what follows is
  a function word or nothing: "Sunday Street" and "the March hare" are names.
- Unless it can only lie in the past ("yesterday", "last", "ago", "since"), a time in a question about now or about what
  may be ("is the lab closed on Sunday?") is what the question is about.
- Words in quotes are words. Two times in one query are none, since it is not known how they belong together.

A day reaches from midnight to midnight in the robot's time zone, and a week begins on Monday. A weekday is the last one
before today, a month or a date the last one that has begun. A clock time is the hour around it; 1 to 6 without `am`
or a part of the day are in the afternoon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from ..times import iso
from .chinese_times import CHINESE_FORMS, CHINESE_LETTER
from .english_times import ENGLISH_FORMS, PAST_VERB
from .stop_words import ENGLISH
from .time_spans import Calendar, TimeMatch, Window


@dataclass(frozen=True)
class TimeWords:
    """The words of a query that say when, and the window `[after, before)` that they mean."""

    words: str
    after: int | None
    """Nanoseconds since the epoch; None leaves an end open."""
    before: int | None

    def __str__(self) -> str:
        """Tell the words and their window, in the time zone of the machine."""
        ends = (("from", self.after), ("until", self.before))
        window = " ".join(f"{word} {iso(time)}" for word, time in ends if time is not None)
        return f"{self.words!r} is {window}"


def find_time(text: str, now: int, zone: tzinfo | None = None) -> tuple[TimeWords, str] | None:
    """Return the words of a query that say when, and the query without them; None if there are none, or several.

    `now` is in nanoseconds since the epoch, `zone` that of its days; None for the zone of the machine.
    """
    times = [*_times(text, Calendar(now, zone))]
    if len(times) != 1:
        return None
    start, end, (after, before) = times[0]
    rest = re.sub(r"\s+(?=[?!.,;？！。，；])", "", f"{text[:start].rstrip()} {text[end:].lstrip()}".strip())
    if CHINESE_LETTER.match(text[end:].lstrip()) and CHINESE_LETTER.match(text[:start].rstrip()[-1:]):
        rest = text[:start].rstrip() + text[end:].lstrip()
    return TimeWords(text[start:end].strip(), after, before), rest.lstrip(",;，；、 ")


_QUOTED = re.compile(r'"[^"]*"|“[^”]*”|「[^」]*」')
_IS_PAST = re.compile(
    r"yesterday|last|past|ago\b|since"
    r"|昨|前天|[天周期月年时头钟秒]前|以前|之前|上[上个周星礼月]|去年|前年|过去|最近|以来"
)
"""Words of times that can only lie in the past."""
_NOT_PAST = re.compile(
    r"\b(?:is|are|am|do|does|can|could|may|might|must|should|shall|will|would|needs?|never|always|every|whenever|remind|opens?|closes?|planned)\b"
    r"|应该|必须|需要|可以|能不能|能否|要不要|不要|不能|禁止|会不会|每|开放|营业|开门|上班|打算|计划",
    re.IGNORECASE,
)
_DETERMINERS = {"the", "a", "an", "my", "your", "his", "her", "our", "their", "every", "each", "next"}
_FOLLOWING = re.compile(r"\W*(?:$|[\u3400-\u9fff])|[?!.,;]|\s*(\w+)")
"""What follows a time: nothing, punctuation, or a word."""


def _times(text: str, calendar: Calendar) -> Iterator[tuple[int, int, Window]]:
    # What the longest of the forms that match at a place say, in the order of the text.
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    matches = [(match, read) for pattern, read in (*ENGLISH_FORMS, *CHINESE_FORMS) for match in pattern.finditer(text)]
    at = 0
    for match, read in sorted(matches, key=lambda entry: (entry[0].start(), -entry[0].end())):
        start, end = match.span()
        if start < at or any(start < last and end > first for first, last in quoted):
            continue
        if (window := _window(TimeMatch(match), read, calendar)) is not None:
            yield start, end, window
            at = end


def _window(
    match: TimeMatch, read: Callable[[TimeMatch, Calendar], Window | None], calendar: Calendar
) -> Window | None:
    if not _is_time(match):
        return None
    try:
        window = read(match, calendar)
    except (ValueError, OverflowError):  # no such date
        return None
    return window if window and window.has_begun(calendar.now_ns) else None


def _is_time(match: TimeMatch) -> bool:
    # Whether a time is one, and not a name or what the query is about.
    words_before = match.before.lower().split()
    if words_before and words_before[-1] in _DETERMINERS:
        return False
    if _IS_PAST.search(match.words):
        return True
    others = match.before + " " + match.behind
    is_open = match.words.startswith(("before", "after")) or _NOT_PAST.search(others)
    if is_open and not PAST_VERB.search(others):
        return False
    following = _FOLLOWING.match(match.behind)
    word = following and following[1]
    return not word or word.lower() in ENGLISH
