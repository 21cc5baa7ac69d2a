"""One SQLite file: its schema and migrations, its connections, and the one writer."""

from .database import Database

__all__ = ["Database"]
