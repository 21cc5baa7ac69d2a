"""Turn texts into vectors: the protocol of an embedding provider, and one that is loaded in the background."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import RobotMemoryError
from ..models import Vector, Vectors
from ..storage import vector_rows
from ..storage.snapshot import Snapshot
from ..text.sentences import cut
from ..threads import Calls, Condition, Event
from .cooldown import Cooldown
from .profile import Profile, profile_of

NOT_CONFIGURED = "no embedding model is configured (parameter embedding_model)"
QUERY_TIMEOUT = 2.0
"""Seconds for the vector of a query by a service; words answer it sooner than a planner gives up."""
_LOOK = 0.1
"""Seconds between two looks whether it is a service that is waited for."""
MODEL_THREAD = "robotmem-model"
"""Name of threads that load models."""
_CACHE_SIZE = 4096
_OVERLAP = 5
"""A part of a long text repeats a fifth of the part before, at most."""
_PATIENCE = 2.0
"""Seconds that closing waits for a model that is being loaded, and for calls."""
_PrefixOf = Callable[[Profile], str]
_AS_QUERY: _PrefixOf = attrgetter("query_prefix")
_AS_PASSAGE: _PrefixOf = attrgetter("passage_prefix")
_LOG = logging.getLogger(__name__)


class ModelUnavailableError(RobotMemoryError):
    """There is no embedding model to use; the message says why and what to do."""


class ServiceFailedError(ModelUnavailableError):
    """A service did not give a vector, whatever the text; it is left alone for a while."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the service asks to be left alone."""


class UnusableVectorError(ModelUnavailableError):
    """A model gave something that cannot be compared with any vector."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"the embedding model gave {fault}")


class UnreadTextError(ModelUnavailableError):
    """A model does not read the script of a text, so that its vector would tell nothing."""

    def __init__(self, model: str) -> None:
        super().__init__(f"the embedding model {model!r} does not read the script of the text")


class Embedder(Protocol):
    """Turns text into vectors. All methods may be called from several threads at once."""

    @property
    def name(self) -> str:
        """Name the model; its profile, and vectors that can be compared with its own, are known by that."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def available(self) -> bool:
        """Tell whether a call now would succeed without a wait."""

    @property
    def batch(self) -> int:
        """Number of texts that `embed_batch` takes best at once, while no query waits for long."""

    def embed_one(self, text: str) -> Vector:
        """Return the vector of one text.

        Raises:
            ModelUnavailableError: there is no model; a ServiceFailedError if it is a service that failed.
        """

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of many texts, in their order; raises the same."""

    def close(self) -> None:
        """Release the model."""


@runtime_checkable
class CountsTokens(Protocol):
    """An embedder that knows how much of a text it reads; of others that is not known, and their texts are whole."""

    max_tokens: int
    """Number of tokens of a text that it reads; 0 if it reads all."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, those at its ends included."""


@runtime_checkable
class KnowsFiles(Protocol):
    """Tell by a digest when the files of a model are others."""

    files_digest: str
    """Digest of the files; empty if they are not known."""


def identity_of(model: Embedder) -> str:
    """Return the name under which the vectors of a model are kept; those of different identities are never compared."""
    files = model.files_digest if isinstance(model, KnowsFiles) else ""
    return profile_of(model.name).identity(model.name, files)


