"""Remember what damage in the file makes the vector search fail, for the status, until it works again."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..errors import StorageError

_LOG = logging.getLogger(__name__)


@dataclass
class VectorFailure:
    """Why the vector search of a query failed last.

    A disk that fails to read for a moment looks like a damaged file, so that nothing is held to be damaged for ever.
    """

    reason: str = ""
    """Empty if it worked."""

    def note(self, error: Exception) -> str:
        """Log that the search failed, and return the reason."""
        reason = f"vector search failed: {error.cause if isinstance(error, StorageError) else error}"
        _LOG.warning("%s", reason)
        # A lock passes; what the model refuses concerns one query.
        if isinstance(error, StorageError) and error.is_damage:
            self.reason = reason
        return reason

    def clear(self) -> None:
        """Note that the search worked."""
        self.reason = ""
