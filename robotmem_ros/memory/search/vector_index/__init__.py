"""The vectors of the memories: how they are kept, compared one by one, and searched by an index."""

from .index import VectorIndex

__all__ = ["VectorIndex"]
