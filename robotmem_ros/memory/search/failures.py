"""Remember what damage in the file makes a search fail, for the status, until it works again."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..errors import StorageError

_LOG = logging.getLogger(__name__)


@dataclass
class Failures:
    """Why the search for each query failed last, `text` or `vector`; empty if it worked.

    A disk that fails to read for a moment looks like a damaged file, so that nothing is held to be damaged for ever.
    """

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

    def clear(self, search: str) -> None:
        """Note that the search `text` or `vector` worked."""
        setattr(self, search, "")
