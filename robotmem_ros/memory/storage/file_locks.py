"""Tell which processes hold locks on a file, as far as Linux lists them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_LOCKS = Path("/proc/locks")
_PROCESSES = Path("/proc")


class FileLock(NamedTuple):
    """A lock on some bytes of a file."""

    process: int
    file: str
    """Device and inode; several devices may have the same inode."""
    begin: int
    """First byte."""


def locks_on(path: Path) -> list[FileLock]:
    """Return the locks of this process and of others on a file.

    Raises:
        OSError: there is no such file, or the system lists no locks.
    """
    inode = path.stat().st_ino
    # 1: POSIX ADVISORY READ 77 fd:01:123456 124 124
    rows = [line.split()[-4:-1] for line in _LOCKS.read_text().splitlines()]
    locks = [FileLock(int(process), file, int(begin)) for process, file, begin in rows if file.endswith(f":{inode}")]
    return [lock for lock in locks if lock.process > 0]  # processes of other containers have no number here


def program(process: int) -> str:
    """Return the name of the program that a process runs: of a script rather than of its interpreter."""
    try:
        words = (_PROCESSES / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "unknown"
    if not Path(words[0]).name.startswith("python"):
        return Path(words[0]).name or "unknown"
    script = next((word for word in words[1:] if word == "-c" or not word.startswith("-")), "-c")
    return Path(words[0] if script == "-c" else script).name or "unknown"
