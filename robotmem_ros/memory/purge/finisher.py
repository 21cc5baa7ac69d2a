"""Finish a purge that another process or a full disk kept from overwriting its traces."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..errors import PurgeUnfinishedError
from ..search.vector_index import VectorIndex
from ..storage import Database
from ..storage.purge_rows import is_unfinished
from ..storage.secure_erase import is_read_elsewhere
from .purge import finish

PATIENCE = 30.0
"""Seconds for whoever purged, and was told that traces are left, to finish it."""
_REST_RATIO = 20.0
"""How many times as long as an attempt took there is none: it rewrites the file, and writes wait for that."""


class PurgeFinisher:
    """Overwrites the traces of purges once no other process reads the file. For one thread at a time.

    Args:
        database: The memory's.
        vectors: Its index, which is held back meanwhile.
        patience: Seconds between the moment that traces are noticed and the first attempt, and between two attempts.
        clock: Gives seconds.
    """

    def __init__(
        self,
        database: Database,
        vectors: VectorIndex,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._patience = patience
        self._clock = clock
        self._due: float | None = None
        self._error: PurgeUnfinishedError | None = None

    def update(self) -> bool:
        """Finish a purge if there is one and its time has come; return whether more is left, which is never.

        Raises:
            PurgeUnfinishedError: the last attempt found another process, or no room.
            StorageError: the database could not be written.
        """
        with self._database.reader() as connection:
            if not is_unfinished(connection):
                self._due = self._error = None
                return False
        if self._due is None:
            self._due = self._clock() + self._patience
        if self._clock() >= self._due:
            self._try()
        if self._error is not None:
            raise self._error
        return False

    def _try(self) -> None:
        began = self._clock()
        # Rewriting a file that somebody reads would be in vain.
        if self._database.write_alone(is_read_elsewhere).result():
            self._error = PurgeUnfinishedError(self._database.path, "another process reads the file")
        else:
            self._error = self._finish()
        now = self._clock()
        self._due = now + max(self._patience, _REST_RATIO * (now - began))

    def _finish(self) -> PurgeUnfinishedError | None:
        try:
            with self._vectors.stopped():
                finish(self._database)
        except PurgeUnfinishedError as error:
            return error
        return None
