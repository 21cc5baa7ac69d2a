"""Remember what damage in the file makes a search fail, for the status."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass

_LOG = logging.getLogger(__name__)


@dataclass
class Failures:
    """Why each search fails, over all queries; empty while it works. What is damaged stays so until the next start."""

    text: str = ""
    vector: str = ""

    def note(self, search: str, error: Exception) -> str:
        """Log that the search `text` or `vector` failed, and return the reason."""
        reason = f"{search} search failed: {error}"
        _LOG.warning("%s", reason)
        # An OperationalError, such as a lock, passes; what the model refuses concerns one query.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            setattr(self, search, reason)
        return reason
