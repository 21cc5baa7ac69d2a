"""Set the amount of work and its periods for both sides, and recall at a steady rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bench.worlds.house_queries import Query, plain_queries

SEED = 21


class Work(NamedTuple):
    """The work of a robot."""

    rate: int
    """Perceptions a second."""
    recalls: float
    """Recalls a second."""
    periods: int
    seconds: float
    """Duration of a period."""


class Period(NamedTuple):
    """The resources that a process used in one period."""

    memories: int
    """At its end."""
    cpu: float
    """Cores."""
    resident: int
    """Bytes, at its end."""
    recalls: list[float]
    """Seconds of each recall."""


def recall_steadily(
    work: Work, recall: Callable[[Query], float], usage: Callable[[], dict[str, Any]]
) -> Iterator[Period]:
    """Recall at the rate of the work; `recall` gives seconds, `usage` the memories, seconds of CPU and bytes so far."""
    count = round(work.recalls * work.seconds)
    queries = plain_queries(count * work.periods, SEED)
    for period in range(work.periods):
        start, cpu, recalls = time.perf_counter(), usage()["cpu"], []
        for number, query in enumerate(queries[period * count : (period + 1) * count]):
            time.sleep(max(0.0, start + number / work.recalls - time.perf_counter()))
            recalls.append(recall(query))
        time.sleep(max(0.0, start + work.seconds - time.perf_counter()))
        end = usage()
        took = time.perf_counter() - start
        yield Period(**{**end, "cpu": (end["cpu"] - cpu) / took}, recalls=recalls)
