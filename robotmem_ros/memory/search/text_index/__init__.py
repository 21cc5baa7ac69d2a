"""The text index: postings in RAM, which do in a millisecond what takes FTS5 fifty, and FTS5 for the rest."""

from .index import TextIndex
from .reader import TextReader

__all__ = ["TextIndex", "TextReader"]
