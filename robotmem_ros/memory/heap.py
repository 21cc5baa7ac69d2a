"""Give RAM that a process has freed back to the operating system."""

from __future__ import annotations

import ctypes
import sys

# Of glibc; other C libraries give back on their own.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def release_free_memory() -> bool:
    """Give back the free pages of the heap, and return that nothing is left to do.

    glibc keeps those that lie between blocks that stay: a third of the resident set, once the indexes of 100,000
    memories have been read. It takes some milliseconds, and none if little was freed.
    """
    if _trim is not None:
        _trim(0)
    return False
