"""Folders are watched, and what changed while nobody watched is told as well."""

from __future__ import annotations

import threading
from pathlib import Path

from robotmem_ros.memory.notes.watcher import Watcher

from ...support.waiting import until


def test_what_may_have_changed_before_the_watch_began_is_told(tmp_path: Path) -> None:
    told = threading.Event()
    watcher = Watcher([tmp_path], told.set)
    watcher.start()
    try:
        until(told.is_set, "change")
    finally:
        watcher.close()
