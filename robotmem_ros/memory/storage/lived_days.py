"""Number the lived days: the days on which the memory was awake, in their order.

A day of the robot's clock is lived if a program opens the memory to write, or commits, on it. So a memory does not age
while its robot is switched off, or observes nothing and gets no query, and programs that only read the file agree
whatever their clocks show. The number of a day never changes. A clock that jumped ahead and
was set right has cost one day, and a simulation that begins again lives the same days again.

Days in the order in which they were lived are timelines: a day far from the one before it begins another, or goes on
with an earlier one. A clock that goes back is behind, or was ahead: the timeline of more days is believed. One that
jumps ahead is believed after some days, since the robot may have been off. Days that were lived in doubt tell nothing
once the clock was set, if the machine was not restarted since.

A time belongs to the last lived day that is not after it, and a time before all lived days to day 0. A stamp of no wall
clock, such as that of a simulation or one that counts from the start of a driver, belongs to the present day if that is
a day of a wall clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..clocks import DAY, FIRST_OF_WALL_CLOCKS, comparable_since, iso, start_of_machine
from ..conditions.decay import LATEST_DAY
from .snapshot import Snapshot, Transaction, json_array

_OF_DAYS = """
    SELECT j.value, coalesce((
        SELECT n FROM lived_days WHERE day <= j.value OR (j.value < 11574 AND day >= 11574) ORDER BY day DESC LIMIT 1
    ), 0) FROM json_each(?) AS j
"""
"""11574 is the first day of wall clocks, see clocks.py."""
_LIVE = """
    INSERT OR IGNORE INTO lived_days (day, after_id) VALUES (?, (SELECT coalesce(max(id), 0) FROM memories))
"""
_FIRST_OF_LAST = """
    SELECT min(day) FROM lived_days AS l, (SELECT max(n) - ?1 AS n FROM lived_days) AS first
    WHERE first.n > 0 AND l.n >= first.n AND day BETWEEN ?2 AND 106751
