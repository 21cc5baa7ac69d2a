"""One SQLite file: its schema, its connections, and the one writer."""

from .database import Database

__all__ = ["Database"]
