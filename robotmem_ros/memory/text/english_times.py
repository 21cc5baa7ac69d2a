"""Times in English words: the patterns of their forms, and what each means."""

from __future__ import annotations

import re
from datetime import date, timedelta

from .stop_words import ENGLISH
from .time_spans import PARTS, Calendar, Form, TimeMatch, Window, clock_of, year_of

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WEEKDAY, _MONTH = "|".join(WEEKDAYS), "|".join(MONTHS)
_SHORT = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)
_COUNT = rf"half an|\d+(?:\.\d+)?|an?|a couple of|{'|'.join(NUMBERS)}"
_PART = "morning|afternoon|evening|night"
_RELATION = "on|in|at|during|since|before|after|until"


_AHEAD = rf"(?=\W*$|[?!.,;]| (?:{'|'.join(sorted(ENGLISH))}|yesterday|today|tonight|last|{_WEEKDAY})\b)"
"""What may follow an hour alone, which else counts something: "9 volts"."""


def _clock_pattern(number: int) -> str:
    return (
        rf"(?:(?:(?P<past{number}>half past|quarter past|quarter to) )?"
        rf"(?P<hour{number}>\d{{1,2}}|{'|'.join(NUMBERS)})(?::(?P<minute{number}>[0-5]\d))?"
        rf"(?: ?(?P<half{number}>[ap])(?:m\b|\.m\.)| (?P<hours{number}>o'clock)|{_AHEAD})"
        rf"|(?P<name{number}>noon|midnight))"
    )


_CLOCK = (
    rf"(?:(?P<at>at|around|about|before|after|since) {_clock_pattern(1)}"
    rf"|(?:from|between) {_clock_pattern(1).replace('1>', '3>')} (?:to|and|until) {_clock_pattern(2)})"
)
_DATE = (
    r"(?P<iso>\d{4}-\d\d-\d\d)"
    rf"|(?:the )?(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month1>{_SHORT})(?: (?P<year1>\d{{4}}))?"
    rf"|(?P<month2>{_SHORT}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year2>\d{{4}}))?"
)
_NAMED = (
    r"(?:(?P<named>(?P<two>(?:the )?day before )?yesterday)|(?:earlier )?(?P<today>today)"
    r"|(?P<night>last night|tonight|this (?:morning|afternoon|evening))"
    rf"|(?:(?P<which>last|this) )?(?P<weekday>{_WEEKDAY})|(?P<days>{_COUNT}) days? ago|{_DATE})"
)
_DAY_WITH_CLOCK = (
    rf"(?:(?P<relation>{_RELATION}) )?(?:(?:the )?(?P<first>{_PART}) of )?{_NAMED}(?: (?:in the )?(?P<part>{_PART}))?"
    rf"(?:,? {_CLOCK}(?: in the (?P<of>{_PART}))?)?"
)
_CLOCK_WITH_DAY = rf"{_CLOCK}(?: (?:on )?{_NAMED}(?: (?:in the )?(?P<part>{_PART}))?| in the (?P<of>{_PART}))?"
_PERIOD = (
    rf"(?:(?P<relation>{_RELATION}) (?:the )?)?(?:(?P<which>last|this) (?P<unit>weekend|week|month|year)"
    rf"|(?P<count>{_COUNT}) (?P<units>week|month|year)s? ago"
    rf"|(?P<of>last )?(?P<month>{_MONTH})(?: (?P<year>\d{{4}}))?|(?P<only_year>(?:19|20)\d\d))"
)
_AGO = rf"(?:(?P<relation>since|before|after|until) )?(?P<count>{_COUNT}) (?P<unit>second|minute|hour)s? ago"
_LAST = (
    rf"(?:(?:in|within|over|during) (?:the )?(?:last|past) (?:(?P<count>{_COUNT}) )?"
    rf"|(?:the )?(?:last|past) (?P<count2>{_COUNT}) )(?P<unit>second|minute|hour|day|week|month)s?"
)


PAST_VERB = re.compile(
    r"\b(?:was|were|did|had|has|have|saw|seen|came|went)\b|\b(?:who|what|which|that|I|you|we|they|he|she|it) \w+ed\b",
    re.IGNORECASE,
)
"""What shows that a question is about the past."""


