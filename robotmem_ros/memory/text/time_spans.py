"""The times that words name, on a calendar around now, and the windows that they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from typing import NamedTuple

_NS = 10**9


class Window(NamedTuple):
    """The two ends of a window, either of which may be open."""

    after: int | None
    before: int | None

    def has_begun(self, now: int) -> bool:
        """Tell whether it reaches back no further than the epoch, and any of it lies before now, in nanoseconds."""
        if min(self.after or 0, self.before or 0) < 0:
            return False  # what a text says of 1961, no robot has seen
        return self.after is None or (self.after < now and (self.before is None or self.after < self.before))


class Span(NamedTuple):
    """A time that words name, in nanoseconds since the epoch."""

    start: int
    end: int
    instant: int | None = None
    """The clock time that it lies around."""

    def related(self, relation: str) -> Window:
        """Return the window that begins or ends with it, by a preposition; it itself by any other."""
        if relation in _SINCE:
            return Window(self.instant or self.start, None)
        if relation in _BEFORE:
            return Window(None, self.instant or self.start)
        if relation in _AFTER:
            return Window(self.instant or self.end, None)
        return Window(None, self.end) if relation == "until" else Window(self.start, self.end)


_SINCE, _BEFORE = {"since", "自", "自从", "从", "以来", "到现在", "起", "开始"}, {"before", "之前", "以前"}
_AFTER = {"after", "之后", "以后"}
PARTS = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30), "noon": (11, 13),
    "凌晨": (0, 6),
}  # fmt: skip
"""Hours of a day; the night ends on the next one."""
_UNITS = {
    "second": 1, "秒": 1, "minute": 60, "分钟": 60, "hour": 3600, "小时": 3600, "钟头": 3600, "day": 86_400,
    "天": 86_400, "week": 604_800, "周": 604_800, "星期": 604_800, "month": 2_592_000, "月": 2_592_000,
}  # fmt: skip
_AROUND = timedelta(minutes=30)
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Calendar:
    """The days, weeks and months around now, in a time zone."""

    now_ns: int
    zone: tzinfo | None

    @property
    def now(self) -> datetime:
        """Return now, without its zone."""
        return datetime.fromtimestamp(self.now_ns / _NS, self.zone).replace(tzinfo=None)

    @property
    def today(self) -> date:
        """Return the day of now."""
        return self.now.date()

    def ns(self, time: datetime) -> int:
        """Return a time of the zone in nanoseconds since the epoch."""
        return round(time.replace(tzinfo=self.zone).timestamp()) * _NS

    def hours(self, day: date, start: int, end: int) -> Span:
        """Return the hours of a day."""
        midnight = datetime.combine(day, clock_time.min)
        return Span(*(self.ns(midnight + timedelta(hours=hour)) for hour in (start, end)))

    def days(self, first: date, end: date) -> Span:
        """Return days up to an end, which does not belong to them."""
        return Span(self.hours(first, 0, 24).start, self.hours(end, 0, 24).start)

    def clock(self, time: datetime) -> Span:
        """Return the hour around a time."""
        return Span(self.ns(time - _AROUND), self.ns(time + _AROUND), self.ns(time))

    def day(self, days_ago: int) -> date:
        """Return a day."""
        return self.today - timedelta(days=days_ago)

    def week(self, weeks_ago: int) -> date:
        """Return the Monday of a week."""
        return self.today - timedelta(days=self.today.weekday() + 7 * weeks_ago)

    def month(self, months_ago: int) -> date:
        """Return the first day of a month."""
        months = self.today.year * 12 + self.today.month - 1 - months_ago
        return date(months // 12, months % 12 + 1, 1)

    def weekday(self, number: int, weeks_ago: int | None = None) -> date:
        """Return a weekday of a week, or the last one before today."""
        if weeks_ago is not None:
            return self.week(weeks_ago) + timedelta(days=number)
        return self.today - timedelta(days=(self.today.weekday() - number - 1) % 7 + 1)

    def latest(self, year: int | None, month: int, day: int) -> date:
        """Return a date, without a year the last one that has begun; raises ValueError."""
        if year is None:
            year = self.today.year - ((month, day) > (self.today.month, self.today.day))
        return date(year, month, day)

    def at(self, day: date | None, clock: timedelta) -> datetime:
        """Return a clock time of a day, or without a day the last such time."""
        time = datetime.combine(day or self.today, clock_time.min) + clock
        return time if day is not None or time <= self.now else time - _DAY

    def month_of(self, year: int | None, month: int | None) -> Span:
        """Return a month, without a year the last one that has begun, or a whole year; raises ValueError."""
        if month is None and year is not None:
            return self.days(date(year, 1, 1), date(year + 1, 1, 1))
        first = self.latest(year, month or 1, 1)
        return self.days(first, (first + timedelta(days=32)).replace(day=1))

    def unit(self, unit: str, ago: int) -> Span:
        """Return a whole week, month or year."""
        if unit == "week":
            return self.days(self.week(ago), self.week(ago - 1))
        if unit == "weekend":
            saturday = self.week(ago) + timedelta(days=5)
            return self.days(saturday, saturday + timedelta(days=2))
        if unit == "month":
            return self.days(self.month(ago), self.month(ago - 1))
        return self.days(date(self.today.year - ago, 1, 1), date(self.today.year - ago + 1, 1, 1))

    def ago(self, count: float, unit: str) -> Span:
        """Return a time around a time ago: a quarter of it to both sides, and half a unit at least."""
        size = _UNITS[unit] * _NS
        instant, margin = self.now_ns - round(count * size), round(max(count / 4, 0.5 * (count >= 1)) * size)
        return Span(instant - margin, instant + margin, instant)

    def last(self, count: float, unit: str) -> Span:
        """Return the time that ends now."""
        return Span(self.now_ns - round(count * _UNITS[unit] * _NS), self.now_ns)


def clock_of(hour_text: str, minute: int, part: str) -> timedelta | None:
    """Return the time since midnight, in the night up to 6 of the next day; None for an hour that no clock shows."""
    hour = int(hour_text)
    if hour > 24:
        return None
    if part == "night":
        hour += 24 if hour < 6 else 12 if hour < 12 else 12 * (hour == 12)
    elif part in {"afternoon", "evening", "noon"} and hour < (10 if part == "noon" else 12):
        hour += 12
    elif part in {"morning", "凌晨"} and hour == 12:
        hour = 0
    elif not part and 1 <= hour <= 6 and not hour_text.startswith("0"):
        hour += 12
    return timedelta(hours=hour, minutes=minute)


@dataclass(frozen=True)
class TimeMatch:
    """What a pattern matched in a query."""

    match: re.Match[str]

    def __getitem__(self, group: str) -> str:
        """Return what a group matched, in lower case; empty for nothing."""
        return (self.match[group] or "").lower() if group in self.match.re.groupindex else ""

    @property
    def text(self) -> str:
        """Return the query."""
        return self.match.string

    @property
    def words(self) -> str:
        """Return the words of the time, in lower case."""
        return self.match[0].lower()

    @property
    def before(self) -> str:
        """Return what stands before them."""
        return self.text[: self.match.start()]

    @property
    def behind(self) -> str:
        """Return what stands behind them."""
        return self.text[self.match.end() :]


Form = tuple[re.Pattern[str], Callable[[TimeMatch, Calendar], Window | None]]
"""How times are written, and what reads the window of one; None for what is none after all, ValueError for no date."""


def year_of(text: str) -> int | None:
    """Return the year that is written, if one is."""
    return int(text) if text else None
