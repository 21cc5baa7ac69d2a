"""Times in Chinese words: the patterns of their forms, and what each means."""

from __future__ import annotations

import re
from datetime import date, timedelta

from .time_spans import PARTS, Calendar, Form, TimeMatch, Window, clock_of, year_of

_CHINESE_PARTS = {
    **dict.fromkeys(("早上", "早晨", "清晨", "上午", "早", "晨"), "morning"), "中午": "noon", "下午": "afternoon",
    "傍晚": "evening", **dict.fromkeys(("晚上", "夜里", "夜间", "晚", "夜"), "night"), "凌晨": "凌晨",
}  # fmt: skip
_DIGITS = "零一二三四五六七八九十"
_CHINESE_COUNT = r"\d+(?:\.\d+)?|[一二两三四五六七八九十]{1,3}|半"
CHINESE_LETTER = re.compile(r"[\u3400-\u9fff]")
_NOT_PLACE = r"前(?![台面方门厅后往边排院])"
_CHINESE_PART = "|".join(_CHINESE_PARTS)
_CHINESE_YEAR = r"今年|去年|前年|\d{4}年"
_CHINESE_MONTH = rf"(?:(?P<year>{_CHINESE_YEAR}))?(?P<month>\d{{1,2}}|十[一二]?|[一二三四五六七八九])月"
_CHINESE_DAY = (
    r"(?:(?P<named>大前天|前天|昨天|昨日|今天|今日|昨(?=晚|夜)|今(?=早|晨|晚|夜))"
    r"|(?P<which>上上|上|这|本)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
    rf"|{_CHINESE_MONTH}(?P<day>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号]"
    rf"|(?P<days>{_CHINESE_COUNT})天(?:之|以)?{_NOT_PLACE}|(?P<iso>\d{{4}}-\d\d-\d\d))"
)
_CHINESE_CLOCK = (
    r"(?P<hour>\d{1,2}|十[一二]?|[一二两三四五六七八九])"
    r"(?:[:：](?P<minute>[0-5]\d)|[点时](?:钟(?!方向)|(?P<half>半)|(?P<minutes>\d{1,2}|[一二三四五六七八九十]{1,3})分?)?)"
    r"(?:左右)?"
)
_CHINESE_RELATION = r"(?P<behind>以来|到现在|起|开始|之前|以前|之后|以后)?的?"
_CHINESE_CLOCK_2, _CHINESE_CLOCK_3 = (_CHINESE_CLOCK.replace(">", f"{number}>") for number in "23")
_CHINESE_WHEN = (
    rf"(?P<relation>自从|自|从|在)?(?<![每下])(?<![每下]个)(?:{_CHINESE_DAY} ?的?(?P<part>{_CHINESE_PART})?"
    rf" ?(?:从?{_CHINESE_CLOCK}(?:[到至]{_CHINESE_CLOCK_3})?)?|(?P<of>早上|上午|中午|下午|晚上|凌晨){_CHINESE_CLOCK_2})"
    rf"{_CHINESE_RELATION}"
)
_CHINESE_PERIOD = (
    r"(?P<relation>自从|自|从|在)?(?:(?P<which>上上|上|这|本)个?(?P<unit>周末|周|星期|礼拜|月)(?![一二三四五六日天])"
    rf"|(?P<count>{_CHINESE_COUNT})个?(?P<units>周|星期|月|年)(?:之|以)?{_NOT_PLACE}|{_CHINESE_MONTH}(?P<whole>份)?"
    rf"|(?P<only_year>{_CHINESE_YEAR})(?![糕货会度春夏秋冬]))(?!\d){_CHINESE_RELATION}"
)
_CHINESE_AGO = rf"(?P<count>{_CHINESE_COUNT})个?(?P<unit>小时|钟头|分钟|秒)钟?(?:之|以)?{_NOT_PLACE}的?"
_CHINESE_LAST = (
    rf"(?:最近|过去|近)的?(?P<count>{_CHINESE_COUNT})个?(?P<unit>小时|钟头|分钟|秒|天|周|星期|月)"
    r"(?:之内|以内|内|里)?的?"
)
_BEHIND_CHINESE = re.compile(r"\s*(?:$|[\W谁我你您他她它们在有是哪什怎为到从被把和那这发看来去没不])")
"""What may follow a weekday or a month that stands alone, so that it is no name: a function word, or nothing."""


