"""Start and end sessions, and report on them; times are of the robot's clock.

A session belongs to the robot: it survives the process that started it. A session that is not ended within its longest
duration is closed as expired by the next write or by maintenance; `end` still accepts its outcome. Sessions that ended
without consolidation, because they expired or because of a crash, are consolidated in the background.
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .. import validation
from ..background import piecewise
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, SessionNotFoundError
from ..models import ENDED, Session
from ..search.hits import Hit
from ..storage import Database, session_rows, session_stats
from ..storage.session_stats import DecayReport
from ..storage.snapshot import Snapshot, Transaction
from . import consolidation
from .consolidation import Consolidation
from .proactive import Recall, Subject, find, proactive, subject

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
CONTEXT_LIMIT = 65_536
"""Largest size of a session's context in bytes."""
LONGEST = 1e9
"""Longest duration in seconds, about 31 years."""
_PROACTIVE = 5
"""Number of facts in a report."""


SessionKey = tuple[str, str]
"""The id of a session and its collection."""


@dataclass(frozen=True)
class SessionStart:
    """A new session, and the number of memories of its collection."""

    session_id: str
    collection: str
    known_facts: int
    known_perceptions: int
    known_sessions: int
    """Number of sessions of the collection that have ended."""


@dataclass(frozen=True)
class SessionReport:
    """The report at the end of a session."""

    session: Session
    facts: int
    perceptions: int
    categories: Mapping[str, int]
    """Facts by category, the most frequent first."""
    objects: Mapping[str, int]
    """Objects of the collection seen since the session began, by label, the most frequent first."""
    decay: DecayReport
    consolidation: Consolidation
    proactive: tuple[Hit, ...]
    """Facts of other sessions of the collection, best first."""


@dataclass
class OpenSession:
    """A session that goes on for a block of a program."""

    start: SessionStart
    outcome: float | None = None
    """Outcome in [0, 1], set by the block; an exception that leaves the block counts as 0."""
    report: SessionReport | None = None
    """The report, once the block has ended."""

    @property
    def session_id(self) -> str:
        """Return the id that memories of the session carry."""
        return self.start.session_id


