"""RAM that was freed goes back to the operating system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robotmem_ros.memory import heap

from ..support.waiting import until
from .conftest import OpenMemory

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or heap._trim is None, reason="the C library gives back free memory on its own"
)
COUNT, SIZE = 100_000, 1000
MOST = COUNT * SIZE // 2
"""Half of what is freed here, in bytes."""


def resident_bytes() -> int:
    """Return the resident set size of this process."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024


def freed_between_blocks_that_stay() -> list[bytes]:
    """Allocate blocks and free all but each hundredth, which keep the pages between them in the heap."""
    return [bytes(SIZE) for _ in range(COUNT)][::100]


def test_pages_between_blocks_that_stay_are_given_back() -> None:
    """Free pages leave the resident set, and what was kept is as before."""
    kept = freed_between_blocks_that_stay()
    before = resident_bytes()
    assert not heap.release_free_memory()
    assert before - resident_bytes() > MOST
    assert kept == [bytes(SIZE)] * len(kept)


def test_a_memory_at_rest_gives_back(open_memory: OpenMemory) -> None:
    """Maintenance gives back what was freed, though nothing is stored or recalled."""
    with open_memory():
        before = resident_bytes()
        kept = freed_between_blocks_that_stay()
        until(lambda: resident_bytes() - before < MOST, "free memory given back")
        assert len(kept) == COUNT // 100
