"""Ask the operating system how much RAM is free, and give back to it what a process has freed."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
# Of glibc; other C libraries give back on their own.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def release_free_memory() -> bool:
    """Give back the free pages of the heap, and return that nothing is left to do.

    glibc keeps those that lie between blocks that stay: a third of the resident set, once the columns of 100,000
    memories have been read. It takes some milliseconds, and none if little was freed.
    """
    if _trim is not None:
        _trim(0)
    return False


def available_bytes() -> int | None:
    """Return how many bytes of RAM this process can still use; None if the system does not tell."""
    return min((free for free in (_left_by_machine(), _left_by_container()) if free is not None), default=None)


def _left_by_machine() -> int | None:
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:")))
    return None


def _left_by_container() -> int | None:
    # Of cgroup v2; "max", or no file, is no limit. What is cached of files can be had.
    with suppress(OSError, ValueError, KeyError):
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        used = dict(line.split() for line in (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines())
        return limit - int(used["anon"])
    return None
