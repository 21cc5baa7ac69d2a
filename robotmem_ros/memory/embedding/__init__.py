"""From text to vectors: the protocol, the provider that runs a model, and the workers around it."""

from .embedder import Embedder, ModelUnavailableError, Vector, Vectors

__all__ = ["Embedder", "ModelUnavailableError", "Vector", "Vectors"]
