"""Store every fact on its own; other tests cover duplicates in sessions."""

from __future__ import annotations

from functools import partial

import pytest

from ..conftest import OpenMemory


@pytest.fixture
def open_memory(open_memory: OpenMemory) -> OpenMemory:
    """Open memories without deduplication."""
    return partial(open_memory, deduplication="off")
