"""A thread that holds the budgets: soon after something was stored, and now and then for what grows old."""

from __future__ import annotations

import logging
import threading
import time

from ..errors import MemoryClosedError, RobotMemoryError
from .retention import Retention

_PERIOD = 600.0
_SHORTEST = 2.0
_SHARE = 20
"""After a run it rests so many times as long as the run took: looking costs a scan of the memories."""
_LOG = logging.getLogger(__name__)


class BackgroundRetention:
    """Runs retention when it is woken, if it `runs` at all. Does nothing while the parameters give no budget."""

    def __init__(self, retention: Retention, *, runs: bool = True) -> None:
        self._retention = retention
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="robotmem-retention", daemon=True)
        self._runs = runs
        if runs:
            self._thread.start()

    @property
    def trouble(self) -> str:
        """Why the last run could not do its work; empty when it could."""
        return self._trouble

    def wake(self) -> None:
        """Says that something was stored."""
        self._woken.set()

    def close(self) -> None:
        """Ends the thread after the step at hand."""
        self._closing.set()
        self._retention.stop()
        self._woken.set()
        if self._runs:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._woken.wait(_PERIOD)
            self._woken.clear()
            began = time.monotonic()
            self._run_once()
            self._closing.wait(max(_SHORTEST, _SHARE * (time.monotonic() - began)))

    def _run_once(self) -> None:
        try:
            self._retention.run()
        except MemoryClosedError:
            return
        except RobotMemoryError as error:
            self._say(str(error))
        except Exception as error:
            # Whatever happened, the next run may succeed, and a full memory is not to end unseen.
            _LOG.exception("retention failed")
            self._say(f"retention failed: {error!r}")
        else:
            self._trouble = ""

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            _LOG.warning("%s", trouble)
        self._trouble = trouble
