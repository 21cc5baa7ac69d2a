"""Takes many messages in one turn of the executor, for a turn costs as much as all else that is done with a message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_TURN = 0.005
"""Seconds after which other callbacks get their turn."""


def drain(subscription: Any, take_in: Callable[[Any], None]) -> None:
    """Gives `take_in` what else has come to a subscription, until nothing is left or the turn is over."""
    deadline = time.monotonic() + _TURN
    handle = subscription.handle
    with handle:
        while time.monotonic() < deadline:
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                return
            take_in(taken[0])
