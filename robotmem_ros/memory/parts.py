"""The parts of a memory: put together, warmed up, flushed and closed in the order in which they need each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from .areas import Areas, AreaTags
from .config.parameters import Parameters
from .embedding.backfill import Backfill
from .embedding.background import BackgroundEmbedder
from .embedding.embedder import Embedder, ModelUnavailableError
from .embedding.fastembed_provider import FastEmbedEmbedder
from .learning.judge import Judge
from .learning.learning import Learning
from .objects.objects import Objects
from .retention.background import BackgroundRetention
from .retention.retention import Retention
from .search.pipeline import Pipeline
from .search.text_index import TextIndex
from .search.usage import UsageRecorder
from .search.vector_index import VectorIndex
from .sessions.sessions import Sessions
from .storage import Database
from .text import tokens

_INDEXED = 1000
"""From so many memories on their words are held in RAM as well; FTS5 ranks fewer as quickly."""


class Parts:
    """What works on one database, and the threads that it has in the background.

    Args:
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
        embedder: An embedding provider to use instead of the one that the parameter `embedding_model` names.
        patience: Seconds that a question waits for a model that is still being loaded.
        read_only: Whether nothing is written, and nothing works in the background that would write.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a file that a parameter names cannot be used.
        StorageError: the database cannot be read.
    """

    def __init__(
        self,
        parameters: Callable[[], Parameters],
        clock: Callable[[], int],
        *,
        embedder: Embedder | None,
        patience: float,
        read_only: bool = False,
    ) -> None:
        at_start = parameters()
        # What can be refused comes before the database is opened and threads run.
        self.areas = AreaTags(Areas(at_start.areas_file), parameters)
        judge = Judge(at_start.rules_file, at_start.taxonomy_file)
        self._closing = threading.RLock()
        # What is made later is closed earlier.
        with ExitStack() as made:
            self.database = Database(at_start, self.stored, read_only=read_only)
            made.callback(self.database.close)
            self.sessions = Sessions(self.database, parameters, clock)
            made.callback(self.sessions.close)
            self.usage = UsageRecorder(self.database)
            made.callback(self.usage.write)
            self._threads = ThreadPoolExecutor(at_start.worker_threads, thread_name_prefix="robotmem-query")
            made.callback(self._threads.shutdown)
            self.embedder = _in_background(embedder, at_start, patience)
            made.callback(self.embedder.close)
            self.vectors = VectorIndex(self.database, at_start.vector_index_size)
            made.callback(self.vectors.close)
            self.postings = TextIndex(self.database, _INDEXED)
            made.callback(self.postings.close)
            self.backfill = Backfill(self.database, self.embedder, stored=self.vectors.wake)
            made.callback(self.backfill.close)
            self.retention = Retention(self.database, parameters, clock)
            self.budgets = BackgroundRetention(self.retention, runs=not read_only)
            made.callback(self.budgets.close)
            self._open = made.pop_all()
        self.learning = Learning(
            self.database,
            judge=judge,
            areas=self.areas,
            embedder=self.embedder,
            vectors=self.vectors,
            parameters=parameters,
        )
        self.objects = Objects(self.database, self.areas, parameters, clock)
        self.pipeline = Pipeline(self.database, self.embedder, self.postings, self.vectors, self._threads)

    def stored(self) -> None:
        """Tells those that work in the background that something was stored."""
        self.postings.wake()
        self.backfill.wake()
        self.budgets.wake()

    def warm_up(self) -> None:
        """Loads the dictionaries and waits for the model, so that the first question is as quick as the next."""
        tokens.warm_up()
        self.learning.warm_up()
        # There may be no model, or none any more.
        with suppress(ModelUnavailableError):
            self.embedder.wait()
            self.embedder.embed_one("warm up")

    def flush(self) -> None:
        """Returns when all that was accepted is committed, indexed and, where there is a model, embedded."""
        self.usage.write()
        if not self.database.read_only:
            self.database.write(lambda connection: None).result()
        self.backfill.wake()
        self.backfill.flush()
        self.postings.flush()

    def close(self) -> None:
        """Commits what was accepted and ends all threads; a second call does nothing."""
        with self._closing:
            self._open.close()


def _in_background(embedder: Embedder | None, parameters: Parameters, patience: float) -> BackgroundEmbedder:
    if embedder is not None:
        return BackgroundEmbedder(embedder.name, lambda: embedder, patience=patience)
    model, threads = parameters.embedding_model, parameters.embedding_threads
    return BackgroundEmbedder(model, lambda: _load(model, threads), patience=patience)


def _load(model: str, threads: int) -> Embedder:
    if not model:
        raise ModelUnavailableError("no embedding model is configured (parameter embedding_model)")
    return FastEmbedEmbedder(model, threads)