class Sessions:
    """The sessions of one database. Safe to use from several threads."""

    def __init__(self, database: Database, parameters: Callable[[], Parameters], clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock
        self._parameters = parameters
        with database.snapshot() as snapshot:
            self._unconsolidated = deque(session_rows.unconsolidated(snapshot))
        self.update = piecewise(self._maintain)
        """Close expired sessions, consolidate one that ended without it, and return whether more are left."""

    def start(
        self, parameters: Parameters, context: object, collection: object, max_duration: object = None
    ) -> SessionStart:
        """Open a session, for `max_duration` seconds at most; 0 or None means what the parameter says.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        session = _new(parameters, max(self._clock(), 0), context, collection, max_duration)

        def work(transaction: Transaction) -> list[SessionKey]:
            expired = session_rows.close_expired(transaction, session.started_at)
            session_rows.start(transaction, session)
            return expired

        self._expired(self._database.write(work).result())
        with self._database.snapshot() as snapshot:
            return SessionStart(
                session.session_id,
                session.collection,
                *session_stats.of_collection(snapshot, session.collection),
                known_sessions=session_stats.ended_sessions(snapshot, session.collection),
            )

    def end(
        self, parameters: Parameters, decay: Decay, session_id: object, outcome: object, recall: Recall
    ) -> SessionReport:
        """End a session, consolidate it and report on it; an expired session still accepts its outcome.

        `recall` finds what to know the next time.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: there is no such session, or it was ended before.
        """
        key = validation.text("session_id", session_id, limit=256, required=True)
        score = None if outcome is None else validation.number("outcome_score", outcome, low=0.0, high=1.0)

        def work(transaction: Transaction) -> tuple[Subject, list[SessionKey]]:
            expired = session_rows.close_expired(transaction, decay.now)
            if _find_session(transaction, key).end_reason == ENDED:
                raise SessionNotFoundError(key, "it has ended already")
            if score is not None:
                session_rows.set_outcome(transaction, key, score)
            about = subject(transaction, _find_session(transaction, key))
            session_rows.end(transaction, key, decay.now)
            return about, expired

        about, expired = self._database.write(work).result()
        session = about.session
        self._expired([session_key for session_key in expired if session_key[0] != key])
        report = self._consolidate(session.session_id, session.collection, parameters, dry_run=False)
        findings = find(about, recall)
        with self._database.snapshot() as snapshot:
            totals = session_stats.of_session(snapshot, session)
            return SessionReport(
                session=_find_session(snapshot, key),
                facts=totals.facts,
                perceptions=totals.perceptions,
                categories=session_stats.categories(snapshot, session),
                objects=session_stats.objects(snapshot, session),
                decay=session_stats.decay_report(snapshot, session.collection, decay),
                consolidation=report,
                proactive=proactive(snapshot, about, findings, decay, _PROACTIVE),
            )

    def prepare(
        self, parameters: Parameters, decay: Decay, task: object, *, collection: object, n: object, recall: Recall
    ) -> tuple[Hit, ...]:
        """Return at most `n` facts to know before a task, as if a session about it had ended.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        text = validation.query("task", task, required=True)
        session = _new(parameters, decay.now, {"task": text}, collection, None)
        about = Subject(session, (text,))
        findings = find(about, recall)
        with self._database.snapshot() as snapshot:
            return proactive(snapshot, about, findings, decay, max(validation.whole("n", n), 0))

    def consolidate(
        self, parameters: Parameters, session_id: object, collection: object, *, dry_run: bool
    ) -> Consolidation:
        """Consolidate the facts of a session, or return what that would do.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no memory and no session has this id.
        """
        key = validation.text("session_id", session_id, limit=256, required=True)
        collection_name = validation.collection("collection", collection)
        with self._database.snapshot() as snapshot:
            session = session_rows.find(snapshot, key)
            name = parameters.own_collection("collection", collection_name or (session and session.collection))
            if session is None and not session_rows.has_memories(snapshot, key, name):
                raise SessionNotFoundError(key, "there is no such session, nor a memory of it")
        return self._consolidate(key, name, parameters, dry_run=dry_run)

    def latest(self, collection: object, n: object, cursor: object = None) -> tuple[Session, ...]:
        """Return the last `n` sessions of a collection or of all, the latest first; those before one, if it is named.

        Raises:
            InvalidFieldError: a field cannot be used, or there is no such session.
        """
        name, count = validation.collection("collection", collection, wildcard=""), validation.whole("n", n)
        session_id = validation.name("cursor", cursor)
        with self._database.snapshot() as snapshot:
            row_id = session_rows.row_id(snapshot, session_id) if session_id else sys.maxsize
            if row_id is None:
                raise InvalidFieldError("cursor", session_id, "is the id of no session")
            return session_rows.latest(snapshot, name, max(count, 0), row_id)

    def _maintain(self) -> Iterator[None]:
        self._unconsolidated.extend(self._close_expired())
        while self._unconsolidated:
            session_id, collection = self._unconsolidated.popleft()
            try:
                report = self._consolidate(session_id, collection, self._parameters(), dry_run=False)
            except Exception as error:
                # A session that fails must not block the others; it is tried again after the next start.
                _LOG.warning("session %s could not be consolidated: %s", session_id, error)
            else:
                _LOG.info(
                    "session %s was consolidated: %d of %d facts superseded",
                    session_id,
                    report.superseded,
                    report.considered,
                )
            yield

    def _close_expired(self) -> list[SessionKey]:
        now = self._clock()
        with self._database.snapshot() as snapshot:
            if not session_rows.any_expired(snapshot, now):
                return []
        expired = self._database.write(lambda transaction: session_rows.close_expired(transaction, now)).result()
        _log_expired(expired)
        return expired

    def _expired(self, sessions: list[SessionKey]) -> None:
        _log_expired(sessions)
        self._unconsolidated.extend(sessions)

    def _consolidate(self, session_id: str, collection: str, parameters: Parameters, *, dry_run: bool) -> Consolidation:
        with self._database.snapshot() as snapshot:
            planned = consolidation.plan(snapshot, session_id, collection)
        if dry_run:
            return planned

        def work(transaction: Transaction) -> Consolidation:
            report = consolidation.apply(transaction, planned)
            session_rows.note_consolidated(transaction, session_id, collection, report.superseded)
            return report

        return self._database.write(work).result()


def _log_expired(sessions: list[SessionKey]) -> None:
    for session_id, _ in sessions:
        _LOG.warning(
            "session %s was not ended within its longest duration and is closed; end_session still accepts its outcome",
            session_id,
        )


def _new(parameters: Parameters, now: int, context: object, collection: object, max_duration: object) -> Session:
    clean = validation.context("context", context, limit=CONTEXT_LIMIT)
    requested = 0.0 if max_duration is None else max_duration
    seconds = validation.number("max_duration", requested, low=0.0, high=LONGEST) or parameters.session_max_duration
    return Session(
        session_id=str(uuid.uuid4()),
        collection=parameters.own_collection("collection", collection),
        context_json=validation.compact_json(clean),
        started_at=now,
        # Simulated time is 0 until its first message.
        expires_at=now + round(seconds * _NS) if seconds and now else None,
    )


def _find_session(snapshot: Snapshot, session_id: str) -> Session:
    session = session_rows.find(snapshot, session_id)
    if session is None:
        raise SessionNotFoundError(session_id)
    return session
