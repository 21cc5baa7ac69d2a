"""From text to vectors: the protocol, the provider that runs a model, and the workers around it."""

from ..models import Vector, Vectors
from .embedder import Embedder, ModelUnavailableError

__all__ = ["Embedder", "ModelUnavailableError", "Vector", "Vectors"]
