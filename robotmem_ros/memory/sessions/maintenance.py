"""Closes forgotten sessions and consolidates what ended without it: in the background, so that nobody waits."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable

from ..background import Worker
from ..errors import MemoryClosedError, RobotMemoryError
from .consolidation import Consolidation

_PERIOD = 1.0
"""Seconds between two looks; by the robot's clock that can be any time."""
_LOG = logging.getLogger(__name__)

SessionKey = tuple[str, str]
"""The id of a session and its collection."""


class SessionMaintenance:
    """A thread that closes expired sessions and consolidates sessions; what it does not get to waits for a start.

    Args:
        pending: Sessions that ended and were not consolidated, by a crash of their process.
        close_expired: Closes the sessions that have expired by now, and returns them.
        consolidate: Consolidates one session.
    """

    def __init__(
        self,
        pending: Iterable[SessionKey],
        close_expired: Callable[[], Iterable[SessionKey]],
        consolidate: Callable[[str, str], Consolidation],
    ) -> None:
        self._pending = deque(pending)
        self._close_expired = close_expired
        self._consolidate = consolidate
        self._closing = threading.Event()
        self._worker = Worker("robotmem-sessions", self._step, _PERIOD, "sessions could not be looked after")

    def add(self, sessions: Iterable[SessionKey]) -> None:
        """Queue sessions to be consolidated."""
        self._pending.extend(sessions)
        self._worker.wake()

    def close(self) -> None:
        """End the thread after the session at hand."""
        self._closing.set()
        self._worker.close()

    def _step(self) -> None:
        self._pending.extend(self._close_expired())
        while self._pending and not self._closing.is_set():
            self._consolidate_one(*self._pending.popleft())

    def _consolidate_one(self, session_id: str, collection: str) -> None:
        try:
            done = self._consolidate(session_id, collection)
        except MemoryClosedError:
            return
        except RobotMemoryError as error:
            _LOG.warning("session %s could not be consolidated: %s", session_id, error)
        except Exception:
            # One session must not keep the others from it.
            _LOG.exception("session %s could not be consolidated", session_id)
        else:
            _LOG.info(
                "session %s was consolidated: %d of %d lessons superseded", session_id, done.superseded, done.considered
            )
