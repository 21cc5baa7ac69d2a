"""Stage 11, touch: counts what was returned, after the answer is out."""

from __future__ import annotations

import logging
from concurrent.futures import Future

from ..database import Database
from ..database.rows import touch
from ..errors import MemoryClosedError
from ..records import Answer

_LOG = logging.getLogger(__name__)


def touch_later(database: Database, answer: Answer) -> None:
    """Queues the counting of an answer's memories; a failure is logged, since the answer was right without it."""
    ids = [memory.id for memory in answer]
    if ids:
        try:
            database.write(lambda connection: touch(connection, ids)).add_done_callback(_log_failure)
        except MemoryClosedError:
            _LOG.info("an answer was not counted: the memory was closed meanwhile")


def _log_failure(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        _LOG.warning("an answer could not be counted: %s", error)
