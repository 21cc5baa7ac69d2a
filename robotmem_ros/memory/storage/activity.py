"""Tell when a database file was last written, which programs have it open, and how much room its disk has."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..clocks import comparable_since, nanoseconds
from .disk_room import free_bytes
from .snapshot import Snapshot

_LOCKS = Path("/proc/locks")
_PROCESSES = Path("/proc")
# Corrections by a console or an agent do not count: they are no activity of the robot.
_LAST = """
    SELECT (SELECT created_at FROM memories ORDER BY id DESC LIMIT 1),
    (SELECT max(last_seen) FROM objects WHERE last_seen BETWEEN :since AND :now),
    (SELECT max(observed_at) FROM path_points WHERE observed_at BETWEEN :since AND :now),
    (SELECT max(observed_at) FROM occupancy_grids WHERE observed_at BETWEEN :since AND :now)
"""


@dataclass(frozen=True)
class Activity:
    """Writes to a file, and the programs that have it open."""

    answered_at: int
    """Time by the clock of this machine, in nanoseconds since the epoch."""
    last_written_at: int | None
    """Time in nanoseconds at which the last memory, sighting, pose or map was stored; None if there is none.

    Sightings, poses and maps of a simulated clock, and those that are stamped later than now, do not count.
    """
    free_bytes: int | None
    """Room on the disk of the file; None if it is not known."""
    programs: tuple[str, ...] | None
    """Other programs on this machine that have the file open, as `memory_node (1234)`; None if that is not known.

    Programs in another container or on another machine are not seen.
    """


def read_activity(snapshot: Snapshot, path: Path) -> Activity:
    """Return the activity on the file of a snapshot."""
    now = time.time_ns()
    created_at, *stamps = snapshot.row(_LAST, {"since": comparable_since(now), "now": now})
    times = [stamp for stamp in (created_at and nanoseconds(created_at), *stamps) if stamp]
    return Activity(now, max(times, default=None), free_bytes(path), _programs(path))


def _programs(path: Path) -> tuple[str, ...] | None:
    # SQLite holds a lock on a file with a write-ahead log as long as it is open. If the lock of this process is not
    # listed, the system lists no locks of this file.
    try:
        locks = locks_on(path)
    except OSError:
        return None
    own_file = next((file for process, file, _ in locks if process == os.getpid()), None)
    if own_file is None:
        return None
    process_ids = {process for process, file, _ in locks if file == own_file} - {os.getpid()}
    return tuple(f"{program(process)} ({process})" for process in sorted(process_ids))


def locks_on(path: Path) -> list[tuple[int, str, int]]:
    """Return the locks on a file, as far as Linux lists them: the process, device and inode, and the first byte.

    Raises:
        OSError: there is no such file, or no list.
    """
    inode = path.stat().st_ino
    # 1: POSIX ADVISORY READ 77 fd:01:123456 124 124
    rows = [line.split()[-4:-1] for line in _LOCKS.read_text().splitlines()]
    locks = [(int(process), file, int(begin)) for process, file, begin in rows if file.endswith(f":{inode}")]
    return [lock for lock in locks if lock[0] > 0]  # processes of other containers have no number here


def program(process: int) -> str:
    """Return the name of the program that a process runs: of a script rather than of its interpreter."""
    try:
        words = (_PROCESSES / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "unknown"
    is_python = Path(words[0]).name.startswith("python")
    return Path((_script(words[1:]) if is_python else "") or words[0]).name or "unknown"


def _script(words: Iterable[str]) -> str:
    # The script or module that an interpreter of Python runs; empty for code that it was given.
    rest = iter(words)
    for word in rest:
        if word in ("-X", "-W"):
            next(rest, "")
        elif word == "-c":
            return ""
        elif not word.startswith("-"):
            return word
    return ""
