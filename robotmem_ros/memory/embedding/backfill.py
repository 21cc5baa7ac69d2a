"""Gives every memory its vector, in the background: those just saved, and those saved while there was no model."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future

from ..database import Database, vector_rows
from ..errors import RobotMemoryError
from ..worker import Worker
from . import codec
from .background import BackgroundEmbedder

_BATCH = 64
_RESCAN_PERIOD = 10.0
_PATIENCE = 5.0
_PAUSE = 0.02
_LOG = logging.getLogger(__name__)


class Backfill:
    """A thread that embeds what has no vector yet, oldest first, in batches; after each it calls `stored`.

    It is woken for new memories; now and then it also looks for those that another process saved. A text whose vector
    is kept already is not embedded again.
    """

    def __init__(self, database: Database, embedder: BackgroundEmbedder, *, stored: Callable[[], None]) -> None:
        self._database = database
        self._embedder = embedder
        self._stored = stored
        self._usable: bool | None = None
        self._last_id = 0
        self._restart = False
        self._closing = False
        self._worker = Worker("robotmem-backfill", self._step, _RESCAN_PERIOD, "vectors could not be computed")

    def wake(self, *, from_start: bool = False) -> None:
        """Says that memories were saved; `from_start` when an older one lost its vector."""
        self._restart |= from_start
        self._worker.wake()

    def flush(self) -> None:
        """Waits until everything that was saved before has its vector, or there is no model."""
        self._worker.flush()

    def close(self) -> None:
        """Ends the thread after the batch at hand; what is left is embedded at the next start."""
        self._closing = True
        self._worker.close()

    def _step(self) -> None:
        if self._usable is None:
            self._usable = self._embedder.wait() and self._adopt_model()
        if self._restart:
            self._last_id, self._restart = 0, False
        if self._usable:
            self._last_id = self._catch_up(self._last_id)

    def _catch_up(self, last_id: int) -> int:
        # One batch is written while the next is embedded: the model never waits for the disk.
        writing: Future[bool] | None = None
        embedded = last_id
        while not self._closing:
            self._give_way(0 if writing is None or writing.done() else 1)
            with self._database.reader() as connection:
                rows = vector_rows.pending(connection, embedded, _BATCH)
                known = vector_rows.known(connection, (text for _, text in rows))
            if not rows:
                break
            new = list(dict.fromkeys(text for _, text in rows if text not in known))
            vectors = dict(zip(new, codec.encode(self._embedder.embed_batch(new)), strict=True)) if new else {}
            batch = [(memory_id, text, vectors.get(text)) for memory_id, text in rows]
            last_id = self._written(writing, embedded, last_id)
            writing = self._database.write(lambda connection, batch=batch: vector_rows.store(connection, batch))  # type: ignore[misc]
            embedded = rows[-1][0]
        return self._written(writing, embedded, last_id)

    def _written(self, writing: Future[bool] | None, upto: int, last_id: int) -> int:
        if writing is None:
            return last_id
        if not writing.result():
            self._restart = True
        self._stored()
        return upto

    def _give_way(self, own: int) -> None:
        # Saving comes first: the model would take both cores from it. But not for ever. `own` jobs are not saves.
        deadline = time.monotonic() + _PATIENCE
        while not self._closing and time.monotonic() < deadline:
            if self._database.waiting <= own and not self._database.floods:
                return
            time.sleep(_PAUSE)

    def _adopt_model(self) -> bool:
        try:
            self._database.write(lambda connection: _adopt(connection, self._embedder.name)).result()
        except RobotMemoryError as error:
            _LOG.warning("the embedding model cannot be used: %s", error)
            return False
        return True


def _adopt(connection: sqlite3.Connection, model: str) -> None:
    # Vectors of two models cannot be compared: those of another model are computed anew.
    found = connection.execute("SELECT value FROM settings WHERE name = 'embedding_model'").fetchone()
    if found is None or found[0] != model:
        if found is not None:
            _LOG.info("embedding model changed from %s to %s: all vectors are computed anew", found[0], model)
        vector_rows.clear(connection)
        connection.execute("INSERT OR REPLACE INTO settings VALUES ('embedding_model', ?)", (model,))
