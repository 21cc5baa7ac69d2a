"""Times and counts of systems that are queried in turns, so that a machine that slows down does so for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from bench.worlds.house_queries import Query

_BLOCK = 10
_SETTLE = 0.05
"""Seconds between two systems: threads of a model may spin for a while after its last text."""
_PACE = 0.005
"""Seconds between two queries."""
_Q = TypeVar("_Q")
_R = TypeVar("_R")


class Result(NamedTuple):
    """Duration of a query in seconds, and the texts of the memories found, best first."""

    seconds: float
    contents: tuple[str, ...]


class System(Protocol):
    """A system under measurement."""

    def recall(self, query: Query) -> Result:
        """Run one query and time it."""


@dataclass
class Series:
    """The results of one system, in the order of the queries."""

    results: list[Result] = field(default_factory=list)

    def percentile(self, percent: int) -> float:
        """Return a percentile in milliseconds."""
        return statistics.quantiles([1000 * result.seconds for result in self.results], n=100)[percent - 1]

    def right(self, queries: Sequence[Query]) -> int:
        """Count the first results that are the true ones."""
        return sum(
            query.truth is not None and result.contents[:1] == (query.truth,)
            for query, result in zip(queries, self.results, strict=True)
        )

    def overhead(self, baseline: Series) -> float:
        """Return the median of what each query took longer here than in another system, in milliseconds."""
        pairs = zip(self.results, baseline.results, strict=True)
        return statistics.median(1000 * (own.seconds - base.seconds) for own, base in pairs)


def query_in_turns(systems: dict[str, System], queries: Sequence[Query]) -> dict[str, Series]:
    """Run all queries on every system in turns."""
    results = run_in_turns({name: system.recall for name, system in systems.items()}, queries)
    return {name: Series(of_system) for name, of_system in results.items()}


def run_in_turns(calls: Mapping[str, Callable[[_Q], _R]], queries: Sequence[_Q]) -> dict[str, list[_R]]:
    """Run all queries on every system, in blocks that alternate between the systems; their order rotates."""
    results: dict[str, list[_R]] = {name: [] for name in calls}
    names = list(calls)
    for start in range(0, len(queries), _BLOCK):
        for name in names:
            time.sleep(_SETTLE)
            for query in queries[start : start + _BLOCK]:
                time.sleep(_PACE)
                results[name].append(calls[name](query))
        names.append(names.pop(0))
    return results
