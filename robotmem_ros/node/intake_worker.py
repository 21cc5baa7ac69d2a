"""The thread that reads messages: callbacks only hand over, and what does not fit is counted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ..memory.threads import Condition

_MOST_BYTES = 268_435_456
_BATCH = 32
_LOOK = 0.05
"""Seconds between two looks at messages that wait for a transform."""
_PAUSE = 0.005

Job = Callable[[], None]


@dataclass(frozen=True)
class _QueuedJob:
    job: Job
    on_drop: Job
    size: int


class IntakeWorker:
    """Run jobs one after the other in a thread of its own, until `close`.

    `limit` gives how many may wait, and `policy` what happens to more: `drop_newest`, `drop_oldest`, or `block`, which
    holds the caller of `put` until there is room or `unblock` is called. At most 256 MB wait. `backlog` says whether to
    pause because the memory does not keep up with writing. `look` is called after jobs, and again while it returns that
    a message waits for its transform. `on_error` gets the error of a job that failed. `yield_to_queries` is called
    before jobs, unless more came than was done at once.
    """

    def __init__(
        self,
        *,
        limit: Callable[[], int],
        policy: Callable[[], str],
        backlog: Callable[[], bool],
        look: Callable[[], bool],
        yield_to_queries: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._limit = limit
        self._policy = policy
        self._backlog = backlog
        self._look = look
        self._yield_to_queries = yield_to_queries
        self._on_error = on_error
        self._urgent: deque[Job] = deque()
        self._jobs: deque[_QueuedJob] = deque()
        self._bytes = 0
        self._condition = Condition()
        self._unblocked = False
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="memory-intake", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        """Number of messages that wait to be read."""
        return len(self._jobs)

    def put_first(self, job: Job) -> None:
        """Queue a small job that must not be lost, such as a transform, before all messages."""
        with self._condition:
            self._urgent.append(job)
            self._condition.notify_all()

    def put(self, job: Job, on_drop: Job, size: int) -> None:
        """Queue the reading of a message of `size` bytes; call `on_drop` of those without room."""
        with self._condition:
            while (policy := self._policy()) == "block" and not self._fits(size) and not self._unblocked:
                self._condition.wait(_PAUSE)
            if not self._fits(size) and policy == "drop_newest":
                on_drop()
                return
            while not self._fits(size) and policy == "drop_oldest":
                oldest = self._jobs.popleft()
                self._bytes -= oldest.size
                oldest.on_drop()
            self._jobs.append(_QueuedJob(job, on_drop, size))
            self._bytes += size
            self._condition.notify_all()

    def unblock(self) -> None:
        """Admit messages that were taken already, though the queue is full: no more will come."""
        with self._condition:
            self._unblocked = True
            self._condition.notify_all()

    def close(self, patience: float | None = None) -> int:
        """Do what is queued, for at most `patience` seconds, and end the thread; a second call does nothing.

        Return how many messages were dropped since that was not enough.
        """
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        self._thread.join(patience)
        with self._condition:
            dropped = [*self._jobs]
            self._jobs.clear()
        self._thread.join()
        for job in dropped:
            job.on_drop()
        return len(dropped)

    def _fits(self, size: int) -> bool:
        return len(self._jobs) < self._limit() and (not self._jobs or self._bytes + size <= _MOST_BYTES)

    def _run(self) -> None:
        has_waiting = behind = False
        while True:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._urgent or self._jobs or self._closing, timeout=_LOOK if has_waiting else None
                )
                if self._closing and not self._urgent and not self._jobs:
                    return
            if not behind:
                self._yield_to_queries()
            behind = all(self._step() for _ in range(_BATCH))
            has_waiting = self._settled()

    def _step(self) -> bool:
        """Do one job; return false if there is none, or none that may be done now."""
        with self._condition:
            if self._urgent:
                job = self._urgent.popleft()
            elif not self._jobs:
                return False
            elif self._backlog() and not self._closing:
                # The queue of the writer is full: what comes stays in this one, whose policy holds then.
                self._condition.wait(_PAUSE)
                return False
            else:
                entry = self._jobs.popleft()
                self._bytes -= entry.size
                job = entry.job
        try:
            job()
        except Exception as error:
            self._on_error(error)
        return True

    def _settled(self) -> bool:
        try:
            return self._look()
        except Exception as error:
            self._on_error(error)
            return True
