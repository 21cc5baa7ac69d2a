"""Which files this process has open, and which ones it inherited open from a process that forked it.

The locks of SQLite belong to a process, but what SQLite notes about them in RAM is copied by a fork. A connection that
a child opens to a file of its parent therefore takes no lock, and what it writes can be lost. See "How To Corrupt An
SQLite Database File", section 2.6.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..errors import DatabaseUnusableError


class _OpenFile(NamedTuple):
    process: int
    device: int
    inode: int


_open_files: dict[object, _OpenFile] = {}


def note_open(path: Path) -> object:
    """Note that this process opens a file; `note_closed` wants what this returns.

    Raises:
        DatabaseUnusableError: it was open in the process that forked this one.
        OSError: there is no such file.
    """
    status = path.stat()
    mine = _OpenFile(os.getpid(), status.st_dev, status.st_ino)
    if any(other[1:] == mine[1:] and other.process != mine.process for other in list(_open_files.values())):
        raise DatabaseUnusableError(
            path,
            "was open when this process was forked, and the locks of SQLite do not hold here",
            "fork before it is opened, or start a new interpreter (multiprocessing: spawn)",
        )
    token = object()
    _open_files[token] = mine
    return token


def note_closed(token: object) -> None:
    """Note that all connections are closed that belong to a token of `note_open`."""
    _open_files.pop(token, None)
