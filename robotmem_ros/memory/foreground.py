"""Questions go first: what can wait a moment gives way to them."""

from __future__ import annotations

import threading
from types import TracebackType

_MOMENT = 0.02
"""Seconds: about what a question takes."""


class Foreground:
    """Counts the questions that are being answered: `with foreground:` around each. Safe from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._answering = 0

    def __enter__(self) -> None:
        with self._changed:
            self._answering += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._answering -= 1
            if not self._answering:
                self._changed.notify_all()

    def give_way(self) -> None:
        """Waits until no question is being answered, but no longer than a moment: nobody is to be held up for good."""
        if self._answering:
            with self._changed:
                self._changed.wait_for(lambda: not self._answering, _MOMENT)
