"""Turn texts into vectors: the protocol of an embedding provider, and one that is loaded in the background."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..errors import RobotMemoryError
from ..models import Vector, Vectors
from ..storage.overview import overview

_REMEMBERED = 4096
_LOG = logging.getLogger(__name__)


class ModelUnavailableError(RobotMemoryError):
    """There is no embedding model to use; the message says why and what to do."""


class UnusableVectorError(ModelUnavailableError):
    """A model gave something that cannot be compared with any vector."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the embedding model gave {what}")


class Embedder(Protocol):
    """Turns text into vectors. All methods may be called from several threads at once."""

    @property
    def name(self) -> str:
        """Name the model; vectors of models with different names are never compared."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def available(self) -> bool:
        """Tell whether a call now would succeed without a wait."""

    def embed_one(self, text: str) -> Vector:
        """Return the vector of one text.

        Raises:
            ModelUnavailableError: there is no model.
        """

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of many texts, in their order."""

    def close(self) -> None:
        """Release the model."""


class BackgroundEmbedder:
    """Loads an embedder on a thread of its own, and remembers the vectors of the latest texts.

    Loading takes a second or, on a robot, several: neither the program's start nor maintenance waits for it. `patience`
    is how many seconds a call waits for the model that is being loaded. `settled` is called when it is loaded or cannot
    be.
    """

    def __init__(
        self, name: str, load: Callable[[], Embedder], *, patience: float, settled: Callable[[], None] = lambda: None
    ) -> None:
        self._wanted = name
        self._load = load
        self._patience = patience
        self._model: Embedder | None = None
        self._why_not = "the embedding model is being loaded"
        self._settled = threading.Event()
        self._on_settled = settled
        self._calls = 0
        self._returned = threading.Condition()
        self._remembered: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="robotmem-model", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """Name of the model; of the wanted one while none is loaded."""
        return self._model.name if self._model else self._wanted

    @property
    def dim(self) -> int:
        """Length of a vector; 0 while there is no model."""
        return self._model.dim if self._model else 0

    @property
    def available(self) -> bool:
        """Tell whether the model is loaded."""
        return self._model is not None

    @property
    def is_settled(self) -> bool:
        """Tell whether the model is loaded or cannot be."""
        return self._settled.is_set()

    @property
    def why_not(self) -> str:
        """Return why there is no model now; empty when there is one."""
        return "" if self._model else self._why_not

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the model is loaded or cannot be; return whether it is loaded."""
        self._settled.wait(timeout)
        return self.available

    def is_at_hand(self, text: str) -> bool:
        """Tell whether `embed_one` need not compute anything: it remembers the text, or there is no model."""
        return (self.is_settled and not self.available) or self._recollect(text) is not None

    def embed_one(self, text: str) -> Vector:
        """Return the vector of one text.

        Raises:
            ModelUnavailableError: there is no model, it is still being loaded after `patience` seconds, or what it
                gives is no vector.
        """
        vector: Vector = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts in their order; equal texts, and recent ones, are computed once."""
        with self._in_use() as model:
            known = {text: vector for text in texts if (vector := self._recollect(text)) is not None}
            new = [text for text in dict.fromkeys(texts) if text not in known]
            if new:
                known.update(zip(new, _usable(model.embed_batch(new), len(new), model.dim), strict=True))
                self._remember({text: known[text] for text in new})
            return np.stack([known[text] for text in texts]) if texts else np.empty((0, model.dim), np.float32)

    def close(self) -> None:
        """Release the model once it is loaded and all calls are done.

        A thread that is still in a model's C++ code when the interpreter ends would abort the process.
        """
        self._thread.join()
        with self._returned:
            model, self._model, self._why_not = self._model, None, "the memory is closed"
            self._returned.wait_for(lambda: not self._calls)
        if model:
            model.close()

    def _run(self) -> None:
        try:
            self._model = self._load()
        except ModelUnavailableError as cause:
            self._why_not = str(cause)
        except Exception as cause:
            # No caller may wait for ever, whatever a provider raises.
            _LOG.exception("the embedding model could not be loaded")
            self._why_not = f"embedding_model: {self._wanted!r} cannot be loaded: {cause!r}"
        self._settled.set()
        self._on_settled()

    @contextmanager
    def _in_use(self) -> Iterator[Embedder]:
        if self._patience > 0:
            self._settled.wait(self._patience)
        with self._returned:
            model = self._model
            if model is None:
                raise ModelUnavailableError(self._why_not)
            self._calls += 1
        try:
            yield model
        finally:
            with self._returned:
                self._calls -= 1
                self._returned.notify_all()

    def _recollect(self, text: str) -> Vector | None:
        with self._lock:
            if text in self._remembered:
                self._remembered.move_to_end(text)
            return self._remembered.get(text)

    def _remember(self, vectors: dict[str, Vector]) -> None:
        with self._lock:
            self._remembered.update(vectors)
            while len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)


def _usable(vectors: npt.ArrayLike, count: int, dim: int) -> Vectors:
    """Return the vectors that a model gave for so many texts, as float32 of shape (count, dim).

    Raises:
        UnusableVectorError: they are of another number or length, or one is zero, infinite, or not a number.
    """
    try:
        given = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as cause:
        raise UnusableVectorError(f"no vectors: {cause}") from cause
    if given.shape != (count, dim):
        raise UnusableVectorError(f"an array of shape {given.shape} instead of {(count, dim)}")
    if not np.isfinite(given).all():
        raise UnusableVectorError("a vector with a component that is no finite number")
    if not given.any(axis=1).all():
        raise UnusableVectorError("a vector of zeros")
    return given


def check_kept_model(connection: sqlite3.Connection, model: str) -> None:
    """Check that the vectors of a database are those of this model, or that there never were any.

    Raises:
        ModelUnavailableError: the vectors are those of another model, and cannot be compared.
    """
    kept = overview(connection).model
    if kept not in (None, model):
        raise ModelUnavailableError(f"the vectors in the database are those of the model {kept!r}, not of {model!r}")
