"""Starts and ends sessions, and keeps them over the ends of processes.

An open session belongs to the process that started it. One that closes its memory gives its sessions back, and the
next one goes on with them; one that died leaves them to be ended by the next, marked as crashed. What ended and was not
consolidated, by a crash then or before, is consolidated in the background at the next start.
"""

from __future__ import annotations

import logging
import sqlite3
import uuid
from collections.abc import Callable

from .. import validation
from ..consolidation import consolidation
from ..consolidation.merge import Consolidation
from ..database import Database, session_rows
from ..decay import Decay
from ..errors import RobotMemoryError, SessionNotFoundError
from ..parameters import Parameters
from ..records.session import ENDED, Session
from . import account
from .catching_up import CatchingUp
from .owner import is_alive, new_owner
from .proactive import proactive
from .report import SessionReport, SessionStart

_LOG = logging.getLogger(__name__)
CONTEXT_LIMIT = 65_536
"""Bytes of a session's context."""
_PROACTIVE = 5


class Sessions:
    """The sessions of one database. Safe to use from several threads."""

    def __init__(self, database: Database, parameters: Callable[[], Parameters]) -> None:
        self._database = database
        self._owner = new_owner()
        self._has_some = False
        lives_on = parameters().continue_sessions
        self._take_over(goes_on=lives_on)
        self._catching_up = CatchingUp(
            self._waiting() if lives_on else (),
            lambda session_id, collection: self._consolidated(session_id, collection, parameters(), dry_run=False),
        )

    def start(self, parameters: Parameters, now: int, context: object, collection: object) -> SessionStart:
        """Opens a session at a time of the robot's clock in nanoseconds.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        clean = validation.json_object("context", context, limit=CONTEXT_LIMIT)
        session = Session(
            session_id=str(uuid.uuid4()),
            collection=validation.name("collection", collection, default=parameters.collection),
            context_json=validation.compact_json(clean),
            started_at=max(now, 0),
        )
        self._database.write(lambda connection: session_rows.start(connection, session, self._owner)).result()
        self._has_some = True
        with self._database.snapshot() as connection:
            known = account.known(connection, session.collection)
        return SessionStart(
            session.session_id, session.collection, known["fact"], known["perception"], known["session"]
        )

    def end(self, parameters: Parameters, decay: Decay, session_id: object, outcome: object) -> SessionReport:
        """Ends a session, consolidates it and tells what came of it.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no open session has this id.
        """
        wanted = validation.text("session_id", session_id, limit=256, required=True)
        score = None if outcome is None else validation.number("outcome_score", outcome, low=0.0, high=1.0)

        def work(connection: sqlite3.Connection) -> Session:
            session = _found(connection, wanted)
            if not session.is_open:
                raise SessionNotFoundError(wanted, f"it has {session.end_reason} already")
            if score is not None:
                session_rows.set_outcome(connection, wanted, score)
            session_rows.end(connection, wanted, decay.now, ENDED)
            return _found(connection, wanted)

        session = self._database.write(work).result()
        consolidated = self._consolidated(session.session_id, session.collection, parameters, dry_run=False)
        with self._database.snapshot() as connection:
            counts = account.kinds(connection, session)
            return SessionReport(
                session=_found(connection, wanted),
                facts=counts["fact"],
                perceptions=counts["perception"],
                categories=account.categories(connection, session),
                objects=account.objects(connection, session),
                decay=account.decayed(connection, session.collection, decay),
                consolidation=consolidated,
                proactive=proactive(connection, session, decay, _PROACTIVE),
            )

    def consolidate(
        self, parameters: Parameters, session_id: object, collection: object, *, dry_run: bool
    ) -> Consolidation:
        """Consolidates the lessons of a session, or tells what that would do.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no memory and no session has this id.
        """
        wanted = validation.text("session_id", session_id, limit=256, required=True)
        given = validation.name("collection", collection)
        with self._database.snapshot() as connection:
            session = session_rows.find(connection, wanted)
            named = given or (session.collection if session else parameters.collection)
            if session is None and not session_rows.has_memories(connection, wanted, named):
                raise SessionNotFoundError(wanted, "there is no such session, nor a memory of it")
        return self._consolidated(wanted, named, parameters, dry_run=dry_run)

    def latest(self, collection: object, n: object) -> tuple[Session, ...]:
        """The last `n` sessions, of a collection or of all; the one that was started last comes first."""
        named, count = validation.name("collection", collection), validation.whole("n", n)
        with self._database.snapshot() as connection:
            return session_rows.latest(connection, named, max(count, 0))

    def close(self) -> None:
        """Leaves the open sessions to whoever comes next; a second call does nothing."""
        self._catching_up.close()
        if self._has_some:
            self._has_some = False
            try:
                self._database.write(lambda connection: session_rows.let_go(connection, self._owner)).result()
            except RobotMemoryError as error:
                _LOG.warning("open sessions could not be given back, and will count as crashed: %s", error)

    def _waiting(self) -> list[tuple[str, str]]:
        with self._database.snapshot() as connection:
            return session_rows.unconsolidated(connection)

    def _take_over(self, *, goes_on: bool) -> None:
        with self._database.snapshot() as connection:
            self._has_some = session_rows.has_open(connection)
        if not self._has_some:
            return
        done = self._database.write(
            lambda connection: session_rows.take_over(connection, self._owner, is_alive, goes_on=goes_on)
        )
        try:
            for session_id in done.result():
                _LOG.warning("session %s was left open by a process that is gone; it is ended now", session_id)
        except RobotMemoryError as error:
            _LOG.warning("open sessions could not be taken over: %s", error)

    def _consolidated(
        self, session_id: str, collection: str, parameters: Parameters, *, dry_run: bool
    ) -> Consolidation:
        with self._database.snapshot() as connection:
            planned = consolidation.plan(connection, session_id, collection, parameters.consolidation_similarity)
        if dry_run:
            return planned

        def work(connection: sqlite3.Connection) -> Consolidation:
            done = consolidation.apply(connection, planned)
            session_rows.note_consolidated(connection, session_id, collection, done.superseded)
            return done

        return self._database.write(work).result()


def _found(connection: sqlite3.Connection, session_id: str) -> Session:
    session = session_rows.find(connection, session_id)
    if session is None:
        raise SessionNotFoundError(session_id)
    return session