class BackgroundEmbedder:
    """Loads an embedder on a thread of its own, and remembers the vectors of the latest texts.

    Loading takes a second or, on a robot, several: neither the program's start nor maintenance waits for it. A model
    that cannot be loaded is tried again after a pause, and a service that fails is left alone for one.

    Args:
        name: Name of the model, while none is loaded.
        load: Returns the model, or raises ModelUnavailableError; None if none is configured.
        patience: Seconds that a call waits for the model that is being loaded.
        asks_service: Is set while it is a service that is asked: a call waits for that no longer than for a vector.
        settled: Is called when the model is loaded or cannot be, and when a pause ends.
        cooldown: The pauses.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Embedder] | None,
        *,
        patience: float,
        settled: Callable[[], None] = lambda: None,
        asks_service: Event | None = None,
        cooldown: Cooldown | None = None,
    ) -> None:
        self._configured_name = self._identity = name
        self._load = load
        self._patience = patience
        self._asks_service = asks_service or Event()
        self._cooldown = cooldown or Cooldown()
        self._model: Embedder | None = None
        self._why_not = "the embedding model is being loaded" if load else NOT_CONFIGURED
        self._settled = Event()
        self._on_settled = settled
        self._condition = Condition()
        """Notified when a pause begins, and when the embedder is closed."""
        self._calls = Calls()
        self._is_closed = self._has_warned = False
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=MODEL_THREAD, daemon=True)
        self._thread.start()
        atexit.register(self._thread.join)

    @property
    def name(self) -> str:
        """Name of the model; of the configured one while none is loaded."""
        return self._model.name if self._model else self._configured_name

    @property
    def identity(self) -> str:
        """Name under which the file keeps the vectors; until the model is loaded, the name of the configured one."""
        return self._identity

    @property
    def dim(self) -> int:
        """Length of a vector; 0 while there is no model."""
        return self._model.dim if self._model else 0

    @property
    def is_closed(self) -> bool:
        """Tell whether the memory that it belongs to was closed."""
        return self._is_closed

    @property
    def available(self) -> bool:
        """Tell whether the model is loaded, and no service that failed."""
        return self._model is not None and not self._cooldown.seconds_left

    @property
    def batch(self) -> int:
        """Number of texts that the model takes best at once."""
        return self._model.batch if self._model else 1

    @property
    def is_settled(self) -> bool:
        """Tell whether the model is loaded or cannot be."""
        return self._settled.is_set()

    @property
    def why_not(self) -> str:
        """Return why there is no model now; empty when there is one."""
        return self._cooldown.reason or ("" if self._model else self._why_not)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the model is loaded or cannot be; return whether it is loaded."""
        self._settled.wait(timeout)
        return self.available

    @property
    def profile(self) -> Profile:
        """Profile of the model."""
        return profile_of(self.name)

    def parts_of(self, text: str) -> Sequence[str]:
        """Cut the text of a memory into parts that the model reads whole, at the ends of sentences, with some overlap.

        Nearly every text is one part. What the model does not read is left out. Without a model, a text is whole.
        """
        with self._calls.running():
            model, profile = self._model, self.profile
            if model is None or not profile.reads(text):
                return [text] if model is None else []
            if not isinstance(model, CountsTokens) or not model.max_tokens:
                return [text]
            room, at_ends = model.max_tokens - model.count_tokens(profile.passage_prefix), model.count_tokens("")
            if model.count_tokens(text) - at_ends <= room:
                return [text]
            parts = cut(
                text, limit=room, overlap=room // _OVERLAP, count=lambda part: model.count_tokens(part) - at_ends
            )
            return [part for part in parts if part.strip() and profile.reads(part)]

    def is_whole(self, text: str) -> bool:
        """Tell whether the model reads the text of a memory as one part, or not at all."""
        return len(self.parts_of(text)) < 2

    def embed_one(self, text: str) -> Vector:
        """Return the vector of the text of one memory.

        Raises:
            ModelUnavailableError: there is no model, it is still being loaded after `patience` seconds, or what it
                gives is no vector; an UnreadTextError if it does not read the text.
        """
        return self._embed_one(_AS_PASSAGE, text)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, which some models embed otherwise than what is found by it; raises the same."""
        return self._embed_one(_AS_QUERY, text)

    def start(self, text: str, threads: Executor) -> Future[Vector]:
        """Embed the text of a memory in another thread, unless its vector is at hand."""
        return self._start(_AS_PASSAGE, text, threads)

    def start_query(self, text: str, threads: Executor | None) -> Future[Vector]:
        """Embed a query in another thread, or in this one if there is none, or its vector is at hand."""
        return self._start(_AS_QUERY, text, threads)

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts of memories, in order; equal ones, and recent ones, are computed once."""
        vectors = self._embed(_AS_PASSAGE, texts, lambda model, inputs: model.embed_batch(inputs))
        return np.stack(vectors) if texts else np.empty((0, self.dim), np.float32)

    def close(self) -> None:
        """Release the model once all calls are done; what takes seconds, as loading it may, is left to itself.

        A thread that is still in a model's C++ code when the interpreter ends would abort the process, so that waits.
        """
        with self._condition:
            self._is_closed, self._why_not = True, "the memory is closed"
            self._condition.notify_all()
        self._settled.set()
        self._thread.join(_PATIENCE)
        model, self._model = self._model, None
        self._calls.wait(_PATIENCE)
        if not self._thread.is_alive():
            atexit.unregister(self._thread.join)
        self._cache.clear()
        if model:
            model.close()

    def _run(self) -> None:
        while not self._is_closed:
            if self._model is None and self._load is not None:
                self._try_to_load(self._load)
            self._settled.set()
            self._on_settled()
            with self._condition:
                self._condition.wait_for(lambda: self._is_closed or self._cooldown.seconds_left)
                self._condition.wait_for(lambda: self._is_closed, self._cooldown.seconds_left)

    def _try_to_load(self, load: Callable[[], Embedder]) -> None:
        try:
            model = load()
            identity = identity_of(model)
        except ServiceFailedError as cause:
            self._cooldown.fail(str(cause), cause.retry_after)
        except ModelUnavailableError as cause:
            self._cooldown.fail(str(cause))
        except Exception as cause:
            # No caller may wait for ever, whatever a provider raises.
            _LOG.exception("the embedding model could not be loaded")
            self._cooldown.fail(f"embedding_model: {self._configured_name!r} cannot be loaded: {cause!r}")
        else:
            self._cooldown.succeed()
            if self._is_closed:
                model.close()
            else:
                self._identity, self._model = identity, model

    def _start(self, prefix_of: _PrefixOf, text: str, threads: Executor | None) -> Future[Vector]:
        if threads is not None and not self._is_at_hand(prefix_of, text):
            with suppress(RuntimeError):  # the memory may be closed, which the database knows
                return threads.submit(self._embed_one, prefix_of, text)
        embedding: Future[Vector] = Future()
        try:
            embedding.set_result(self._embed_one(prefix_of, text))
        except Exception as error:
            embedding.set_exception(error)
        return embedding

    def _is_at_hand(self, prefix_of: _PrefixOf, text: str) -> bool:
        # Whether nothing need be computed: the vector is remembered, or there will be none.
        profile = self.profile
        if self.is_settled and not (self.available and profile.reads(text)):
            return True
        return self._recollect(prefix_of(profile) + text) is not None

    def _embed_one(self, prefix_of: _PrefixOf, text: str) -> Vector:
        (vector,) = self._embed(prefix_of, [text], lambda model, inputs: [model.embed_one(inputs[0])])
        return vector

    def _embed(
        self,
        prefix_of: _PrefixOf,
        texts: Sequence[str],
        embed: Callable[[Embedder, list[str]], npt.ArrayLike | list[Vector]],
    ) -> list[Vector]:
        self._wait_for_load()  # whose profile it is depends on which model of a chain can be loaded
        profile = self.profile
        prefix = prefix_of(profile)
        vectors = {text: vector for text in texts if (vector := self._recollect(prefix + text)) is not None}
        if new := [text for text in dict.fromkeys(texts) if text not in vectors]:
            with self._in_use() as model:
                if not all(map(profile.reads, new)):
                    raise UnreadTextError(model.name)
                rows = usable_vectors(embed(model, [prefix + text for text in new]), len(new), model.dim)
                if profile.mean is not None and profile.mean.shape != rows.shape[1:]:
                    raise UnusableVectorError(f"vectors of {rows.shape[1]} numbers instead of {len(profile.mean)}")
                new_vectors = dict(zip(new, profile.comparable(rows, new), strict=True))
            self._cooldown.succeed()
            self._remember({prefix + text: vector for text, vector in new_vectors.items()})
            vectors |= new_vectors
        return [vectors[text] for text in texts]

    @contextmanager
    def _in_use(self) -> Iterator[Embedder]:
        with self._calls.running():
            model = self._model
            if model is None:
                self._warn()
                raise ModelUnavailableError(self.why_not)
            if reason := self._cooldown.reason:
                raise ServiceFailedError(reason)
            try:
                yield model
            except ServiceFailedError as error:
                self._cooldown.fail(str(error), error.retry_after)
                with self._condition:
                    self._condition.notify_all()
                raise

    def _wait_for_load(self) -> None:
        start = time.monotonic()
        while not self._settled.is_set():
            patience = min(self._patience, QUERY_TIMEOUT) if self._asks_service.is_set() else self._patience
            if (seconds_left := start + patience - time.monotonic()) <= 0:
                break
            self._settled.wait(min(seconds_left, _LOOK))

    def _warn(self) -> None:
        # Once, for whoever does not read the reason of a result; without a model by choice there is nothing to warn of.
        if self.is_settled and self._load and not self._is_closed and not self._has_warned:
            self._has_warned = True
            _LOG.warning("recall finds words only: %s", self.why_not)

    def _recollect(self, text: str) -> Vector | None:
        # Of a text as the model gets it, with its prefix.
        with self._lock:
            if text in self._cache:
                self._cache.move_to_end(text)
            return self._cache.get(text)

    def _remember(self, vectors: dict[str, Vector]) -> None:
        with self._lock:
            self._cache.update(vectors)
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)


