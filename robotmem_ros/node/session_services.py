"""The services of sessions: start, end, consolidate."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from robotmem_ros.msg import Count, DecayReport, Merge
from robotmem_ros.srv import Consolidate, EndSession, StartSession

from ..memory import RobotMemory
from ..memory.sessions.consolidation import Consolidation
from ..memory.sessions.consolidation import Merge as Merged
from ..memory.sessions.report import SessionReport, SessionStart
from .conversions import exact_float, memory_message, seconds_from, time_message
from .service_thread import ServiceThread


class SessionServices:
    """StartSession, EndSession and Consolidate."""

    def __init__(self, memory: Callable[[], RobotMemory], workers: ThreadPoolExecutor) -> None:
        self._memory = memory
        self._workers = workers

    def add_to(self, thread: ServiceThread) -> None:
        """Adds them to the services of a thread that has not begun yet."""
        thread.add(StartSession, "~/start_session", self._start_session, _fill_start)
        thread.add(EndSession, "~/end_session", self._end_session, _fill_report)
        thread.add(Consolidate, "~/consolidate", self._consolidate, _fill_consolidation)

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
