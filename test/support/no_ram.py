"""A machine without RAM to spare, as its operating system tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import heap


def leave_no_ram(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the files of the operating system tell that 100 MB are free."""
    (folder / "meminfo").write_text("MemTotal:  4000000 kB\nMemAvailable:  102400 kB\n")
    patch.setattr(heap, "_MEMINFO", folder / "meminfo")
