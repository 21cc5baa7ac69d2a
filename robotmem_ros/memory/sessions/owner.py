"""Which process has a session in hand, and whether that process is still there.

A name tells the boot of the machine, the process, when that process started, and one memory in it: a process id alone
is soon used again, in a container at once.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

_PROC = Path("/proc")
_STARTED = 19
"""Place of the start time in /proc/<pid>/stat, counted behind the name of the program."""


def new_owner() -> str:
    """A name for a memory that this process opened."""
    pid = os.getpid()
    return f"{_boot()}/{pid}/{_started(pid)}/{uuid.uuid4().hex[:12]}"


def is_alive(owner: str) -> bool:
    """Whether the process of an owner still runs on this machine."""
    parts = owner.split("/")
    if len(parts) != 4 or not parts[1].isdecimal():
        return False
    boot, pid, started, _ = parts
    return boot == _boot() and _runs(int(pid)) and started == _started(int(pid))


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    try:
        # The name of the program stands in brackets and may hold anything.
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[_STARTED]
    except OSError:
        return ""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
