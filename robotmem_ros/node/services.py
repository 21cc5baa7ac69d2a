"""Serve the memory: convert each request, call the core and convert the result back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.node import Node

from robotmem_ros.msg import Count, DecayReport, Merge
from robotmem_ros.srv import (
    Consolidate,
    EndSession,
    Forget,
    GetData,
    Learn,
    ObjectHistory,
    Recall,
    Restore,
    SavePerception,
    StartSession,
    Update,
)

from ..memory import Learned, PerceptionData, RecallResult, RobotMemory, Sighting, Stored
from ..memory.errors import FrameMismatchError, RobotMemoryError
from ..memory.sessions.consolidation import Consolidation
from ..memory.sessions.consolidation import Merge as Merged
from ..memory.sessions.report import SessionReport, SessionStart
from . import conversions
from .conversions import exact_float, memory_message, seconds_from, time_message
from .executors import CallbackThread
from .service import DEPTH, serve, then
from .transforms import Point, Target

_HISTORY, _LONGEST_HISTORY = 100, 10_000
T = TypeVar("T")
Memory = Callable[[], RobotMemory]
"""Gives the memory of the active node, or raises NotActiveError."""
Transformed = Callable[[Target], Future[Point]]
"""Gives a point in another frame, now or when its transform has come."""


class NotActiveError(RobotMemoryError):
    """The node has no memory to serve with now."""

    def __init__(self, state: str, why: str) -> None:
        super().__init__(f"the node is {state}, not active" + (f": {why}" if why else ""))


class Services:
    """All services, under the node's own name."""

    def __init__(
        self, node: Node, memory: Memory, transformed: Transformed, clock: conversions.Clock, workers: int
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._transformed = transformed
        self._workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memory-service")
        self._thread = CallbackThread(node, "memory-requests")
        for kind, name, begin, fill in self._table():
            serve(node, self._thread, kind, name, begin=begin, fill=fill)
        self._thread.start()

    def _table(self) -> tuple[tuple[Any, str, Callable[[Any], Future[Any]], Callable[[Any, Any], None]], ...]:
        return (
            (Learn, "~/learn", self._learn, conversions.fill_learned),
            (SavePerception, "~/save_perception", self._save_perception, conversions.fill_stored),
            (Recall, "~/recall", self._recall, conversions.fill_recall),
            (Forget, "~/forget", self._forget, conversions.fill_nothing),
            (Restore, "~/restore", self._restore, conversions.fill_nothing),
            (Update, "~/update", self._update, conversions.fill_nothing),
            (ObjectHistory, "~/object_history", self._object_history, conversions.fill_history),
            (GetData, "~/get_data", self._get_data, conversions.fill_data),
            (StartSession, "~/start_session", self._start_session, _fill_start),
            (EndSession, "~/end_session", self._end_session, _fill_report),
            (Consolidate, "~/consolidate", self._consolidate, _fill_consolidation),
        )

    def close(self) -> None:
        """Takes no more requests, and ends the worker threads after those at hand."""
        self._thread.close(DEPTH)
        self._workers.shutdown()

    def _learn(self, request: Learn.Request) -> Future[Learned]:
        memory = self._memory()
        new = conversions.fact_from(request, memory.parameters, self._clock)
        return self._workers.submit(memory.learn_fact, new)

    def _save_perception(self, request: SavePerception.Request) -> Future[Stored]:
        memory = self._memory()
        return memory.store(conversions.perception_from(request.perception, memory.parameters, self._clock))

    def _recall(self, request: Recall.Request) -> Future[RecallResult]:
        memory = self._memory()
        question = conversions.question_from(request)
        first = self._workers.submit(lambda: memory.recall(**question))
        if not request.spatial_sort:
            return first
        target = conversions.target_from(request.spatial_sort[0], memory.parameters)

        def again(transformed: Future[Point]) -> Future[RecallResult]:
            sort = {**question["spatial_sort"], "target": transformed.result(), "frame_id": target.target}
            return self._workers.submit(lambda: memory.recall(**{**question, "spatial_sort": sort}))

        def in_memory_frame(done: Future[RecallResult]) -> Future[RecallResult]:
            if not isinstance(done.exception(), FrameMismatchError):
                return done
            return then(self._transformed(target), again)

        return then(first, in_memory_frame)

    def _forget(self, request: Forget.Request) -> Future[None]:
        memory = self._memory()
        return self._workers.submit(memory.forget, int(request.memory_id), request.reason)

    def _restore(self, request: Restore.Request) -> Future[None]:
        memory = self._memory()
        return self._workers.submit(memory.restore, int(request.memory_id))

    def _update(self, request: Update.Request) -> Future[None]:
        memory = self._memory()
        correction = conversions.correction_from(request)
        return self._workers.submit(lambda: memory.update(int(request.memory_id), **correction))

    def _object_history(self, request: ObjectHistory.Request) -> Future[tuple[Sighting, ...]]:
        n = min(int(request.n) or _HISTORY, _LONGEST_HISTORY)
        return self._workers.submit(self._memory().object_history, int(request.memory_id), n)

    def _get_data(self, request: GetData.Request) -> Future[PerceptionData]:
        return self._workers.submit(self._memory().data, int(request.memory_id))

    def _start_session(self, request: StartSession.Request) -> Future[SessionStart]:
        return self._workers.submit(
            self._memory().start_session,
            request.context,
            request.collection,
            max_duration=seconds_from("max_duration", request.max_duration),
        )

    def _end_session(self, request: EndSession.Request) -> Future[SessionReport]:
        score = exact_float(request.outcome_score[0]) if request.outcome_score else None
        return self._workers.submit(self._memory().end_session, request.session_id, score)

    def _consolidate(self, request: Consolidate.Request) -> Future[Consolidation]:
        consolidate = self._memory().consolidate
        return self._workers.submit(consolidate, request.session_id, request.collection, dry_run=bool(request.dry_run))


def _fill_start(response: StartSession.Response, started: SessionStart) -> None:
    response.session_id = started.session_id
    response.collection = started.collection
    response.known_facts = int(started.known_facts)
    response.known_perceptions = int(started.known_perceptions)
    response.known_sessions = int(started.known_sessions)


def _fill_report(response: EndSession.Response, report: SessionReport) -> None:
    session, decay = report.session, report.decay
    response.started = time_message(session.started_at)
    response.ended = time_message(session.ended_at or 0)
    response.facts = int(report.facts)
    response.perceptions = int(report.perceptions)
    response.categories = [Count(name=name, n=int(n)) for name, n in report.categories.items()]
    response.objects = [Count(name=name, n=int(n)) for name, n in report.objects.items()]
    response.decay = DecayReport(
        memories=int(decay.memories),
        protected_memories=int(decay.protected),
        decayed=int(decay.decayed),
        faded=int(decay.faded),
        mean_stored=float(decay.mean_stored),
        mean_now=float(decay.mean_now),
    )
    response.proactive = [memory_message(memory) for memory in report.proactive]
    _fill_consolidation(response, report.consolidation)


def _fill_consolidation(response: Any, consolidation: Consolidation) -> None:
    response.considered = int(consolidation.considered)
    response.merges = [_merge_message(merge) for merge in consolidation.merges]


def _merge_message(merge: Merged) -> Merge:
    return Merge(
        kept=int(merge.kept.id),
        content=merge.kept.content,
        category=merge.kept.category,
        superseded=[int(lesson.id) for lesson in merge.superseded],
        superseded_contents=[lesson.content for lesson in merge.superseded],
        similarity=float(merge.similarity),
    )
