"""Keep a memory within its budgets: select candidates with a reader, and delete them in small steps.

Recall never waits for it: readers see the database as it was before or after a step. Other writers wait for one step at
most, and retention pauses after each as long as it took, and while writes wait.

What is about to be deleted is appended to a file of JSON lines, if one is named. The lines are on disk before the
memories are deleted. After a crash between the two, a memory is listed twice.
"""

from __future__ import annotations

import heapq
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from .clocks import comparable_since
from .config.budgets import Budget, Measure
from .config.parameters import Parameters
from .errors import RobotMemoryError
from .models import Kind
from .storage import Database, feed, lived_days, map_rows, sighting_rows
from .storage.disk import cut_file, file_size, give_back, limit_log, to_give_back
from .storage.retention_rows import (
    EvictionCandidate,
    count_removed,
    evict,
    eviction_candidates,
    overhead,
)
from .storage.snapshot import Snapshot, Transaction
from .threads import Event, piecewise
from .validation import expanded_path

T = TypeVar("T")
_BATCH, _STEP = 1000, 16
"""Numbers of memories selected at a time, and deleted in one transaction."""
_PATIENCE, _PAUSE = 0.1, 0.02
"""Seconds that a step waits for other writes."""
_EXAMPLES = 10
_POINTS = 1000
"""Number of path points deleted in one transaction."""


class Share(NamedTuple):
    """The memories of one collection and kind that one sort of budget evicted."""

    reason: Measure
    collection: str
    kind: Kind
    memories: int
    payload: int
    """Bytes of texts, contexts and data."""


@dataclass(frozen=True)
class Report:
    """Counts of what retention removed, or with `dry_run` would remove."""

    shares: tuple[Share, ...]
    sightings: int
    examples: tuple[EvictionCandidate, ...]
    """The first few, in the order in which they went."""
    path_points: int = 0

    @property
    def memories(self) -> int:
        """Count all memories that were deleted."""
        return sum(share.memories for share in self.shares)


class _Counters:
    """Collects a report."""

    def __init__(self) -> None:
        self.sightings = 0
        self.path_points = 0
        self._examples: list[EvictionCandidate] = []
        self._memories: Counter[tuple[Measure, str, Kind]] = Counter()
        self._payload: Counter[tuple[Measure, str, Kind]] = Counter()

    def add(self, reason: Measure, candidates: Iterable[EvictionCandidate]) -> None:
        for candidate in candidates:
            part = (reason, candidate.collection, candidate.kind)
            self._memories[part] += 1
            self._payload[part] += candidate.payload
            if len(self._examples) < _EXAMPLES:
                self._examples.append(candidate)

    def report(self) -> Report:
        shares = (Share(*part, self._memories[part], self._payload[part]) for part in sorted(self._memories))
        return Report(tuple(shares), self.sightings, tuple(self._examples), self.path_points)


