"""Consolidates the sessions that a crash kept from it: in the background, so that no start waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from ..consolidation.merge import Consolidation
from ..errors import MemoryClosedError, RobotMemoryError

_LOG = logging.getLogger(__name__)


class CatchingUp:
    """A thread that consolidates sessions, given by id and collection; what it does not get to waits for a start."""

    def __init__(self, sessions: Sequence[tuple[str, str]], consolidate: Callable[[str, str], Consolidation]) -> None:
        self._sessions = sessions
        self._consolidate = consolidate
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="robotmem-consolidation", daemon=True)
        if sessions:
            self._thread.start()

    def close(self) -> None:
        """Ends the thread after the session at hand."""
        self._closing.set()
        if self._sessions:
            self._thread.join()

    def _run(self) -> None:
        for session_id, collection in self._sessions:
            if self._closing.is_set():
                return
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
                    "session %s was consolidated: %d of %d lessons superseded",
                    session_id,
                    done.superseded,
                    done.considered,
                )
