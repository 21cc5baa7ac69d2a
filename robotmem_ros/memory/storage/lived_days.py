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

from ..clocks import DAY, comparable_since
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

    A part of a day counts as a day, and the present day is none. All are nanoseconds.
    """
    if age <= 0:
        return now - age
    (day,) = snapshot.row(_FIRST_OF_LAST, (-(-age // DAY), comparable_since(now) // DAY))
    return 0 if day is None else min(now - age, int(day) * DAY)


def renew(transaction: Transaction, memory_id: int) -> None:
    """Note the lived day of the evidence for a memory whose times were changed."""
    sql = "SELECT max(observed_at, received_at) FROM memories WHERE id = ?"
    days = numbers(transaction, (time for (time,) in transaction.rows(sql, (memory_id,))))
    transaction.executemany(
        "UPDATE memories SET evidence_day = ?1 WHERE id = ?2 AND evidence_day <> ?1", [(day, memory_id) for day in days]
    )
