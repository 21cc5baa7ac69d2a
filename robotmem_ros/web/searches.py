"""Count the searches of a console, and those that found nothing."""

from __future__ import annotations

import threading


class Searches:
    """Counters. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = 0
        self._without_result = 0

    def add(self, *, found: bool) -> None:
        """Count a search."""
        with self._lock:
            self._all += 1
            self._without_result += not found

    def told(self) -> dict[str, int]:
        """Return the counts by the names of the fields of `Doctor`."""
        with self._lock:
            return {"searches": self._all, "searches_without_result": self._without_result}
