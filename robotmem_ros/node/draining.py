"""Takes many messages in one turn of the executor, for a turn costs as much as all else that is done with a message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_TURN = 0.005
"""Seconds after which other callbacks get their turn."""


def drain(subscription: Any, take_in: Callable[[Any, Any], None], *, holds: Callable[[], bool] | None = None) -> None:
    """Gives `take_in` what else has come to a subscription, each message with its information.

    Ends when nothing is left, the turn is over, or `holds` says so.
    """
    deadline = time.monotonic() + _TURN
    handle = subscription.handle
    with handle:
        while time.monotonic() < deadline and not (holds and holds()):
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                return
            take_in(taken[0], taken[1])
