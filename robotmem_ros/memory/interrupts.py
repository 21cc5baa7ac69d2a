"""Take locks so that Ctrl-C cannot leave them taken."""

from __future__ import annotations

import threading
from operator import attrgetter


class Condition(threading.Condition):
    """Waits and notifies as Python's own condition does, and always releases its lock after a `with`.

    Python's own takes the lock in a function of Python, at whose end KeyboardInterrupt can be raised: then the lock is
    taken, the block has not begun, and all other threads wait for ever. Here `with` calls the lock itself.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        super().__init__(self.lock)

    __enter__ = property(attrgetter("lock.__enter__"))
    __exit__ = property(attrgetter("lock.__exit__"))
