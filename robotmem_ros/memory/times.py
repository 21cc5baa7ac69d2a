"""Read times as programs, people and agents write them: numbers, datetimes, ISO 8601, and how long ago.

The grammar is small and strict on purpose: a library that guesses reads `12` as the 12th of a month, and a filter with
a wrong time finds nothing without a word. What is not understood is refused with the forms that are.

A form that names a day is its midnight. A time without a zone is in the zone of the machine.
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
    "write ISO 8601 (2026-01-31T12:00, with or without a zone), `3 minutes ago`, `today`, `yesterday 14:00`, "
    "`3 分钟前`, `昨天 14:00`, or nanoseconds since the epoch"
)
_SECONDS = {
    "second": 1, "s": 1, "秒": 1, "minute": 60, "min": 60, "分钟": 60, "hour": 3600, "h": 3600, "小时": 3600,
    "day": 86_400, "天": 86_400, "week": 604_800, "周": 604_800, "month": 2_592_000, "个月": 2_592_000,
    "year": 31_536_000, "年": 31_536_000,
}  # fmt: skip
"""Seconds of a unit; a month has 30 days and a year 365."""
_AGO = re.compile(rf"(?P<count>\d+(?:\.\d+)?|an?) ?(?P<unit>{'|'.join(_SECONDS)})s? ?(?:ago|前)")
_DAYS_AGO = {"today": 0, "今天": 0, "yesterday": 1, "昨天": 1}
_DAY = re.compile(rf"(?P<day>{'|'.join(_DAYS_AGO)})(?: ?(\d\d?):(\d\d)(?::(\d\d))?)?")


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
        for read in (_iso, _ago, _day):
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


def _ago(text: str, now: int, zone: tzinfo | None) -> int | None:
    if text in {"now", "现在"}:
        return now
    match = _AGO.fullmatch(text)
    if match is None:
        return None
    count = 1.0 if match["count"].startswith("a") else float(match["count"])
    return now - round(count * _SECONDS[match["unit"]] * _NS)


def _day(text: str, now: int, zone: tzinfo | None) -> int | None:
    match = _DAY.fullmatch(text)
    if match is None:
        return None
    day = datetime.fromtimestamp(now / _NS, zone).replace(tzinfo=None) - timedelta(days=_DAYS_AGO[match["day"]])
    hour, minute, second = (int(part or 0) for part in match.groups()[1:])
    return _as_ns(_with_zone(datetime.combine(day, clock_time(hour, minute, second)), zone))


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
