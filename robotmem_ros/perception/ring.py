"""Keep the messages of the last seconds in RAM, for what happens to need them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .mcap import ENVELOPE_SIZE, WrittenChannel, WrittenMessage


class Ring:
    """Messages of at most `seconds`, of which a file has at most `limit` bytes: the oldest go first.

    Safe to use from several threads.
    """

    def __init__(self, seconds: float, limit: Callable[[], int]) -> None:
        self._window = round(seconds * 1e9)
        self._limit = limit
        self._messages: deque[WrittenMessage] = deque()
        self._channels = set[WrittenChannel]()
        self._head_size = ENVELOPE_SIZE
        self._size = 0
        self._lock = threading.Lock()

    def add(self, message: WrittenMessage) -> bool:
        """Keep a message; return False if it alone is too large, which leaves the others where they are."""
        with self._lock:
            if message.channel not in self._channels:
                self._channels.add(message.channel)
                self._head_size += message.channel.size
            if self._head_size + message.size > self._limit():
                return False
            self._messages.append(message)
            self._size += message.size
            self._trim(message.received_at)
            return True

    def last(self, now: int) -> tuple[WrittenMessage, ...]:
        """Return the messages of the seconds until `now`, in nanoseconds since the epoch."""
        with self._lock:
            self._trim(now)
            return tuple(self._messages)

    def _trim(self, now: int) -> None:
        limit = self._limit() - self._head_size
        # What is later than now is of before the clock was set back.
        while self._messages and (self._size > limit or not 0 <= now - self._messages[0].received_at <= self._window):
            self._size -= self._messages.popleft().size
