"""CPU and RAM of a process, as Linux counts them."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the seconds of CPU that a process has used, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int | str = "self") -> int:
    """Return the resident set size of a process, by default of this one."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024
