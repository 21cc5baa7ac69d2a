"""What was measured in a simulated year, week by week, and at its end."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Week:
    """What was measured at the end of a week."""

    day: int
    memories: int
    size: int
    """Bytes of the file with its log, the most of the week."""
    recall: float
    """Milliseconds, median."""
    slow_recall: float
    """The 95th percentile."""
    found: float
    """Share of the week's questions whose answer was among the first five."""
    retention: float
    """Seconds that retention took, all of the week."""


@dataclass
class Year:
    """One run."""

    weeks: list[Week] = field(default_factory=list)
    useful: float = 0.0
    """Share of the lessons that were asked for in the year and are found at its end, each among the first five."""
    constraints: float = 0.0
    unused: float = 0.0
    removed: int = 0
    alone: list[float] = field(default_factory=list)
    """Milliseconds of recalls just before retention had something to remove, those of all days together."""
    beside: list[float] = field(default_factory=list)
    """Of the same questions, each asked while retention was removing."""
