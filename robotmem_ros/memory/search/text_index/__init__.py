"""Postings in RAM: which memories hold a word. They find in a millisecond what FTS5 would rank for fifty."""

from .block import Block
from .index import TextIndex, outdated
from .scores import Best, Bm25, Scores

__all__ = ["Best", "Block", "Bm25", "Scores", "TextIndex", "outdated"]
