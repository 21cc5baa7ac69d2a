"""Number the lived days: the days on which the memory was awake, in their order.

A day of the robot's clock is lived if a program opens the memory to write, or commits, on it. So a memory does not age
while its robot is switched off, or observes nothing and gets no query, and programs that only read the file agree
whatever their clocks show. The number of a day never changes. A clock that jumped ahead and
was set right has cost one day, and a simulation that begins again lives the same days again.

A time belongs to the last lived day that is not after it, and a time before all lived days to day 0. A stamp of no wall
clock, such as that of a simulation or one that counts from the start of a driver, belongs to the present day if that is
a day of a wall clock.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable

from ..clocks import DAY, FIRST_OF_WALL_CLOCKS, comparable_since, iso
from .snapshot import Snapshot, Transaction

_OF_DAYS = """
    SELECT j.value, coalesce((
        SELECT n FROM lived_days WHERE day <= j.value OR (j.value < 11574 AND day >= 11574) ORDER BY day DESC LIMIT 1
    ), 0) FROM json_each(?) AS j
"""
"""11574 is the first day of wall clocks, see clocks.py."""
_FIRST_OF_LAST = """
    SELECT min(day) FROM lived_days AS l, (SELECT max(n) - ?1 AS n FROM lived_days) AS first
    WHERE first.n > 0 AND l.n >= first.n AND day >= ?2
"""
_BEHIND, _AHEAD = 30, 180
"""Days by which a clock may lie before a day that was lived, and after the last one, without a doubt."""
_AROUND = """
    SELECT max(iif(day < ?1, day, NULL)), max(iif(day > ?1 + ?2, day, NULL)), coalesce(sum(day > ?1 + ?2), 0),
    coalesce(max(iif(abs(day - ?1) > ?2, n, NULL)) > min(iif(abs(day - ?1) <= ?2, n, NULL)), 0)
    FROM lived_days WHERE day >= ?3 OR day <= ?1
"""
_FIRST_WALL_DAY = FIRST_OF_WALL_CLOCKS // DAY
_LOG = logging.getLogger(__name__)


def note(transaction: Transaction, clock: Callable[[], int]) -> None:
    """Note that the memory lives the present day, by the robot's clock in nanoseconds, if the clock has a time."""
    try:
        now = clock()
    except Exception as error:
        # A write matters more than a day; code that needs the time raises the error.
        _LOG.debug("the day was not noted: %s", error)
        return
    if now > 0:
        transaction.execute("INSERT OR IGNORE INTO lived_days (day) VALUES (?)", (now // DAY,))


def numbers(snapshot: Snapshot, times: Iterable[int]) -> list[int]:
    """Return the numbers of the lived days to which times belong, in nanoseconds by the robot's clock."""
    days = [time // DAY for time in times]
    day_numbers = dict(snapshot.rows(_OF_DAYS, (json.dumps(sorted({*days})),)))
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
    today, before, latest, is_back, was_here = _around(snapshot, now)
    if is_back:
        shown = f"the robot's clock shows {_date(today)}, {latest - today:,} days before {_date(latest)}"
        return f"{shown}, a day on which the memory was open: it is behind, or was ahead then"
    if before >= _FIRST_WALL_DAY and today - before > _AHEAD and not was_here:
        shown = f"the robot's clock shows {_date(today)}, {today - before:,} days after {_date(before)}"
        return f"{shown}, the last day on which the memory was open: unless it was off for so long, the clock is ahead"
    return ""


def is_behind(snapshot: Snapshot, now: int) -> bool:
    """Tell whether the robot's clock is probably behind, so that later times are right."""
    return _around(snapshot, now)[3]


def _around(snapshot: Snapshot, now: int) -> tuple[int, int, int, bool, bool]:
    # The day, the last lived one before it, the last of those that lie ahead of it, whether the clock went back, and
    # whether the memory lived about this day before it lived a day far from it. Then it comes from a clock that was
    # wrong for a while, if only one day lies ahead.
    today = max(now, 0) // DAY
    before, latest, later_days, was_here = snapshot.row(_AROUND, (today, _BEHIND, _FIRST_WALL_DAY))
    return today, before or 0, latest or 0, later_days > (1 if was_here else 0), bool(was_here)


def _date(day: int) -> str:
    return iso(day * DAY)[:10]


def renew(transaction: Transaction, memory_id: int) -> None:
    """Note the lived day of the evidence for a memory whose times were changed."""
    sql = "SELECT max(observed_at, received_at) FROM memories WHERE id = ?"
    days = numbers(transaction, (time for (time,) in transaction.rows(sql, (memory_id,))))
    transaction.executemany(
        "UPDATE memories SET evidence_day = ?1 WHERE id = ?2 AND evidence_day <> ?1", [(day, memory_id) for day in days]
    )
