"""Live through the days of a year and measure on the way."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.worlds.year import Day, UsefulFact, WordVectors
from robotmem_ros.memory import RobotMemory

_START, _MINUTE = 1_767_225_600 * 10**9, 60 * 10**9
"""The year begins on 1 January 2026."""
_QUERIES_A_DAY, _SAMPLE, _TIMES = 10, 30, 3
_BESIDE, _PAUSE = 12, 0.02
"""Queries beside retention, and the seconds between two: a robot does not query as fast as it can."""
_SEED = 5


@dataclass
class Week:
    """Figures of the end of a week."""

    day: int
    memories: int
    size: int
    """Bytes of the file with its log, the most of the week."""
    recall: float
    """Milliseconds, median."""
    slow_recall: float
    """The 95th percentile."""
    hit_rate: float
    """Share of the week's queries whose fact was among the first five results."""
    retention: float
    """Seconds that retention took, all of the week."""


@dataclass
class Year:
    """Figures of one run."""

    weeks: list[Week] = field(default_factory=list)
    useful: float = 0.0
    """Share of the facts that were queried in the year and are found at its end, each among the first five."""
    constraints: float = 0.0
    unused: float = 0.0
    removed_count: int = 0
    alone: list[float] = field(default_factory=list)
    """Milliseconds of recalls just before retention had something to delete, all days together."""
    beside: list[float] = field(default_factory=list)
    """The same queries, each while retention was deleting."""


class _Clock:
    """The robot's clock, which is set by hand."""

    now = _START

    def __call__(self) -> int:
        return self.now


def live(days: Sequence[Day], path: Path, budget: int) -> Year:
    """Live through the days with a budget in bytes, 0 for none."""
    clock, dice, year = _Clock(), random.Random(_SEED), Year()
    with RobotMemory(path, embedder=WordVectors(), clock=clock, synchronous="normal") as memory:
        # Retention runs once a day here; in the background it would run by the wall clock.
        parameters = memory.parameters
        useful_facts: list[UsefulFact] = []
        hits: list[bool] = []
        largest, spent = 0, 0.0
        for number, day in enumerate(days):
            clock.now = _START + number * 1440 * _MINUTE
            session = memory.start_session().session_id
            _store(memory, clock, day, session)
            useful_facts += day.useful
            found = [_is_found(memory, dice.choice(useful_facts)) for _ in range(_QUERIES_A_DAY)]
            hits += found
            memory.end_session(session, statistics.fmean(found))
            memory.flush()
            memory.parameters = parameters.changed(retention_bytes=budget)
            spent += _retain(memory, day, year)
            memory.parameters = parameters
            largest = max(largest, memory.status().db_bytes)
            if number % 7 == 6 or number == len(days) - 1:
                times = [1000 * seconds for seconds in _recall_times(memory, useful_facts, day, dice)]
                slow = statistics.quantiles(times, n=20)[-1]
                week = Week(
                    number + 1, memory.status().memories, largest, statistics.median(times), slow,
                    statistics.fmean(hits), spent,
                )  # fmt: skip
                year.weeks.append(week)
                _show(week)
                largest, spent = 0, 0.0
                hits.clear()
        for name in ("useful", "constraints", "unused"):
            facts = [fact for day in days for fact in getattr(day, name)]
            setattr(year, name, statistics.fmean(_is_found(memory, fact) for fact in facts))
        year.removed_count = memory.status().removed
    return year


def _store(memory: RobotMemory, clock: _Clock, day: Day, session: str) -> None:
    # Three of four are perceptions with a pose; five minutes apart.
    for index, lived in enumerate(day.lived):
        clock.now += 5 * _MINUTE
        if index % 4:
            memory.save_perception(lived.content, context=lived.context, pose=lived.position, session_id=session)
        else:
            memory.learn(lived.content, lived.context, session_id=session)
    for fact in (*day.useful, *day.unused, *day.constraints):
        memory.learn(fact.content, {"task": {"success": True}}, session_id=session, category=fact.category)


def _is_found(memory: RobotMemory, fact: UsefulFact) -> bool:
    return fact.content in [memory.content for memory in memory.recall(fact.query).memories]


def _retain(memory: RobotMemory, day: Day, year: Year) -> float:
    # Runs queries beside it, those that ran just before; returns the seconds of retention.
    queries = [f"the {lived.colour} {lived.thing}" for lived in day.lived[:_BESIDE]]
    alone = [_paced(memory, query) for query in queries]
    spent: list[float] = []

    def retain() -> None:
        start = time.perf_counter()
        memory.retain()
        spent.append(time.perf_counter() - start)

    retaining = threading.Thread(target=retain)
    retaining.start()
    beside: list[float] = []
    for query in queries:
        times = _paced(memory, query)
        if not retaining.is_alive():
            break
        beside.append(times)
    retaining.join()
    year.alone += [1000 * seconds for seconds in alone[: len(beside)]]
    year.beside += [1000 * seconds for seconds in beside]
    return spent[0]


def _paced(memory: RobotMemory, query: str) -> float:
    time.sleep(_PAUSE)
    return _seconds(memory, query)


def _seconds(memory: RobotMemory, query: str, **conditions: Any) -> float:
    start = time.perf_counter()
    memory.recall(query, **conditions)
    return time.perf_counter() - start


def _recall_times(
    memory: RobotMemory, useful_facts: Sequence[UsefulFact], day: Day, dice: random.Random
) -> Iterator[float]:
    # A third each with a text, with a filter too, with a distance too. The shortest of three times counts: over a year
    # of days, other programs would be measured too.
    for index in range(_SAMPLE):
        place = dice.choice(day.lived)
        conditions: tuple[dict[str, Any], ...] = (
            {},
            {"context_filter": {"task.success": True, "params.force.value": {"$lt": 15}}},
            {"spatial_sort": {"field": "position", "target": place.position}},
        )
        query = dice.choice(useful_facts).query if index % 3 == 0 else f"the {place.colour} {place.thing}"
        yield min(_seconds(memory, query, **conditions[index % 3]) for _ in range(_TIMES))


def _show(week: Week) -> None:
    print(
        f"day {week.day:3}: {week.memories:6} memories, {week.size / 1e6:6.1f} MB, recall {week.recall:5.1f} ms "
        f"(p95 {week.slow_recall:5.1f}), {100 * week.hit_rate:3.0f} % found, retention {week.retention:5.1f} s",
        flush=True,
    )
