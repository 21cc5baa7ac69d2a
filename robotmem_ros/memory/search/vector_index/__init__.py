"""The vectors of the memories: in RAM, in step with the database, and compared with each query."""

from .index import VectorIndex
from .matrix import VectorsUnreadError

__all__ = ["VectorIndex", "VectorsUnreadError"]
