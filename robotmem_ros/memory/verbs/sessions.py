"""Sessions: the episodes of a robot, as programs start, end, list and consolidate them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from .. import validation
from ..argument import Json
from ..errors import InvalidFieldError, RobotMemoryError, SessionNotFoundError
from ..models import Session
from ..search.result import Hit
from ..sessions.consolidation import Consolidation
from ..sessions.proactive import Recall, Subject, find, proactive
from ..sessions.sessions import SessionReport, SessionStart, new_session
from ..storage import session_rows
from .access import Access
from .requests import ConsolidateRequest, EndSessionRequest, SessionsRequest, StartSessionRequest
from .written import SessionVerbs


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


class Sessions(SessionVerbs):
    """The sessions of a memory, `memory.sessions`.

    Args:
        access: The access to the file.
        recall: The verb `recall` of the memory, which finds what to know the next time.
    """

    def __init__(self, access: Access, recall: Recall) -> None:
        self._access = access
        self._recall = recall

    def _start(self, request: StartSessionRequest) -> SessionStart:
        """Begin an episode; what is recalled in its collection until it ends shares in its outcome.

        It goes on until `end`, over restarts of the program, but for `max_duration` seconds of the robot's clock at
        most; None or 0 means the parameter `session_max_duration`.

        Raises:
            InvalidFieldError: the context cannot be used or is larger than 64 KB, or another field cannot be used.
        """
        parts = self._access.writable
        parts.usage.write()
        now = max(self._access.clock(), 0)
        session = new_session(self._access.parameters(), now, request.context, request.collection, request.max_duration)
        validation.new_collection("collection", session.collection)
        return parts.sessions.start(session)

    def _end(self, request: EndSessionRequest) -> SessionReport:
        """End an episode: group its similar facts, and tell what came of it and what to know the next time.

        `outcome_score` lies in [0, 1]; None when nobody can say. An episode that expired is ended by this, too: it
        keeps the time at which it expired.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: there is no such session, or it was ended before.
        """
        parts = self._access.writable
        parts.usage.write()
        key, score = validation.text("session_id", request.session_id, limit=256, required=True), request.outcome_score
        if score is not None:
            score = validation.number("outcome_score", score, low=0.0, high=1.0)
        return parts.sessions.end(key, score, self._access.decay(), self._recall)

    @contextmanager
    def open(
        self: SessionVerbs, context: Json = None, collection: str | None = None, *, max_duration: float | None = None
    ) -> Iterator[OpenSession]:
        """Run a block as an episode, `with memory.sessions.open("patrol") as session:`; arguments are those of `start`.

        The session ends with the block, with the `outcome` that was set in it; an exception is a failure, 0. What is
        stored belongs to it if it carries `session.session_id`.

        Raises:
            InvalidFieldError: a field or the outcome cannot be used.
            SessionNotFoundError: the session was ended within the block.
        """
        session = OpenSession(self.start(context, collection, max_duration=max_duration))
        try:
            yield session
        except BaseException:
            with suppress(RobotMemoryError):  # the exception of the block is the one to know
                session.report = self.end(session.session_id, 0.0)
            raise
        session.report = self.end(session.session_id, session.outcome)

    def _latest(self, request: SessionsRequest) -> tuple[Session, ...]:
        """Return the last `n` sessions, of a collection or of all; the one that was started last comes first.

        `cursor` is the id of the last session of a page; then those that were started before it come.

        Raises:
            InvalidFieldError: a field cannot be used, or there is no such session.
        """
        name = validation.collection("collection", request.collection, wildcard="")
        count, session_id = validation.whole("n", request.n), validation.name("cursor", request.cursor)
        with self._access.parts.database.snapshot() as snapshot:
            row_id = session_rows.row_id(snapshot, session_id) if session_id else sys.maxsize
            if row_id is None:
                raise InvalidFieldError("cursor", session_id, "is the id of no session")
            return session_rows.latest(snapshot, name, max(count, 0), row_id)

    def _consolidate(self, request: ConsolidateRequest) -> Consolidation:
        """Group the similar facts of a session, or with `dry_run` tell what the groups would be.

        All members of a group stay active. Only a fact of the same text as its representative is superseded; it comes
        back when that one is forgotten or reworded.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no session and no memory of the collection has this id.
        """
        parts = self._access.parts if request.dry_run else self._access.writable
        key = validation.text("session_id", request.session_id, limit=256, required=True)
        collection_name = validation.collection("collection", request.collection)
        with parts.database.snapshot() as snapshot:
            session = session_rows.find(snapshot, key)
            name = self._access.parameters().own_collection(
                "collection", collection_name or (session and session.collection)
            )
            if session is None and not session_rows.has_memories(snapshot, key, name):
                raise SessionNotFoundError(key, "there is no such session, nor a memory of it")
        return parts.sessions.consolidate(key, name, dry_run=request.dry_run)

    def prepare(self, task: str, n: int = 5, *, collection: str | None = None) -> tuple[Hit, ...]:
        """Return at most `n` facts to know before a task, best first: what a session about it is told at its end.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        text, decay = validation.query("task", task, required=True), self._access.decay()
        about = Subject(new_session(self._access.parameters(), decay.now, {"task": text}, collection, None), (text,))
        findings = find(about, self._recall)
        return self._access.read(proactive, about, findings, decay, max(validation.whole("n", n), 0))
