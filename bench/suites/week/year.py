"""Tell a memory a year of weeks, a million detections, and time windows over it."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.internals.database import row_counts
from bench.worlds.week import DAY, HOUR, MONDAY, Settings, stream

from .answers import MemoryAnswers

HEAD = (
    "days", "detections", "objects", "sightings", "stays", "file, MB", "ms a message", "window p50, ms", "p95, ms",
    "of a label p50, ms", "p95, ms",
)  # fmt: skip
_REPORTED, _WINDOWS = 28, 100
"""Days between two rows, and windows that are asked for each."""


def rows(days: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield a row every four weeks and at the end: what is kept, what a message costs, and what a window takes."""
    # Sees farther than in the weeks, so that a year has a million detections.
    dice, settings = random.Random(f"windows {seed}"), Settings(reach=5.2)
    count = messages = 0
    with tempfile.TemporaryDirectory(prefix="robotmem-week-") as folder:
        answers = MemoryAnswers(settings, Path(folder) / "memory.db")
        with answers.memory:
            cpu = 0.0
            for day, told in enumerate(stream(seed, settings, days), start=1):
                answers.tell(told, MONDAY + day * DAY)
                count += sum(len(message.detections) for message in told)
                messages += len(told)
                if day % _REPORTED == 0 or day == days:
                    kept = row_counts(answers.memory.path, "objects", "sightings", "stays")
                    yield (
                        str(day), str(count), *map(str, kept),
                        f"{answers.memory.status().db_bytes / 1e6:.1f}", f"{1000 * (answers.cpu - cpu) / messages:.2f}",
                        *_times(answers, dice, day, has_label=False), *_times(answers, dice, day, has_label=True),
                    )  # fmt: skip
                    cpu, messages = answers.cpu, 0


def _times(answers: MemoryAnswers, dice: random.Random, days: int, *, has_label: bool) -> tuple[str, str]:
    """Return the median and the 95th percentile of the time that windows of half an hour to a day take."""
    times = []
    for _ in range(_WINDOWS):
        after = MONDAY + round(dice.uniform(0, days) * DAY)
        label = dice.choice(("mug", "keys", "laptop", "person")) if has_label else ""
        start = time.perf_counter()
        answers.window(after, after + round(dice.uniform(0.5, 24) * HOUR), label)
        times.append(1000 * (time.perf_counter() - start))
    return f"{statistics.median(times):.1f}", f"{statistics.quantiles(times, n=20)[-1]:.1f}"
