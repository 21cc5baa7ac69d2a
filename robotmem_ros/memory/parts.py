"""Put the parts of a memory together; warm them up, flush and close them in the order in which they need each other."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import ExitStack, suppress
from functools import partial

from .areas import Areas
from .config.parameters import Parameters
from .embedding.backfill import Backfill
from .embedding.embedder import BackgroundEmbedder, Embedder, ModelUnavailableError
from .embedding.profile import name_of
from .embedding.providers import Choice, choices, load_first
from .errors import MemoryClosedError, RobotMemoryError
from .heap import release_free_memory
from .learning.classification import classifier_loader
from .learning.learning import Learning
from .models import Pose
from .objects.objects import Objects
from .progress import Progress
from .purge import PurgeFinisher
from .retention import Retention
from .search.recall import Recall
from .search.reranking import Reranker
from .search.usage import UsageRecorder
from .sessions.sessions import Episodes
from .storage import Database, doubtful_times, lived_days, rows, vector_rows
from .storage.disk import LogWatch
from .storage.map_rows import AreaKeeper
from .table.tables import Tables
from .text import scripts
from .threads import Event, MaintenanceLoop, Step, Threads, piecewise

_LOG = logging.getLogger(__name__)
_KEEPING = 0.5
"""Seconds in which texts are indexed and blocks kept when a memory is closed; each piece takes a quarter of that."""


class Parts:
    """The parts that work on one database, and its threads.

    Args:
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
        embedder: An embedding provider to use instead of the one that the parameter `embedding_model` names; or that of
            other parts, which close it.
        keeps_model: Whether the model is that of the vectors in the file, if it has any, whatever the parameter says.
        patience: Seconds that a query waits for a model that is still being loaded.
        read_only: Whether nothing may be written; maintenance only reads then.

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
        embedder: Embedder | BackgroundEmbedder | None,
        keeps_model: bool,
        patience: float,
        read_only: bool = False,
    ) -> None:
        at_start = parameters()
        # What can raise comes before the database is opened and threads run.
        self.areas = Areas(parameters)
        classifier = classifier_loader(at_start.rules_file, at_start.taxonomy_file)
        self._closing = threading.RLock()
        self._clock, self._parameters, self._doubt = clock, parameters, ""
        self._is_closing = Event()
        self.maintenance = MaintenanceLoop()
        # What is made later is closed earlier.
        with ExitStack() as stack:
            self.database = Database(at_start, self.maintenance.notify, read_only=read_only, clock=clock)
            self.tables = Tables(self.database)
            stack.callback(self.tables.release)
            stack.callback(self.database.close)
            self.sessions = Episodes(self.database, self.tables, clock)
            self.usage = UsageRecorder(self.database, parameters)
            stack.callback(self.usage.write)
            reranker = Reranker(at_start, self._is_closing)
            stack.callback(reranker.close)
            self.threads = Threads(at_start.worker_threads, "robotmem-query")
            stack.callback(self.threads.shutdown)
            if isinstance(embedder, BackgroundEmbedder):
                self.embedder = embedder
            else:
                if keeps_model and (stored := _stored_model(self.database)):
                    at_start = at_start.changed(embedding_model=name_of(stored))
                self.embedder = _in_background(
                    embedder, at_start, patience, self.maintenance, self.database, is_closing=self._is_closing
                )
                stack.callback(self.embedder.close)
            self.backfill = Backfill(self.database, self.embedder)
            self.retention = Retention(self.database, parameters, clock)
            self.purge_finisher = PurgeFinisher(self.database)
            self.area_keeper = AreaKeeper(self.database, self.areas, parameters)
            self.log_watch = LogWatch(
                self.database.path,
                lambda: parameters().retention_bytes,
                self.database.write_alone,
                self.database.gather,
            )
            self.maintenance.start(self._steps(at_start), self.database.query_priority)
            stack.callback(self._complete_file)
            stack.callback(self.maintenance.close)
            stack.callback(self.retention.stop)
            stack.callback(self._is_closing.set)
            self._open = stack.pop_all()
        self.learning = Learning(
            self.database,
            classifier=classifier,
            areas=self.areas,
            embedder=self.embedder,
            tables=self.tables,
            parameters=parameters,
            threads=self.threads,
        )
        self.objects = Objects(self.database, self.areas, parameters, clock)
        self.recall = Recall(self.database, self.tables, self.embedder, self.threads, reranker, self.usage)

    def places(self) -> Mapping[str, Pose]:
        """Return the poses of the named places in the memory frame of the current map, by the keys of their names."""
        parameters = self._parameters()
        with self.database.snapshot() as snapshot:
            return rows.named_places(snapshot, parameters.memory_frame, parameters.map_id)

    def now(self) -> int:
        """Return the time of the robot's clock in nanoseconds; 0 while it has none."""
        try:
            return self._clock()
        except Exception:
            return 0

    def warm_up(self) -> None:
        """Load the model, vectors and dictionaries of the texts, so that the first query is as quick as the next."""
        self.learning.warm_up()
        with self.tables.reading():
            pass
        self._load_dictionaries()
        while self.tables.follow():
            pass
        # There may be no model, or none any more.
        with suppress(ModelUnavailableError):
            self.embedder.wait()
            self.embedder.embed_one("warm up")

    def flush(self, deadline: float = math.inf, progress: Progress | None = None) -> bool:
        """Return true when all that was accepted is committed, indexed and, if there is a model, embedded.

        At the `deadline` of the monotonic clock it returns false. `progress` gets the number of memories that have a
        vector and that of all, before each piece of work and at the end.
        """

        def left() -> float | None:
            return None if math.isinf(deadline) else max(0.0, deadline - time.monotonic())

        def goes_on() -> bool:
            if progress is not None:
                with self.database.snapshot() as snapshot:
                    done, all_memories = vector_rows.count_linked(snapshot), rows.totals(snapshot)["memory"]
                progress(done, all_memories)
            return time.monotonic() < deadline

        self.usage.write()
        if not self.database.read_only:
            try:
                self.database.write(lambda transaction: None, background=True).result(left())
            except FutureTimeoutError:
                return False
        self.embedder.wait(left())
        self.backfill.retry_refused()
        is_done = self.maintenance.flush(goes_on)
        goes_on()  # tells of the last piece
        return is_done

    def close(self) -> None:
        """Commit what was accepted, as far as that takes no more than seconds, and end all threads; again: nothing."""
        self.database.begin_to_close()
        with self._closing:
            self._open.close()

    def _complete_file(self) -> None:
        # For other programs and the next start, unless something else waits: to close takes no more than seconds.
        ends = time.monotonic() + _KEEPING
        steps = [self._offer_texts] * (not self.database.read_only) + [piecewise(self.tables.keep)]
        try:
            for step in steps:
                while not self.database.queue_length and time.monotonic() < ends and step():
                    pass
        except MemoryClosedError:
            pass  # there was no time left: the next start reads all rows
        except RobotMemoryError as error:
            _LOG.warning("the table could not be kept for the next start: %s", error)

    def _load_dictionaries(self) -> bool:
        # They take as much RAM as the model. A text that needs them before waits until they are loaded.
        if scripts.lacks_chinese() and self.tables.has_chinese:
            scripts.load_chinese()
        return False

    def _offer_texts(self) -> bool:
        with self.database.snapshot() as snapshot:
            is_behind = rows.has_texts_to_offer(snapshot)
        if is_behind:
            self.database.write(rows.offer_next_texts, background=True).result()
        return is_behind

    def _look_at_clock(self) -> bool:
        with self.database.snapshot() as snapshot:
            doubt = lived_days.doubt(snapshot, self.now())
            can_put_right = doubtful_times.can_put_right(snapshot, self._clock)
        if doubt and not self._doubt:
            _LOG.warning("%s", doubt)
        self._doubt = doubt
        if can_put_right:
            work = partial(doubtful_times.put_right, clock=self._clock)
            self.database.write(work, background=True).result()
        return can_put_right

    def _steps(self, parameters: Parameters) -> list[Step]:
        # In this order, since each may make work for the next. Retention rests long because it scans all memories.
        of_table = [
            Step("follow the table", self.tables.follow, period=10.0, rest=0.25),
            Step("load dictionaries", self._load_dictionaries, period=10.0, rest=1.0),
        ]
        release = Step("release free memory", release_free_memory, period=5.0, rest=5.0)
        if self.database.read_only:
            return [*of_table, release]
        consolidate = Step("consolidate sessions", self.sessions.update, period=1.0, rest=1.0)
        return [
            Step("embed texts", self.backfill.update, period=10.0, rest=0.1),
            *of_table,
            Step("look after the file", self.database.look_after_file, period=1.0, rest=1.0),
            Step("look at the clock", self._look_at_clock, period=60.0, rest=1.0),
            Step("keep the areas", self.area_keeper.update, period=1.0, rest=1.0),
            Step("index texts for other programs", self._offer_texts, period=60.0, rest=60.0),
            Step("count recalls", self.usage.write, period=0.5, rest=0.5),
            *([consolidate] if parameters.session_maintenance else []),
            Step("keep the table", piecewise(self.tables.keep), period=60.0, rest=60.0, rest_ratio=20.0),
            Step("look after the log", self.log_watch.update, period=10.0, rest=10.0),
            Step("mark the file", self.database.mark_file, period=10.0, rest=10.0),
            Step("finish a purge", self.purge_finisher.update, period=10.0, rest=10.0),
            Step("retain", self.retention.update, period=600.0, rest=2.0, rest_ratio=20.0),
            release,
        ]


def _in_background(
    embedder: Embedder | None,
    parameters: Parameters,
    patience: float,
    maintenance: MaintenanceLoop,
    database: Database,
    *,
    is_closing: Event,
) -> BackgroundEmbedder:
    asks_service = Event()
    chain, threads = choices(parameters), parameters.embedding_threads

    def load() -> Embedder:
        return load_first(chain, threads, _stored_model(database), is_closing, asks_service)

    return BackgroundEmbedder(
        _name_of_first(chain) if embedder is None else embedder.name,
        (load if chain else None) if embedder is None else lambda: embedder,
        patience=patience,
        settled=maintenance.notify,
        asks_service=asks_service,
    )


def _name_of_first(chain: Sequence[Choice]) -> str:
    # As the file has it: before the model is loaded and when it is closed, its vectors are no other model's.
    try:
        return chain[0].name if chain else ""
    except ModelUnavailableError:  # which loading it tells
        return chain[0].model


def _stored_model(database: Database) -> str | None:
    with database.snapshot() as snapshot:
        return vector_rows.model(snapshot)
