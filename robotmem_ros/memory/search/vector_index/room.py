"""How much RAM is free."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the bytes of RAM that this process can still use; None if the system does not tell."""
    free = [room for room in (_of_machine(), _of_container()) if room is not None]
    return min(free, default=None)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _of_container() -> int | None:
    # Of cgroup v2; "max", or no file, is no limit. What is cached of files can be had.
    with suppress(OSError, ValueError, KeyError):
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        return limit - int(dict(line.split() for line in lines)["anon"])
    return None
