"""Turn texts into vectors: the protocol, the provider that runs a model, its loading, and the backfill."""

from ..models import Vector, Vectors
from .embedder import Embedder, ModelUnavailableError

__all__ = ["Embedder", "ModelUnavailableError", "Vector", "Vectors"]
