#!/usr/bin/env python3
"""A simulated year with a budget: `python3 bench/year.py [--days 365] [--megabytes 100] [--no-reference]`.

Each day of an accelerated clock brings 200 memories and ten questions; every week the time of a recall is measured,
with a text, with a filter and with a distance, and every day what it takes while retention removes. The same year
without a budget stands beside it. At the end the robot is asked for everything that it needed in the year, for the
constraints, and for what it never asked for. Writes a table, and a plot where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import load
from bench.year_account import Week, Year
from bench.year_page import page, plot
from bench.year_world import Day, Lesson, WordVectors, make_year
from robotmem_ros.memory import RobotMemory

_START, _MINUTE = 1_767_225_600 * 10**9, 60 * 10**9
"""The year begins on 1 January 2026."""
_ASKED_A_DAY, _MEASURED, _TIMES = 10, 30, 3
_BESIDE, _APART = 12, 0.02
"""Questions beside retention, and the seconds between two: a robot asks now and then, and not as fast as it can."""
_SEED = 5


class Clock:
    """The robot's clock, which runs as fast as it is told."""

    now = _START

    def __call__(self) -> int:
        """Nanoseconds since the epoch."""
        return self.now


def live(days: Sequence[Day], path: Path, budget: int) -> Year:
    """Lives through the days with a budget in bytes, 0 for none."""
    clock, dice, year = Clock(), random.Random(_SEED), Year()
    with RobotMemory(path, embedder=WordVectors(), clock=clock, synchronous="normal") as memory:
        # Retention is run once a day, where the background would run it by the wall clock.
        parameters = memory.parameters
        known: list[Lesson] = []
        hits: list[bool] = []
        largest, spent = 0, 0.0
        for number, day in enumerate(days):
            clock.now = _START + number * 1440 * _MINUTE
            session = begin_episode(memory, number)
            store(memory, clock, day, session)
            known += day.useful
            asked = [is_found(memory, dice.choice(known)) for _ in range(_ASKED_A_DAY)]
            hits += asked
            end_episode(memory, session, statistics.fmean(asked))
            memory.flush()
            memory.parameters = parameters.changed(retention_bytes=budget)
            spent += retain(memory, day, year)
            memory.parameters = parameters
            largest = max(largest, memory.status().db_bytes)
            if number % 7 == 6 or number == len(days) - 1:
                times = [1000 * seconds for seconds in recall_times(memory, known, day, dice)]
                slow = statistics.quantiles(times, n=20)[-1]
                week = Week(
                    number + 1, memory.status().memories, largest, statistics.median(times), slow,
                    statistics.fmean(hits), spent,
                )  # fmt: skip
                year.weeks.append(week)
                show(week)
                largest, spent = 0, 0.0
                hits.clear()
        for name in ("useful", "constraints", "unused"):
            lessons = [lesson for day in days for lesson in getattr(day, name)]
            setattr(year, name, statistics.fmean(is_found(memory, lesson) for lesson in lessons))
        year.removed = memory.status().removed
    return year


def begin_episode(memory: RobotMemory, number: int) -> str:
    """The session of a day; where the memory keeps none, a name for it."""
    start = getattr(memory, "start_session", None)
    return f"day-{number}" if start is None else str(start().session_id)


def end_episode(memory: RobotMemory, session: str, outcome: float) -> None:
    """Ends the session of a day with its outcome."""
    end = getattr(memory, "end_session", None)
    if end is not None:
        end(session, outcome)


def store(memory: RobotMemory, clock: Clock, day: Day, session: str) -> None:
    """What happened on a day: perceptions with a pose, and what was learned, five minutes apart."""
    for index, lived in enumerate(day.lived):
        clock.now += 5 * _MINUTE
        if index % 4:
            memory.save_perception(lived.content, context=lived.context, pose=lived.position, session_id=session)
        else:
            memory.learn(lived.content, lived.context, session_id=session)
    for lesson in (*day.useful, *day.unused, *day.constraints):
        memory.learn(lesson.content, {"task": {"success": True}}, session_id=session, category=lesson.category)