def _number(word: str) -> float:
    if word in NUMBERS:
        return NUMBERS.index(word) + 1.0
    return {"": 1.0, "a": 1.0, "an": 1.0, "half an": 0.5, "a couple of": 2.0}.get(word) or float(word)


def _month(name: str) -> int:
    return [month[:3] for month in MONTHS].index(name[:3]) + 1


def _day(match: TimeMatch, calendar: Calendar) -> date | None:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    for number in "12":
        if month := match[f"month{number}"]:
            return calendar.latest(year_of(match[f"year{number}"]), _month(month), int(match[f"day{number}"]))
    if weekday := match["weekday"]:
        return calendar.weekday(WEEKDAYS.index(weekday), 0 if match["which"] == "this" else None)
    if match["days"]:
        return calendar.day(round(_number(match["days"])))
    if match["today"] or match["night"].startswith(("tonight", "this")):
        return calendar.day(0)
    return calendar.day(2 if match["two"] else 1) if match["named"] or match["night"] else None


def _clock(match: TimeMatch, number: str, part: str) -> timedelta | None:
    hour_text, minute, half = (match[f"{name}{number}"] for name in ("hour", "minute", "half"))
    if name := match[f"name{number}"]:
        return timedelta(hours=12 if name == "noon" else 24)
    if not hour_text:
        return None
    hour_text = str(NUMBERS.index(hour_text) + 1) if hour_text in NUMBERS else hour_text
    past = {"half past": 30, "quarter past": 15, "quarter to": -15}.get(match[f"past{number}"], 0)
    return clock_of(hour_text, int(minute or 0) + past, {"a": "morning", "p": "afternoon"}.get(half, part))


def _when(match: TimeMatch, calendar: Calendar) -> Window | None:
    day = _day(match, calendar)
    part = match["part"] or match["first"] or match["of"] or match["night"].split(" ")[-1].replace("tonight", "night")
    clocks = [clock for number in "132" if (clock := _clock(match, number, part)) is not None]
    if not clocks:
        is_bare = not (match["relation"] or match["which"] or match["part"])
        if day is None or (match["weekday"] and is_bare):
            return None
        span = calendar.hours(day, *PARTS[part]) if part else calendar.hours(day, 0, 24)
        return span.related(match["relation"])
    marks = ("minute", "half", "hours", "name", "past")
    is_written = any(match[f"{mark}{number}"] for mark in marks for number in "123")
    if day is None and not (part or is_written or (match["hour1"] in NUMBERS and PAST_VERB.search(match.text))):
        return None
    times = [calendar.at(day, clock) for clock in clocks]
    if len(times) == 2:
        return Window(calendar.ns(times[0]), calendar.ns(times[1]))
    if day is None or match["relation"] in {"since", "before", "after", "until"}:
        return calendar.clock(times[0]).related(match["at"] if day is None else match["relation"])
    whole, window = calendar.hours(day, 0, 24), calendar.clock(times[0]).related(match["at"])
    return Window(*(mine if mine is not None else its for mine, its in zip(window, whole[:2], strict=True)))


def _period(match: TimeMatch, calendar: Calendar) -> Window | None:
    relation = match["relation"]
    if match["unit"]:
        return calendar.unit(match["unit"], match["which"] == "last").related(relation)
    if match["units"]:
        return calendar.unit(match["units"], round(_number(match["count"]))).related(relation)
    if match["only_year"]:
        return calendar.month_of(int(match["only_year"]), None).related(relation) if relation else None
    if not (relation or match["of"]):
        return None
    return calendar.month_of(year_of(match["year"]), _month(match["month"])).related(relation)


def _ago(match: TimeMatch, calendar: Calendar) -> Window:
    return calendar.ago(_number(match["count"]), match["unit"]).related(match["relation"])


def _last(match: TimeMatch, calendar: Calendar) -> Window:
    return calendar.last(_number(match["count"] or match["count2"]), match["unit"]).related("")


ENGLISH_FORMS: tuple[Form, ...] = tuple(
    (re.compile(rf"(?<![\w.:/-]){pattern}(?![\w/:'’-]|\.\d)", re.IGNORECASE), read)
    for pattern, read in (
        (_DAY_WITH_CLOCK, _when), (_CLOCK_WITH_DAY, _when), (_PERIOD, _period),
        (_AGO, _ago), (_LAST, _last),
    )
)  # fmt: skip
