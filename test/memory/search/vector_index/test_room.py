"""How much RAM is free, as this machine tells it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robotmem_ros.memory.search.vector_index import room

MEMINFO = "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_this_machine_tells_how_much_ram_is_free() -> None:
    free = room.available_bytes()
    assert free is not None
    assert free > 0


@pytest.mark.parametrize(
    ("limit", "free"), [(None, 600 * 1024), ("max", 600 * 1024), ("500000", 300_000), ("900000000", 600 * 1024)]
)
def test_a_container_has_what_its_limit_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str | None, free: int
) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.stat").write_text("anon 200000\nfile 5000000\n")
    monkeypatch.setattr(room, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(room, "_GROUP", tmp_path)
    assert room.available_bytes() == free


def test_a_system_that_does_not_tell_sets_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_MEMINFO", tmp_path / "none")
    monkeypatch.setattr(room, "_GROUP", tmp_path)
    assert room.available_bytes() is None
