"""Start and end sessions, and report on them; times are of the robot's clock.

A session belongs to the robot: it survives the process that started it. A session that is not ended within its longest
duration is closed as expired by the next write or by maintenance; `end` still accepts its outcome. Sessions that ended
without consolidation, because they expired or because of a crash, are consolidated in the background.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .. import progress, validation
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import SessionNotFoundError
from ..models import ENDED, Kind, Session
from ..search.result import Hit
from ..storage import Database, session_rows
from ..storage.session_rows import DecayReport
from ..storage.snapshot import Snapshot, Transaction
from ..table.tables import Tables
from ..threads import piecewise
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


class Episodes:
    """The sessions of one database. Safe to use from several threads."""

    def __init__(self, database: Database, tables: Tables, clock: Callable[[], int]) -> None:
        self._database = database
        self._tables = tables
        self._clock = clock
        with database.snapshot() as snapshot:
            self._unconsolidated = deque(session_rows.unconsolidated(snapshot))
        self.update = piecewise(self._maintain)
        """Close expired sessions, consolidate one that ended without it, and return whether more are left."""

    def start(self, session: Session) -> SessionStart:
        """Open a new session."""

        def work(transaction: Transaction) -> list[SessionKey]:
            expired = session_rows.close_expired(transaction, session.started_at)
            session_rows.start(transaction, session)
            return expired

        self._expired(self._database.write(work).result())
        with self._tables.reading() as view:
            counts = view.kinds(view.active_in(session.collection))
            return SessionStart(
                session.session_id,
                session.collection,
                counts.get(Kind.FACT, 0),
                counts.get(Kind.PERCEPTION, 0),
                session_rows.ended_sessions(view.snapshot, session.collection),
            )

    def end(self, key: str, score: float | None, decay: Decay, recall: Recall) -> SessionReport:
        """End a session, consolidate it and report on it; an expired session still accepts its outcome.

        `recall` finds what to know the next time.

        Raises:
            SessionNotFoundError: there is no such session, or it was ended before.
        """

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
        report = self.consolidate(session.session_id, session.collection)
        findings = find(about, recall)
        with self._tables.reading() as view:
            snapshot, rows = view.snapshot, view.active_in(session.collection, session.session_id)
            counts = view.kinds(rows)
            categories = view.name("category").counts(rows & view.name("kind").one_of([Kind.FACT]))
            return SessionReport(
                session=_find_session(snapshot, key),
                facts=counts.get(Kind.FACT, 0),
                perceptions=counts.get(Kind.PERCEPTION, 0),
                categories=dict(sorted(categories, key=lambda count: (-count[1], count[0]))),
                objects=session_rows.objects_seen(snapshot, session),
                decay=session_rows.decay_report(snapshot, session.collection, decay),
                consolidation=report,
                proactive=proactive(snapshot, about, findings, decay, _PROACTIVE),
            )

    def _maintain(self) -> Iterator[None]:
        self._unconsolidated.extend(self._close_expired())
        while self._unconsolidated:
            session_id, collection = self._unconsolidated.popleft()
            try:
                report = self.consolidate(session_id, collection)
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
        with self._database.snapshot() as snapshot:
            if not session_rows.expired(snapshot, self._clock()):
                return []

        def close(transaction: Transaction) -> list[SessionKey]:
            return session_rows.close_expired(transaction, self._clock())  # it may have been set since

        expired = self._database.write(close).result()
        _log_expired(expired)
        return expired

    def _expired(self, sessions: list[SessionKey]) -> None:
        _log_expired(sessions)
        self._unconsolidated.extend(sessions)

    def consolidate(self, session_id: str, collection: str, *, dry_run: bool = False) -> Consolidation:
        """Consolidate the facts of a session, or return what that would do."""
        with self._database.snapshot() as snapshot:
            planned = consolidation.plan(snapshot, session_id, collection)
        if dry_run:
            return planned
        progress.report(1, 2)  # it is planned, and can still be left

        def work(transaction: Transaction) -> Consolidation:
            applied = consolidation.apply(transaction, planned)
            session_rows.note_consolidated(transaction, session_id, collection, applied.superseded)
            return applied

        return self._database.write(work).result()


def _log_expired(sessions: list[SessionKey]) -> None:
    for session_id, _ in sessions:
        _LOG.warning(
            "session %s was not ended within its longest duration and is closed; end_session still accepts its outcome",
            session_id,
        )


def new_session(parameters: Parameters, now: int, context: object, collection: object, max_duration: object) -> Session:
    """Check what a session is to be, and return it, for `max_duration` seconds at most; 0 or None is the parameter.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
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