class Retention:
    """Deletes what exceeds the budgets. Safe to use from several threads.

    Args:
        database: The memory's.
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
    """

    def __init__(self, database: Database, parameters: Callable[[], Parameters], clock: Callable[[], int]) -> None:
        self._database = database
        self._parameters = parameters
        self._clock = clock
        self._lock = threading.Lock()
        self._stop_event = Event()
        self._limited = 0
        self.update = piecewise(self._step)
        """Delete some of what exceeds the budgets, unless a `run` does so; return whether more is left."""

    def stop(self) -> None:
        """End what runs after the transaction at hand; nothing is deleted any more."""
        self._stop_event.set()

    def plan(self) -> Report:
        """Return what would be deleted now. For the size of the file it is an estimate."""
        counters, parameters, now = _Counters(), self._parameters(), self._clock()
        with self._database.snapshot() as snapshot:
            size, ids = file_size(snapshot).used_bytes, set[int]()
            for budget in parameters.budgets():
                while candidates := eviction_candidates(
                    snapshot, budget, now=now, used_bytes=size, limit=_BATCH, excluded_ids=ids
                ):
                    memory_overhead = overhead(snapshot, size, ids)
                    size -= sum(candidate.payload + memory_overhead for candidate in candidates)
                    ids.update(candidate.memory_id for candidate in candidates)
                    counters.add(budget.measure, candidates)
            if parameters.retention_sightings:
                counts = sighting_rows.counts(snapshot)
                planned = halvings(counts, parameters.retention_sightings, ids)
                counters.sightings = sum(left_out for _, left_out in planned)
            for budget in _ages(parameters.budgets()):
                limits = _limits(snapshot, budget, now)
                counters.path_points += map_rows.count_older_path(snapshot, *limits, budget.collection)
        return counters.report()

    def run(self) -> Report:
        """Delete what exceeds the budgets now.

        Raises:
            ExportError: what is to be deleted could not be exported, and so stays.
            StorageError: the database could not be read or written.
        """
        counters = _Counters()
        with self._lock:
            pieces = self._pieces(counters)
            while not self._stop_event.is_set() and next(pieces, self) is not self:
                pass
        return counters.report()

    def _step(self) -> Iterator[None]:
        if self._lock.acquire(blocking=False):
            try:
                yield from self._pieces(_Counters())
            finally:
                self._lock.release()

    def _pieces(self, counters: _Counters) -> Iterator[None]:
        parameters = self._parameters()
        budgets = parameters.budgets()
        now = self._clock() if budgets else 0
        self._limit_log(parameters.retention_bytes)
        for budget in budgets:
            yield from self._evict(budget, parameters.retention_export, now, counters)
        if parameters.retention_sightings:
            yield from self._halve_histories(parameters.retention_sightings, counters)
        yield from self._shorten_path(parameters, now, counters)
        if budgets:
            yield from self._shrink(parameters.retention_bytes or None)

    def _limit_log(self, limit: int) -> None:
        if limit and limit != self._limited:
            self._database.write_alone(partial(limit_log, limit=limit)).result()
            self._limited = limit

    def _evict(self, budget: Budget, export: str, now: int, counters: _Counters) -> Iterator[None]:
        while True:
            with self._database.snapshot() as snapshot:
                size = file_size(snapshot).used_bytes
                candidates = eviction_candidates(snapshot, budget, now=now, used_bytes=size, limit=_BATCH)
                records = lines(snapshot, [candidate.memory_id for candidate in candidates]) if export else []
            if records:
                append(expanded_path("retention_export", export), records, database=self._database.path)
            evicted = 0
            for start in range(0, len(candidates), _STEP):
                step = candidates[start : start + _STEP]
                evictions = self._write(partial(evict, candidates=step, reason=budget.measure.value))
                counters.add(budget.measure, evictions)
                evicted += len(evictions)
                yield
            if not evicted:
                return

    def _halve_histories(self, budget: int, counters: _Counters) -> Iterator[None]:
        with self._database.snapshot() as snapshot:
            halved = list(halvings(sighting_rows.counts(snapshot), budget))
        for memory_id, _ in halved:

            def halve(transaction: Transaction, memory_id: int = memory_id) -> int:
                count = sighting_rows.halve(transaction, memory_id)
                count_removed(transaction, "sightings", {"sighting": count})
                return count

            counters.sightings += self._write(halve)
            yield

    def _shorten_path(self, parameters: Parameters, now: int, counters: _Counters) -> Iterator[None]:
        for budget in _ages(parameters.budgets()):
            with self._database.snapshot() as snapshot:
                older_than, since = _limits(snapshot, budget, now)
            delete = partial(
                map_rows.delete_older_path,
                older_than=older_than,
                since=since,
                collection=budget.collection,
                limit=_POINTS,
            )
            while count := self._write(delete):
                counters.path_points += count
                yield
        max_points = parameters.max_path_points
        with self._database.snapshot() as snapshot:
            is_long = bool(max_points) and map_rows.count_path(snapshot) > max_points
        if is_long:
            counters.path_points += self._write(lambda transaction: map_rows.thin_path(transaction, max_points))
            yield

    def _shrink(self, limit: int | None) -> Iterator[None]:
        gave = False
        while True:
            with self._database.snapshot() as snapshot:
                pages = to_give_back(snapshot, limit)
            if not pages:
                break
            if not self._write(partial(give_back, pages=pages)):
                break  # a damaged file may count free pages that it has not
            gave = True
            yield
        if gave:
            self._database.write_alone(cut_file).result()

    def _write(self, work: Callable[[Transaction], T]) -> T:
        # Saving comes first, but the budget must hold in the end.
        deadline = time.monotonic() + _PATIENCE
        while self._database.queue_length and time.monotonic() < deadline and not self._stop_event.wait(_PAUSE):
            pass
        start = time.monotonic()
        result = self._database.write(work, frees_room=True).result()
        self._stop_event.wait(time.monotonic() - start)
        return result