"""
_BEHIND, _AHEAD = 30, 180
"""Days by which a day may lie before the last one of its timeline, and after it."""
_BELIEVED = 7
"""Days after which a clock that jumped ahead is believed."""
_TELLING = """day <= 106751 AND n NOT IN (
    SELECT key FROM doubtful_times WHERE of_table = 'lived_days' AND boot = :boot
    AND abs(booted_at - :booted_at) >= :whole_day
)"""
"""Days that tell of the present clock; 106751 is the last that 64 bits of nanoseconds reach."""
_AHEAD_OF = f"SELECT 1 FROM lived_days WHERE day > :today + {_BEHIND} AND {_TELLING} LIMIT 1"
_NEAR = f"SELECT count(*) FROM lived_days WHERE day BETWEEN :today - {_BEHIND} AND :today AND {_TELLING}"
_DAYS = f"SELECT day FROM lived_days WHERE (day >= :first_day OR day <= :today) AND {_TELLING} ORDER BY n"
_FIRST_WALL_DAY = FIRST_OF_WALL_CLOCKS // DAY
_LOG = logging.getLogger(__name__)


@dataclass
class _Timeline:
    """Days that one clock may have shown: the first, the last, their number, and how many timelines began before."""

    first: int
    last: int
    began: int
    days: int = 0

    def goes_on_with(self, day: int) -> bool:
        return -_BEHIND <= day - self.last <= _AHEAD


def note(transaction: Transaction, clock: Callable[[], int]) -> None:
    """Note that the memory lives the present day, by the robot's clock in nanoseconds, if the clock has a time."""
    try:
        now = clock()
    except Exception as error:
        # A write matters more than a day; code that needs the time raises the error.
        _LOG.debug("the day was not noted: %s", error)
        return
    if now > 0:
        transaction.execute(_LIVE, (now // DAY,))


def latest(snapshot: Snapshot) -> int:
    """Return the number of the last lived day; 0 if there is none."""
    return int(snapshot.row(f"SELECT {LATEST_DAY}")[0])


def in_order(snapshot: Snapshot) -> tuple[int | None, ...]:
    """Return the lived days since the epoch by their numbers, which begin with 1; None for one that was merged."""
    days = dict(snapshot.rows("SELECT n, day FROM lived_days"))
    return tuple(days.get(n) for n in range(1, max(days, default=0) + 1))


def numbers(snapshot: Snapshot, times: Iterable[int]) -> list[int]:
    """Return the numbers of the lived days to which times belong, in nanoseconds by the robot's clock."""
    days = [time // DAY for time in times]
    day_numbers = dict(snapshot.rows(_OF_DAYS, (json_array({*days}),)))
    return [day_numbers[day] for day in days]


def reach(snapshot: Snapshot, age: int, now: int) -> int:
    """Return the time before which all is older than `age` by the robot's clock and in lived days; 0 if nothing is.

    A part of a day counts as a day, and the present day is none. While the clock is in doubt, nothing is too old. All
    are nanoseconds.
    """
    if age <= 0:
        return now - age
    if doubt(snapshot, now):
        return 0
    (day,) = snapshot.row(_FIRST_OF_LAST, (-(-age // DAY), comparable_since(now) // DAY))
    return 0 if day is None else min(now - age, int(day) * DAY)


def doubt(snapshot: Snapshot, now: int) -> str:
    """Return why the robot's clock is wrong, or was, by the days that were lived; empty if nothing tells so."""
    arguments = _arguments(now)
    today, is_behind = arguments["today"], snapshot.row(_AHEAD_OF, arguments) is not None
    if not is_behind and snapshot.row(_NEAR, arguments)[0] > _BELIEVED:
        return ""
    present, others = _timelines(snapshot, arguments)
    if (ahead := _believed_ahead(present, others, today)) is not None:
        shown = f"the robot's clock shows {_date(today)}, {ahead.last - today:,} days before {_date(ahead.last)}"
        return f"{shown}, a day on which the memory was open: it is behind, or was ahead then"
    known = (each for each in others if each.began < present.began and each.last >= _FIRST_WALL_DAY)
    earlier = (each for each in known if each.last < present.first - _AHEAD)
    before = max(earlier, key=lambda each: each.last, default=None)
    if before is not None and present.days <= min(_BELIEVED, before.days):
        shown = f"the robot's clock shows {_date(today)}, {today - before.last:,} days after {_date(before.last)}"
        return f"{shown}, the last day on which the memory was open: unless it was off for so long, the clock is ahead"
    return ""


def is_behind(snapshot: Snapshot, now: int) -> bool:
    """Tell whether the robot's clock is probably behind, so that later times are right."""
    arguments = _arguments(now)
    if snapshot.row(_AHEAD_OF, arguments) is None:
        return False
    return _believed_ahead(*_timelines(snapshot, arguments), arguments["today"]) is not None


def move(transaction: Transaction, n: int, shift: int) -> None:
    """Move a lived day by nanoseconds; it goes if that day was lived as well."""
    sql = "UPDATE OR IGNORE lived_days SET day = day + ? WHERE n = ?"
    if transaction.execute(sql, (shift // DAY, n)).rowcount == 0:
        transaction.execute("DELETE FROM lived_days WHERE n = ?", (n,))


def _arguments(now: int) -> dict[str, Any]:
    boot, booted_at = start_of_machine(now)
    today = max(now, 0) // DAY
    return {"today": today, "first_day": _FIRST_WALL_DAY, "boot": boot, "booted_at": booted_at, "whole_day": DAY}


def _timelines(snapshot: Snapshot, arguments: Mapping[str, Any]) -> tuple[_Timeline, list[_Timeline]]:
    # That of the present day, and the others.
    timelines: list[_Timeline] = []  # the one that was lived last is the last

    def timeline_of(day: int) -> _Timeline:
        candidates = (each for each in reversed(timelines) if each.goes_on_with(day))
        found = next(candidates, None) or _Timeline(day, day, began=len(timelines))
        if not timelines or found is not timelines[-1]:
            timelines[:] = [*(each for each in timelines if each is not found), found]
        return found

    for (day,) in snapshot.rows(_DAYS, arguments):
        timeline = timeline_of(day)
        timeline.days += 1
        timeline.first, timeline.last = min(timeline.first, day), max(timeline.last, day)
    present = timeline_of(arguments["today"])
    return present, timelines[:-1]


def _believed_ahead(present: _Timeline, others: Iterable[_Timeline], today: int) -> _Timeline | None:
    ahead = max((each for each in others if each.last > today + _BEHIND), key=lambda each: each.days, default=None)
    return ahead if ahead is not None and (ahead.days, present.began) > (present.days, ahead.began) else None


def _date(day: int) -> str:
    return iso(day * DAY)[:10]


def renew(transaction: Transaction, memory_id: int) -> None:
    """Note the lived day of the evidence for a memory whose times were changed."""
    sql = "SELECT max(observed_at, received_at) FROM memories WHERE id = ?"
    days = numbers(transaction, (time for (time,) in transaction.rows(sql, (memory_id,))))
    transaction.executemany(
        "UPDATE memories SET evidence_day = ?1 WHERE id = ?2 AND evidence_day <> ?1", [(day, memory_id) for day in days]
    )
