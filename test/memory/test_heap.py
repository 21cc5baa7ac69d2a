"""RAM that was freed goes back to the operating system, which tells how much is free."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robotmem_ros.memory import heap

from ..support.waiting import until
from .conftest import OpenMemory

gives_back = pytest.mark.skipif(
    sys.platform != "linux" or heap._trim is None, reason="the C library gives back free memory on its own"
)
MEMINFO = "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\n"
COUNT, SIZE = 100_000, 1000
MOST = COUNT * SIZE // 2
"""Half of what is freed here, in bytes."""


def resident_bytes() -> int:
    """Return the resident set size of this process."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024


def freed_between_blocks_that_stay() -> list[bytes]:
    """Allocate blocks and free all but each hundredth, which keep the pages between them in the heap."""
    return [bytes(SIZE) for _ in range(COUNT)][::100]


@gives_back
def test_pages_between_blocks_that_stay_are_given_back() -> None:
    """Free pages leave the resident set, and what was kept is as before."""
    kept = freed_between_blocks_that_stay()
    before = resident_bytes()
    assert not heap.release_free_memory()
    assert before - resident_bytes() > MOST
    assert kept == [bytes(SIZE)] * len(kept)


@gives_back
def test_a_memory_at_rest_gives_back(open_memory: OpenMemory) -> None:
    """Maintenance gives back what was freed, though nothing is stored or recalled."""
    with open_memory():
        before = resident_bytes()
        kept = freed_between_blocks_that_stay()
        until(lambda: resident_bytes() - before < MOST, "free memory given back")
        assert len(kept) == COUNT // 100


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_this_machine_tells_how_much_ram_is_free() -> None:
    free = heap.available_bytes()
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
    monkeypatch.setattr(heap, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(heap, "_GROUP", tmp_path)
    assert heap.available_bytes() == free


def test_a_system_that_does_not_tell_sets_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_MEMINFO", tmp_path / "none")
    monkeypatch.setattr(heap, "_GROUP", tmp_path)
    assert heap.available_bytes() is None