def usable_vectors(vectors: npt.ArrayLike | Sequence[Vector], count: int, dim: int | None) -> Vectors:
    """Return the vectors that a model gave for so many texts, as float32 of shape (count, dim).

    The length of the first one counts if `dim` is None.

    Raises:
        UnusableVectorError: they are of another number or length, or one is zero, infinite, or not a number.
    """
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            rows = np.asarray(vectors, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise UnusableVectorError("no vectors of numbers") from None
    if rows.ndim != 2 or rows.shape != (count, dim or rows.shape[-1]):
        raise UnusableVectorError(f"an array of shape {rows.shape} instead of {(count, dim or 'any')}")
    if not np.isfinite(rows).all():
        raise UnusableVectorError("a vector with a component that is no finite number")
    if not rows.any(axis=1).all():
        raise UnusableVectorError("a vector of zeros")
    return rows


def check_kept_model(snapshot: Snapshot, model: str) -> None:
    """Check that the vectors of a database have this identity, or that there never were any.

    Raises:
        ModelUnavailableError: the vectors are those of another model, and cannot be compared.
    """
    owner = snapshot.read_once(vector_rows.model)
    if owner not in (None, model):
        raise ModelUnavailableError(f"the vectors in the database are those of the model {owner!r}, not of {model!r}")