def _ages(budgets: Iterable[Budget]) -> list[Budget]:
    # The age budgets that hold for the path too.
    return [budget for budget in budgets if budget.measure is Measure.AGE and budget.kind is None]


def _limits(snapshot: Snapshot, budget: Budget, now: int) -> tuple[int, int]:
    # Times (end, start): an observation in [start, end) is too old.
    return lived_days.reach(snapshot, budget.limit, now), comparable_since(now)


def halvings(counts: Mapping[int, int], budget: int, excluded_ids: Collection[int] = ()) -> Iterator[tuple[int, int]]:
    """Select the objects whose histories are halved, one after the other, so that `budget` sightings stay.

    The longest history comes first and loses every second sighting, as often as is needed: all objects keep their first
    and last sighting and histories of about the same length, which go back as far as before, less finely.

    Args:
        counts: Numbers of sightings by object.
        budget: Number of sightings that may stay.
        excluded_ids: Objects that are deleted anyway.

    Yields:
        The id of an object, and how many sightings it loses: the second, the fourth and so on, but never the last.
    """
    total = sum(count for memory_id, count in counts.items() if memory_id not in excluded_ids)
    longest = [(-count, memory_id) for memory_id, count in counts.items() if memory_id not in excluded_ids]
    heapq.heapify(longest)
    while total > budget and longest:
        count, memory_id = heapq.heappop(longest)
        left_out = (-count - 1) // 2
        if left_out:
            yield memory_id, left_out
            total -= left_out
            heapq.heappush(longest, (count + left_out, memory_id))


class ExportError(RobotMemoryError):
    """The memories to be deleted could not be written, and so they stay."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"retention_export: {str(path)!r} cannot be written ({reason}); until it can, nothing is removed"
        )


def lines(snapshot: Snapshot, memory_ids: Sequence[int]) -> list[str]:
    """Return memories as JSON, in the order of the ids; missing ids are skipped."""
    return [json.dumps(row, ensure_ascii=False) for row in feed.memories(snapshot, memory_ids)]


def append(path: Path, records: Sequence[str], *, database: Path) -> None:
    """Append lines to a file for its owner alone; when this returns, they are on disk.

    Raises:
        ExportError: the file cannot be written, or is one of the database.
    """
    try:
        # Opening a file of SQLite and closing it drops its locks, and writing to it destroys it.
        if any(_is_same(path, Path(f"{database}{suffix}")) for suffix in ("", "-wal", "-shm")):
            raise ExportError(path, "it is the database")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            length = file.tell()
            data = "".join(f"{line}\n" for line in records).encode()
            try:
                while data:
                    data = data[file.write(data) :]
                os.fsync(descriptor)
            except OSError:
                # Half a line would spoil the next line.
                file.truncate(length)
                raise
    except OSError as cause:
        raise ExportError(path, cause.strerror or str(cause)) from cause


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)
