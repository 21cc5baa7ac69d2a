"""Times as programs, people and agents write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from datetime import time as clock_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.times import ago, iso, moment

ZONE: tzinfo = timezone(timedelta(hours=1))
HERE = datetime(2026, 11, 23, 10, 30, tzinfo=ZONE)  # a Monday
NOW = int(HERE.timestamp()) * 10**9
UNDERSTOOD = {
    "now": HERE,
    "3 minutes ago": HERE - timedelta(minutes=3),
    "an hour ago": HERE - timedelta(hours=1),
    "1.5 days ago": HERE - timedelta(hours=36),
    "5 s ago": HERE - timedelta(seconds=5),
    "3 min ago": HERE - timedelta(minutes=3),
    "2 h ago": HERE - timedelta(hours=2),
    "2 weeks ago": HERE - timedelta(weeks=2),
    "1 year ago": HERE - timedelta(days=365),
    "today": HERE.replace(hour=0, minute=0),
    "today 9:15": HERE.replace(hour=9, minute=15),
    "yesterday": datetime(2026, 11, 22, tzinfo=ZONE),
    "Yesterday 14:00": datetime(2026, 11, 22, 14, tzinfo=ZONE),
    "yesterday  9:05:30": datetime(2026, 11, 22, 9, 5, 30, tzinfo=ZONE),
    "2026-11-20": datetime(2026, 11, 20, tzinfo=ZONE),
    "2026-11-20T10:00": datetime(2026, 11, 20, 10, tzinfo=ZONE),
    "2026-11-20 10:00:05.25Z": datetime(2026, 11, 20, 10, 0, 5, 250_000, tzinfo=timezone.utc),
    "2026-11-20T10:00:00+08:00": datetime(2026, 11, 20, 2, tzinfo=timezone.utc),
    "现在": HERE,
    "3分钟前": HERE - timedelta(minutes=3),
    "2 小时前": HERE - timedelta(hours=2),
    "1 个月前": HERE - timedelta(days=30),
    "今天": HERE.replace(hour=0, minute=0),
    "昨天14:00": datetime(2026, 11, 22, 14, tzinfo=ZONE),
}
NOT_UNDERSTOOD = (
    "", "soon", "12", "may", "this", "the", "at", "5 mugs ago", "ago", "last", "last mug", "yesterday 25:00", "14:60",
    "13 pm", "2026-13-01", "2026-11-20T10:00+99:00", "a", "小时前", "明年", "点", "9" * 30, "1e400 days ago", "x" * 500,
    "9999999 years ago", "-5 minutes ago", "monday", "last hour", "14:05", "yesterday 1", "today 24:00",
    "yesterday yesterday", "\0", "2026-11-20T10:00\n; DROP",
)  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), UNDERSTOOD.items())
def test_a_time_is_read_as_it_is_meant(text: str, meant: datetime) -> None:
    assert moment("after", text, NOW, ZONE) == round(meant.timestamp() * 1000) * 10**6


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_is_no_time_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^after: "):
        moment("after", text, NOW, ZONE)


@pytest.mark.parametrize("value", [True, None, [], {}, float("nan"), b"now"])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(InvalidFieldError, match="is no time; write ISO 8601"):
        moment("before", value, NOW, ZONE)


def test_a_number_with_a_fraction_has_no_unit() -> None:
    with pytest.raises(InvalidFieldError, match=r"^before: 1.5 has no unit; give a datetime"):
        moment("before", 1.5, NOW, ZONE)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 11, 20, 10),  # noqa: DTZ001
        date(2026, 11, 20),
        HERE,
        HERE.astimezone(timezone.utc),
    ],
)
def test_datetimes_are_times_of_their_zone_or_of_the_one_that_is_given(value: date) -> None:
    time = value if isinstance(value, datetime) else datetime.combine(value, clock_time.min)
    zoned = time if time.tzinfo else time.replace(tzinfo=ZONE)
    assert moment("after", value, NOW, ZONE) == round(zoned.timestamp()) * 10**9


def test_a_timedelta_is_before_now() -> None:
    assert moment("after", timedelta(minutes=30), NOW, ZONE) == NOW - 1800 * 10**9
    assert moment("after", timedelta(microseconds=1), NOW, ZONE) == NOW - 1000
    with pytest.raises(InvalidFieldError, match="lies before 1970"):
        moment("after", timedelta(days=30_000), NOW, ZONE)


def test_numbers_of_numpy_are_whole_numbers() -> None:
    assert moment("after", np.int64(NOW), NOW, ZONE) == NOW


def test_nanoseconds_are_times_and_seconds_are_not() -> None:
    assert moment("after", NOW, NOW, ZONE) == moment("after", str(NOW), NOW, ZONE) == NOW
    assert moment("after", 0, NOW, ZONE) == 0
    with pytest.raises(InvalidFieldError, match="is no time"):
        moment("after", "12", NOW, ZONE)


@pytest.mark.parametrize(("unit", "scale"), [("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6)])
@pytest.mark.parametrize("form", [int, float, str])
def test_a_time_of_our_days_in_another_unit_is_refused_with_what_was_meant(unit: str, scale: int, form: type) -> None:
    count = NOW // 10**9 * scale
    why = rf"^after: .* is of 1970; if {unit} are meant, give '2026-11-23T09:30:00\+00:00' or {NOW}$"
    with pytest.raises(InvalidFieldError, match=why):
        moment("after", form(count), NOW, ZONE)


def test_every_verb_takes_times_as_people_write_them() -> None:
    with RobotMemory(":memory:", embedding_model="", clock=lambda: NOW) as memory:
        memory.learn("the door is open", observed_at=HERE - timedelta(hours=3))
        memory.save_perception("a mug", label="mug", pose=[1, 2, 3], observed_at="2 hours ago")
        assert [one.observed_at for one in memory.timeline().entries] == [NOW - 7200 * 10**9, NOW - 10_800 * 10**9]
        (mug,) = memory.recall(after=timedelta(minutes=150)).memories
        assert mug.content == "a mug"
        assert memory.recall(before="150 minutes ago").memories[0].content == "the door is open"
        assert len(memory.timeline(after="today", before="now").entries) == 2
        assert memory.density(bins=1, after=timedelta(minutes=150), before="now").start == NOW - 9000 * 10**9
        assert [one.label for one in memory.sighted(timedelta(hours=3), "now")] == ["mug"]
        assert memory.maps.path(after="today", before=HERE) == ()
        assert memory.purge(before="150 minutes ago", dry_run=True).memories == 1
        for call in (memory.recall, memory.timeline):
            with pytest.raises(InvalidFieldError, match=r"^after: 1790000000 as nanoseconds"):
                call(after=1_790_000_000)
        with pytest.raises(InvalidFieldError, match=r"^observed_at: 1790000000 as nanoseconds"):
            memory.learn("the door is shut", observed_at=1_790_000_000)


def test_times_of_a_simulation_are_nanoseconds_where_there_are_some() -> None:
    stamp = 1_200 * 10**9  # or milliseconds of 2008
    with RobotMemory(":memory:", embedding_model="") as memory:
        with pytest.raises(InvalidFieldError, match=r"^after: 1200000000000 as nanoseconds is of 1970"):
            memory.timeline(after=stamp)
        memory.learn("the door is open", observed_at=5 * 10**9)
        memory.learn("the door is shut", observed_at=stamp)
        assert [entry.observed_at for entry in memory.timeline(after=stamp).entries] == [stamp]
        assert [entry.observed_at for entry in memory.timeline(after=str(stamp)).entries] == [stamp]
        with pytest.raises(InvalidFieldError, match=r"^after: 1200000000000 as nanoseconds is of 1970"):
            memory.timeline(after=float(stamp))  # type: ignore[arg-type]


def test_a_wrong_argument_names_the_verb_and_what_was_meant() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        with pytest.raises(TypeError, match=r"^recall\(\) got .* 'lables'; did you mean 'labels'"):
            memory.recall(lables=["mug"])  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"learn\(\) missing 1 required positional argument: 'insight'"):
            memory.learn()  # type: ignore[call-arg]


def test_nanoseconds_of_a_simulation_are_early() -> None:
    assert moment("after", 5 * 10**9, 90 * 10**9, ZONE) == 5 * 10**9
    assert moment("after", "1 minute ago", 90 * 10**9, ZONE) == 30 * 10**9
    with pytest.raises(InvalidFieldError, match="lies before 1970"):
        moment("after", "1 hour ago", 90 * 10**9, ZONE)


WORDS = st.sampled_from([
    "3", "0", "12", "99", "1.5", "an", "half", "minute", "minutes", "h", "ago", "last", "yesterday", "today", "night",
    "monday", "at", "pm", "14:05", ":", "-", "2026-11-20", "T10:00", "Z", "+08:00", "分钟", "前", "昨天", "下午",
    "点", "半", "两", "十二", "最近", "天", ",", "and", " ", "9999999999999999999999", "\0", "é",
])  # fmt: skip


@given(st.lists(WORDS, max_size=7).map(" ".join) | st.lists(WORDS, max_size=7).map("".join) | st.text())
def test_any_text_is_a_time_or_is_refused(text: str) -> None:
    found = 0
    with suppress(InvalidFieldError):
        found = moment("after", text, NOW, ZONE)
    assert 0 <= found < 2**63


def test_without_a_zone_that_of_the_machine_holds() -> None:
    assert moment("after", "2026-11-20T10:00", NOW) == int(datetime(2026, 11, 20, 10).astimezone().timestamp()) * 10**9


def test_a_time_that_is_written_is_read_again() -> None:
    assert iso(NOW, ZONE) == "2026-11-23T10:30:00+01:00"
    assert moment("after", iso(NOW, ZONE), NOW, timezone.utc) == NOW
    assert moment("after", iso(NOW), NOW) == NOW


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "now"), (5, "5 s ago"), (185, "3 min ago"), (7200, "2 h ago"), (86_400, "1 day ago"), (8e5, "9 days ago"),
     (1e8, "3 years ago"), (-5, "in 5 s")],
)  # fmt: skip
def test_how_long_ago_is_told_in_the_largest_unit(seconds: float, told: str) -> None:
    assert ago(NOW - int(seconds) * 10**9, NOW) == told
