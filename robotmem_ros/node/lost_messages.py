"""Messages that were published and never came: what the numbers that publishers give their messages leave out.

The rmw's own event `message_lost` says nothing of messages that newer ones pushed out of a full history (measured with
Fast DDS: none of 900), and it is one more thing for the executor to wait for. The numbers come with each message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MOST_PUBLISHERS = 256
_ANY = b""


class LostMessages:
    """Counts the gaps in one topic. An rmw that does not number messages gives none.

    Up to Jazzy, rclpy does not tell whose number it is: then gaps count while `alone` says that there is one publisher.
    """

    def __init__(self, alone: Callable[[], bool]) -> None:
        self._alone = alone
        self._last: dict[bytes, int] = {}

    def before(self, info: Mapping[str, Any]) -> int:
        """How many messages of its publisher are missing right before the one that came with this information."""
        number: int | None = info.get("publication_sequence_number")
        if number is None:
            return 0
        publisher = info.get("publisher_gid")
        gid = bytes(publisher["data"]) if publisher else _ANY
        last = self._last.get(gid)
        if last is None:
            # What it published before is not for late joiners.
            self._last[gid] = number
            if len(self._last) > _MOST_PUBLISHERS:
                del self._last[next(iter(self._last))]
            return 0
        self._last[gid] = max(last, number)
        missing = max(0, number - last - 1)
        return missing if gid != _ANY or (missing and self._alone()) else 0
