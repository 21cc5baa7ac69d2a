"""Watch folders for changes, with watchfiles; and the lock that lets one process of all do so for a database."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where each process reads the folders
    fcntl = None  # type: ignore[assignment]

_DEBOUNCE, _QUIET = 1500, 300
"""Milliseconds: changes are told after a pause, or after this time at the latest while they go on."""
_LOOK = 5000
"""Milliseconds after which the folders are looked at themselves: they may be mounted, or others now."""
_RETRY = 60.0
_LOG = logging.getLogger(__name__)


class KeeperLock:
    """Decides which of the processes that have a database open keeps its notes: the first one, until it ends.

    It locks the file `<database>.notes-lock`; the kernel gives that back however the process ends.
    """

    def __init__(self, database: Path | None) -> None:
        self._path = database.with_name(f"{database.name}.notes-lock") if database else None
        self._file: int | None = None
        self.is_held = self._path is None or fcntl is None

    def take(self) -> bool:
        """Take the lock if it is free; return whether it is held by this object."""
        if not self.is_held and self._path is not None:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True
        return self.is_held

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self.is_held = False


def missing() -> str:
    """Return why folders cannot be watched; empty if they can."""
    if importlib.util.find_spec("watchfiles") is not None:
        return ""
    return "watchfiles is not installed (pip install 'robotmem_ros[notes]'); changes of notes are found by interval"


class Watcher:
    """Calls `changed` when something changes in folders, from `start` to `close`."""

    def __init__(self, folders: Sequence[Path], changed: Callable[[], None]) -> None:
        self._folders = folders
        self._changed = changed
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble = missing()
        """Why changes are not noticed; empty if they are."""

    @property
    def is_watching(self) -> bool:
        """Tell whether changes are noticed."""
        return self._thread is not None and not self.trouble

    def start(self) -> None:
        """Watch from now on; a second call does nothing."""
        if self._thread is None and not missing() and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="robotmem-notes", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            there = self._there()
            try:
                self._watch(there)
                self.trouble = ""
            except Exception as error:
                # Too many files for inotify, or a folder that went away: the next search by interval finds changes.
                if self._there() == there:
                    self.trouble = f"folders of notes cannot be watched ({error}); changes are found by interval"
                    _LOG.warning("%s", self.trouble)
                    self._stop.wait(_RETRY)
            if not self._stop.is_set():
                self._changed()

    def _watch(self, there: Sequence[tuple[Path, int, int]]) -> None:
        # Until the folders are others than these.
        from watchfiles import watch

        if not there:
            while not self._stop.wait(_LOOK / 1000) and not self._there():
                pass
            return
        is_new = True  # what changed since the last search, before there was a watch, was told by nobody
        for changes in watch(
            *(path for path, _, _ in there), debounce=_DEBOUNCE, step=_QUIET, rust_timeout=_LOOK, stop_event=self._stop,
            yield_on_timeout=True, raise_interrupt=False, ignore_permission_denied=True,
        ):  # fmt: skip
            if self._there() != there:
                return
            if changes or is_new:
                self._changed()
            is_new = False

    def _there(self) -> list[tuple[Path, int, int]]:
        found = []
        for path in self._folders:
            try:
                status = path.stat()
            except OSError:
                continue
            found.append((path, status.st_dev, status.st_ino))
        return found