def _stands_alone(match: TimeMatch) -> bool:
    return match.words.endswith("的") or bool(_BEHIND_CHINESE.match(match.behind))


def _number(text: str) -> float:
    if text == "半":
        return 0.5
    text = text.replace("两", "二")
    if text[0] not in _DIGITS:
        return float(text)
    tens, ten, ones = text.rpartition("十")
    return float((_DIGITS.index(tens) if tens else 1) * 10 * bool(ten) + (_DIGITS.index(ones) if ones else 0))


def _year_named(text: str, calendar: Calendar) -> int | None:
    years = {"今年": 0, "去年": 1, "前年": 2}
    return calendar.today.year - years[text] if text in years else year_of(text.removesuffix("年"))


def _day(match: TimeMatch, calendar: Calendar) -> date | None:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    if named := match["named"]:
        return calendar.day({"大前天": 3, "前天": 2}.get(named, int(named[0] == "昨")))
    if weekday := match["weekday"]:
        weeks_ago = {"上上": 2, "上": 1, "这": 0, "本": 0}.get(match["which"])
        return calendar.weekday("一二三四五六日".index(weekday.replace("天", "日")), weeks_ago)
    if match["days"]:
        return calendar.day(round(_number(match["days"])))
    if match["month"]:
        year = _year_named(match["year"], calendar)
        return calendar.latest(year, int(_number(match["month"])), int(_number(match["day"])))
    return None


def _clock(match: TimeMatch, part: str, suffix: str) -> timedelta | None:
    hour, minute, half, minutes = (match[f"{name}{suffix}"] for name in ("hour", "minute", "half", "minutes"))
    if not hour:
        return None
    past = 30 if half else int(minute or (_number(minutes) if minutes else 0))
    written = hour if hour.isascii() else str(int(_number(hour)))
    return clock_of(written, past, part)


def _when(match: TimeMatch, calendar: Calendar) -> Window | None:
    relation = match["behind"] or match["relation"]
    part = _CHINESE_PARTS.get(match["part"] or match["of"], "")
    day, clock = _day(match, calendar), _clock(match, part, "2" if match["of"] else "")
    if clock is not None and (end := _clock(match, part, "3")) is not None:
        return Window(calendar.ns(calendar.at(day, clock)), calendar.ns(calendar.at(day, end)))
    if clock is not None:
        return calendar.clock(calendar.at(day, clock)).related(relation)
    if day is None:
        return None
    is_bare = match["weekday"] and not (match["which"] or part or relation)
    if (is_bare or match["named"] == "今日") and not _stands_alone(match):
        return None
    return (calendar.hours(day, *PARTS[part]) if part else calendar.hours(day, 0, 24)).related(relation)


def _period(match: TimeMatch, calendar: Calendar) -> Window | None:
    relation = match["behind"] or match["relation"]
    units = {"周末": "weekend", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
    if unit := match["unit"]:
        return calendar.unit(units[unit], {"上上": 2, "上": 1}.get(match["which"], 0)).related(relation)
    if unit := match["units"]:
        return calendar.unit(units[unit], round(_number(match["count"]))).related(relation)
    if match["only_year"]:
        return calendar.month_of(_year_named(match["only_year"], calendar), None).related(relation)
    is_bare = not (match["year"] or match["whole"] or relation)
    if is_bare and not _stands_alone(match):
        return None
    month = int(_number(match["month"]))
    return calendar.month_of(_year_named(match["year"], calendar), month).related(relation)


def _ago(match: TimeMatch, calendar: Calendar) -> Window:
    return calendar.ago(_number(match["count"]), match["unit"]).related("")


def _last(match: TimeMatch, calendar: Calendar) -> Window:
    return calendar.last(_number(match["count"]), match["unit"]).related("")


CHINESE_FORMS: tuple[Form, ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (_CHINESE_WHEN, _when),
        (_CHINESE_PERIOD, _period),
        (_CHINESE_AGO, _ago),
        (_CHINESE_LAST, _last),
    )
)
