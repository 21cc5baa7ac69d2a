"""Define the protocol of an embedding provider."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..errors import RobotMemoryError
from ..models import Vector, Vectors
from ..storage import vector_rows


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


def usable(vectors: npt.ArrayLike, count: int, dim: int) -> Vectors:
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
    kept = vector_rows.model(connection)
    if kept not in (None, model):
        raise ModelUnavailableError(f"the vectors in the database are those of the model {kept!r}, not of {model!r}")
