"""Times and counts, and systems asked in turns, so that a machine that grows slower or faster does so for all."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bench.questions import Question

BLOCK = 10
_PAUSE = 0.05
"""Seconds between two systems: threads of a model may spin for a while after its last text."""
_PACE = 0.005
"""Seconds between two questions."""


class Asked(NamedTuple):
    """How long an answer took, in seconds, and the texts of its memories, best first."""

    seconds: float
    contents: tuple[str, ...]


class Answerer(Protocol):
    """A system under measurement."""

    def ask(self, question: Question) -> Asked:
        """Answers one question and says how long that took."""


@dataclass
class Series:
    """The answers of one system, in the order of the questions."""

    asked: list[Asked] = field(default_factory=list)

    def median(self) -> float:
        """Milliseconds."""
        return statistics.median(self._milliseconds())

    def p95(self) -> float:
        """Milliseconds."""
        return statistics.quantiles(self._milliseconds(), n=20)[-1]

    def right(self, questions: Sequence[Question]) -> int:
        """How many first answers are the true ones."""
        return sum(
            question.truth is not None and asked.contents[:1] == (question.truth,)
            for question, asked in zip(questions, self.asked, strict=True)
        )

    def _milliseconds(self) -> list[float]:
        return [1000 * asked.seconds for asked in self.asked]


def ask_in_turns(systems: dict[str, Answerer], questions: Sequence[Question]) -> dict[str, Series]:
    """Every system answers every question, a block each in turn; the order turns too."""
    series = {name: Series() for name in systems}
    names = list(systems)
    for start in range(0, len(questions), BLOCK):
        for name in names:
            time.sleep(_PAUSE)
            series[name].asked += [_paced(systems[name], question) for question in questions[start : start + BLOCK]]
        names.append(names.pop(0))
    return series


def _paced(system: Answerer, question: Question) -> Asked:
    time.sleep(_PACE)
    return system.ask(question)


def added(longer: Series, shorter: Series) -> float:
    """The median of what one system takes longer than the other for the same question, in milliseconds."""
    return statistics.median(1000 * (a.seconds - b.seconds) for a, b in zip(longer.asked, shorter.asked, strict=True))


def load() -> str:
    """The load averages of the machine."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())