def is_found(memory: RobotMemory, lesson: Lesson) -> bool:
    """Whether a lesson is among the first five answers to its question."""
    return lesson.content in [found.content for found in memory.recall(lesson.question)]


def retain(memory: RobotMemory, day: Day, year: Year) -> float:
    """Holds the budget, and asks meanwhile what was asked just before; the seconds of retention."""
    questions = [f"the {lived.colour} {lived.thing}" for lived in day.lived[:_BESIDE]]
    alone = [paced(memory, question) for question in questions]
    spent: list[float] = []

    def remove() -> None:
        began = time.perf_counter()
        memory.retain()
        spent.append(time.perf_counter() - began)

    removing = threading.Thread(target=remove)
    removing.start()
    beside: list[float] = []
    for question in questions:
        taken = paced(memory, question)
        if not removing.is_alive():
            break
        beside.append(taken)
    removing.join()
    year.alone += [1000 * one for one in alone[: len(beside)]]
    year.beside += [1000 * one for one in beside]
    return spent[0]


def paced(memory: RobotMemory, question: str) -> float:
    """How long a recall takes after a pause."""
    time.sleep(_APART)
    return seconds(memory, question)


def seconds(memory: RobotMemory, question: str, **extra: Any) -> float:
    """How long a recall takes."""
    began = time.perf_counter()
    memory.recall(question, **extra)
    return time.perf_counter() - began


def recall_times(memory: RobotMemory, known: Sequence[Lesson], day: Day, dice: random.Random) -> Iterator[float]:
    """Seconds of recalls with a text, with a filter too, and with a distance too; a third each.

    Of three times the shortest: over a year of days, other programs would be measured too.
    """
    for index in range(_MEASURED):
        place = dice.choice(day.lived)
        extra: tuple[dict[str, Any], ...] = (
            {},
            {"context_filter": {"task.success": True, "params.force.value": {"$lt": 15}}},
            {"spatial_sort": {"field": "position", "target": place.position}},
        )
        question = dice.choice(known).question if index % 3 == 0 else f"the {place.colour} {place.thing}"
        yield min(seconds(memory, question, **extra[index % 3]) for _ in range(_TIMES))


def show(week: Week) -> None:
    """One line of progress."""
    print(
        f"day {week.day:3}: {week.memories:6} memories, {week.size / 1e6:6.1f} MB, recall {week.recall:5.1f} ms "
        f"(p95 {week.slow_recall:5.1f}), {100 * week.found:3.0f} % found, retention {week.retention:5.1f} s",
        flush=True,
    )


def main() -> int:
    """Runs, prints and writes the table and the plot."""
    parser = argparse.ArgumentParser(description="A simulated year of a robot's memory with a budget.")
    parser.add_argument("--days", type=int, default=365, help="how many days (365)")
    parser.add_argument("--megabytes", type=float, default=100.0, help="the budget (100)")
    parser.add_argument("--no-reference", action="store_true", help="leave out the year without a budget")
    results = Path(__file__).resolve().parent / "results"
    parser.add_argument("--results", type=Path, default=results, help="where table and plot are written")
    options = parser.parse_args()
    when, before = datetime.now(timezone.utc), load()
    days = make_year(options.days, _SEED)
    budget = round(options.megabytes * 1e6)
    with tempfile.TemporaryDirectory(prefix="robotmem-year-") as folder:
        print(f"a year within {options.megabytes:g} MB", flush=True)
        kept = live(days, Path(folder) / "budget.db", budget)
        reference = None
        if not options.no_reference:
            print("the same without a budget", flush=True)
            reference = live(days, Path(folder) / "reference.db", 0)
    about = f"{when:%Y-%m-%d %H:%M} UTC, load average {before} before, {load()} after"
    text = page(kept, reference, budget=budget, about=about)
    print(f"\n{text}")
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / f"{when:%Y-%m-%d}-year.md"
    file.write_text(text)
    drawn = plot(kept, reference, budget=budget, file=file.with_suffix(".png"))
    print(f"written to {file}" + (f" and {file.with_suffix('.png')}" if drawn else "; no plot, matplotlib is missing"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
