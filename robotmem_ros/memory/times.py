"""Read times as programs, people and agents write them: numbers, datetimes, ISO 8601, words in English and Chinese.

The grammar is small and strict on purpose: a library that guesses reads `12` as the 12th of a month, and a filter with
a wrong time finds nothing without a word. What is not understood is refused with the forms that are.

A form that names a period is its beginning: `yesterday` is its midnight, `last hour` one hour ago. A time without a
zone is in the zone of the machine.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from datetime import time as clock_time

import numpy as np

from .clocks import FIRST_OF_WALL_CLOCKS
from .errors import InvalidFieldError

Time = int | str | date | timedelta
"""Nanoseconds since the epoch, a text that `moment` reads, a datetime (a date is its midnight), or how long ago."""
_NS = 10**9
_LATEST_NS = 2**63 - 1
MAX_TIME = 60
"""Characters of a written time."""
_DAY_AHEAD = 86_400
"""Seconds; clocks of two machines differ by less."""
FORMS = (
    "write ISO 8601 (2026-01-31T12:00, with or without a zone), `3 minutes ago`, `last hour`, `today`, "
    "`yesterday 14:00`, `monday`, `14:05`, `3 分钟前`, `昨天下午 2 点`, or nanoseconds since the epoch"
)
_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000, "year": 31_536_000,
}  # fmt: skip
"""A month has 30 days and a year 365."""
_SHORT = {
    "s": "second", "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "m": "minute", "h": "hour",
    "hr": "hour", "hrs": "hour", "d": "day", "w": "week",
}  # fmt: skip
_CHINESE_UNITS = (
    ("秒钟", "second"), ("秒", "second"), ("分钟", "minute"), ("分", "minute"), ("个小时", "hour"), ("小时", "hour"),
    ("个钟头", "hour"), ("天", "day"), ("日", "day"), ("个星期", "week"), ("星期", "week"), ("周", "week"),
    ("个月", "month"), ("年", "year"),
)  # fmt: skip
_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "half an": 0.5, "half a": 0.5, "two": 2.0, "three": 3.0, "few": 3.0}
_DIGITS = {
    "半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
    "十一": 11, "十二": 12,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PARTS = {"morning": 6, "noon": 12, "afternoon": 12, "evening": 18, "night": 18}
"""The hour at which a part of a day begins."""
_CHINESE_PARTS = {
    "凌晨": 0, "早上": 6, "早晨": 6, "上午": 6, "中午": 12, "下午": 12, "傍晚": 18, "晚上": 18, "早": 6, "晚": 18,
}  # fmt: skip
_CHINESE_DAYS = {"今天": 0, "今日": 0, "昨天": 1, "昨日": 1, "前天": 2, "今": 0, "昨": 1}
_NUMBER = r"\d+(?:\.\d+)?|" + "|".join(sorted(_NUMBERS, key=len, reverse=True))
_SPAN = re.compile(rf"(?P<count>{_NUMBER}) ?(?P<unit>[a-z]+)(?: and (?P<half>a half))?")
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d))? ?(?P<half>[ap]\.?m\.?)?")
_CHINESE_NUMBER = r"\d+(?:\.\d+)?|十[一二]?|[半一两二三四五六七八九]"
_CHINESE_SPAN = re.compile(
    rf"(?P<count>{_CHINESE_NUMBER})(?P<unit>{'|'.join(text for text, _ in _CHINESE_UNITS)})(?P<half>半)?"
)
_CHINESE_DAY = re.compile(
    rf"(?P<day>{'|'.join(_CHINESE_DAYS)})?(?P<part>{'|'.join(_CHINESE_PARTS)})?"
    rf"(?:(?P<hour>{_CHINESE_NUMBER})(?:点|时|:)(?:钟|整)?(?:(?P<half>半)|(?P<minute>\d{{1,2}})分?)?)?"
)


class OtherUnitError(InvalidFieldError):
    """A number is a time of our days in another unit than nanoseconds; or a time of a simulation, in nanoseconds."""


def moment(field: str, value: object, now: int, zone: tzinfo | None = None) -> int:
    """Return a time in nanoseconds since the epoch by the robot's clock, which shows `now`; a timedelta is before it.

    `zone` is that of times that name none; None for the zone of the machine.

    Raises:
        InvalidFieldError: it is no time of a known form, or out of range.
    """
    if isinstance(value, str):
        time_ns = _parse(field, value, now, zone)
    elif isinstance(value, date):
        midnight = value if isinstance(value, datetime) else datetime.combine(value, clock_time.min)
        time_ns = _as_ns(_with_zone(midnight, zone))
    elif isinstance(value, timedelta):
        time_ns = now - value // timedelta(microseconds=1) * 1000
    elif isinstance(value, (int, float, np.integer)) and not isinstance(value, bool) and math.isfinite(value):
        if isinstance(value, float):
            _check_unit(field, value, now)
            raise InvalidFieldError(field, value, "has no unit; give a datetime, a text or whole nanoseconds")
        _check_unit(field, int(value), now)
        time_ns = int(value)
    else:
        raise InvalidFieldError(field, value, f"is no time; {FORMS}")
    if not 0 <= time_ns <= _LATEST_NS:
        raise InvalidFieldError(field, value, "lies before 1970 or after 2262; give a time in between")
    return time_ns


def _parse(field: str, stamp: str, now: int, zone: tzinfo | None) -> int:
    text = " ".join(stamp.lower().split())
    if len(text) <= MAX_TIME:
        if re.fullmatch(r"[0-9]+", text):
            _check_unit(field, int(text), now)
            if not 0 < int(text) < _NS or now < FIRST_OF_WALL_CLOCKS:  # else rather an hour or a day than nanoseconds
                return int(text)
        for read in (_iso, _relative, _day):
            with suppress(ValueError, OverflowError, OSError):
                if (time_ns := read(text, now, zone)) is not None:
                    return time_ns
    raise InvalidFieldError(field, stamp, f"is no time; {FORMS}")


def _check_unit(field: str, count: float, now: int) -> None:
    """Refuse a number that is a time of our days in another unit than nanoseconds, such as that of time.time()."""
    if now < FIRST_OF_WALL_CLOCKS:
        return
    for unit, scale in (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6)):
        if FIRST_OF_WALL_CLOCKS // _NS * scale < count <= (now // _NS + _DAY_AHEAD) * scale:
            example = datetime.fromtimestamp(count / scale, timezone.utc).isoformat(timespec="seconds")
            text = f"as nanoseconds is of 1970; if {unit} are meant, give {example!r} or {int(count) * (_NS // scale)}"
            raise OtherUnitError(field, int(count), text)


def _iso(text: str, now: int, zone: tzinfo | None) -> int | None:
    stamp = text.upper()
    # Python 3.10 reads neither a `Z` nor fractions other than milliseconds and microseconds.
    stamp = re.sub(r"Z$", "+00:00", stamp)
    stamp = re.sub(r"\.(\d{1,9})", lambda match: "." + match[1][:6].ljust(6, "0"), stamp)
    if not re.match(r"\d{4}-\d\d-\d\d", stamp):
        return None
    return _as_ns(_with_zone(datetime.fromisoformat(stamp), zone))


def _relative(text: str, now: int, zone: tzinfo | None) -> int | None:
    if text in {"now", "just now", "现在", "刚才", "刚刚"}:
        return now
    spans: float | None
    chinese = text.replace(" ", "")
    if text.endswith(" ago"):
        spans = _english_spans(text.removesuffix(" ago"))
    elif text.startswith(("last ", "past ", "the last ", "the past ", "in the last ")):
        rest = re.sub(r"^(in )?(the )?(last|past) ", "", text)
        spans = _english_spans(rest if re.match(rf"(?:{_NUMBER})(?: |\d|$)", rest) else f"1 {rest}")
    elif chinese.endswith(("前", "以前", "之前")):
        spans = _chinese_spans(re.sub(r"(以|之)?前$", "", chinese))
    elif chinese.startswith(("最近", "过去", "近")):
        spans = _chinese_spans(re.sub(r"^(最近|过去|近)(的)?", "", chinese))
    else:
        return None
    return None if spans is None else now - round(spans * _NS)


def _english_spans(text: str) -> float | None:
    parts = [part.strip() for part in re.split(r", | and (?=\d)|(?<=[a-z]) ?(?=\d)", text)]
    total = 0.0
    for part in parts:
        match = _SPAN.fullmatch(part)
        if match is None:
            return None
        name = _SHORT.get(match["unit"], match["unit"].removesuffix("s"))
        if name not in _SECONDS:
            return None
        count = _NUMBERS[match["count"]] if match["count"] in _NUMBERS else float(match["count"])
        total += (count + (0.5 if match["half"] else 0.0)) * _SECONDS[name]
    return total if math.isfinite(total) else None


def _chinese_spans(text: str) -> float | None:
    total, at = 0.0, 0
    while at < len(text):
        match = _CHINESE_SPAN.match(text, at)
        if match is None:
            return None
        total += (_chinese_number(match["count"]) + (0.5 if match["half"] else 0)) * _SECONDS[
            dict(_CHINESE_UNITS)[match["unit"]]
        ]
        at = match.end()
    return total if text else None


def _chinese_number(text: str) -> float:
    return float(_DIGITS[text]) if text in _DIGITS else float(text)


def _day(text: str, now: int, zone: tzinfo | None) -> int | None:
    local_now = datetime.fromtimestamp(now / _NS, zone)
    midnight = local_now.replace(hour=0, minute=0, second=0, microsecond=0)
    for read in (_english_day, _chinese_day):
        time = read(text, local_now, midnight)
        if time is not None:
            return _as_ns(time)
    return None


def _english_day(text: str, local_now: datetime, midnight: datetime) -> datetime | None:
    words = text.replace(",", " ").replace(" at ", " ").replace("tonight", "this night").split()
    if words and words[0] == "at":
        words = words[1:]
    days, back = _named_day(words, local_now)
    rest = " ".join(words[days:]) or ("" if words != ["this"] else "this")
    day = _earlier(midnight, back)
    if not rest:
        return day if days else None
    part = re.sub(r"^(in )?(the )?", "", rest)
    if part in _PARTS:
        return day.replace(hour=_PARTS[part]) if days else None
    match = _CLOCK.fullmatch(rest)
    if match is None or not (match["minute"] or match["half"]):
        return None
    return _last(_set(day, match["hour"], match["minute"], match["second"], match["half"] or ""), local_now, days=days)


def _named_day(words: list[str], local_now: datetime) -> tuple[int, int]:
    """Return how many of the words name a day, and how many days ago it was."""
    if words[:1] in (["today"], ["this"]):
        return 1, 0
    if words[:2] == ["last", "night"]:
        return 1, 1
    if words[:1] == ["yesterday"]:
        return 1, 1
    if words[:4] == ["the", "day", "before", "yesterday"]:
        return 4, 2
    offset = 1 if words[:1] in (["last"], ["on"]) else 0
    if words[offset : offset + 1] and words[offset] in _WEEKDAYS:
        # The last one: of today's name, the one a week ago.
        return offset + 1, (local_now.weekday() - _WEEKDAYS.index(words[offset]) - 1) % 7 + 1
    return 0, 0


def _chinese_day(text: str, local_now: datetime, midnight: datetime) -> datetime | None:
    match = _CHINESE_DAY.fullmatch(text.replace(" ", "").replace("：", ":"))
    if match is None or not any(match.groups()):
        return None
    if not match["day"] and not match["hour"]:
        return None
    day = _earlier(midnight, _CHINESE_DAYS[match["day"]] if match["day"] else 0)
    if match["hour"] is None:
        return day.replace(hour=_CHINESE_PARTS[match["part"]]) if match["part"] else day
    hour = int(_chinese_number(match["hour"]))
    if match["part"] and _CHINESE_PARTS[match["part"]] >= 12 and hour < 12:
        hour += 12 if not (match["part"] == "中午" and hour == 11) else 0
    minute = "30" if match["half"] else match["minute"] or "0"
    return _last(_set(day, str(hour), minute, "0", ""), local_now, days=int(bool(match["day"])))


def _set(day: datetime, hour: str, minute: str | None, second: str | None, half: str) -> datetime:
    hours = int(hour)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(hour)
        hours = hours % 12 + (12 if half[0] == "p" else 0)
    return day.replace(hour=hours, minute=int(minute or 0), second=int(second or 0))


def _last(time: datetime, local_now: datetime, *, days: int) -> datetime:
    """Return the last time that a clock showed a time of no named day: today's, or yesterday's."""
    return time if days or time <= local_now else _earlier(time, 1)


def _earlier(day: datetime, days: int) -> datetime:
    return day - timedelta(days=days)


def _with_zone(time: datetime, zone: tzinfo | None) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=zone)


def _as_ns(time: datetime) -> int:
    # A time without a zone is one of the machine's, and Python knows whether that was summer time.
    return round(time.timestamp() * 1e6) * 1000


def iso(time_ns: int, zone: tzinfo | None = None) -> str:
    """Write a time with its zone, to the second: 2026-01-31T12:00:05+01:00."""
    try:
        time = datetime.fromtimestamp(time_ns // _NS, zone)
        return (time if zone is not None else time.astimezone()).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"


def ago(time_ns: int, now: int) -> str:
    """Say how long ago a time was: `3 min ago`, `in 5 s`; of the largest unit that it has at least one of."""
    seconds = abs(now - time_ns) // _NS
    if seconds < 1:
        return "now"
    units: list[tuple[int, str]] = [(86_400 * 365, "year"), (86_400, "day"), (3600, "h"), (60, "min"), (1, "s")]
    size, name = next(unit for unit in units if seconds >= unit[0])
    count = seconds // size
    text = f"{count} {name}{'s' if count > 1 and name in {'year', 'day'} else ''}"
    return f"{text} ago" if time_ns < now else f"in {text}"
