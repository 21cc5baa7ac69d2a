"""Wait for what happens in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def until(condition: Callable[[], bool], what: str, patience: float = 180.0) -> None:
    """Wait for something that another thread does, at most so many seconds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"no {what}"
        threading.Event().wait(0.05)
