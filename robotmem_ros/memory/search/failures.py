"""Remember what damage in the file makes a search fail, for the status."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..errors import StorageError

_LOG = logging.getLogger(__name__)


@dataclass
class Failures:
    """Why each search fails, over all queries; empty while it works. What is damaged stays so until the next start."""

    text: str = ""
    vector: str = ""

    def note(self, search: str, error: Exception) -> str:
        """Log that the search `text` or `vector` failed, and return the reason."""
        reason = f"{search} search failed: {error.cause if isinstance(error, StorageError) else error}"
        _LOG.warning("%s", reason)
        # A lock passes; what the model refuses concerns one query.
        if isinstance(error, StorageError) and error.is_damage:
            setattr(self, search, reason)
        return reason
