"""Texts that the model gave no usable vector for, and when each may be tried again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..storage.functions import text_digest

_FIRST_DELAY, _LONGEST_DELAY = 10.0, 3600.0


@dataclass
class _Refusal:
    due: float
    delay: float


class Refusals:
    """Remembers refused texts by their digests; each is tried again after 10 s, then after twice as long, up to 1 h."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refusals: dict[int, _Refusal] = {}
        self._why = ""

    def reason(self, pending: int) -> str:
        """Say how many of the memories that have no vector were refused, and why; empty if none was."""
        count = min(len(self._refusals), pending)  # of the texts refused, some may be gone
        texts = "1 text" if count == 1 else f"{count} texts"
        return f"the embedding model refused {texts}, which only words find: {self._why}" if count else ""

    def add(self, text: str, error: Exception) -> None:
        """Note that the model refused a text just now."""
        known = self._refusals.get(text_digest(text))
        delay = min(2 * known.delay, _LONGEST_DELAY) if known else _FIRST_DELAY
        self._refusals[text_digest(text)] = _Refusal(self._clock() + delay, delay)
        self._why = str(error) or repr(error)

    def clear(self) -> None:
        """Note that every text has its vector, or is gone."""
        self._refusals.clear()

    def remove(self, texts: Iterable[str]) -> None:
        """Note that the model embedded some texts."""
        for text in texts if self._refusals else ():
            self._refusals.pop(text_digest(text), None)

    def may_try(self, text: str) -> bool:
        """Whether a text may be given to the model now."""
        known = self._refusals.get(text_digest(text)) if self._refusals else None
        return known is None or known.due <= self._clock()

    def may_try_all(self) -> None:
        """Let every text be tried once more."""
        for known in self._refusals.values():
            known.due = self._clock()
