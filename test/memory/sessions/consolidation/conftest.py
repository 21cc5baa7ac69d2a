"""Store every fact on its own, so that there are duplicates to consolidate."""

from __future__ import annotations

from functools import partial

import pytest

from ...conftest import OpenMemory


@pytest.fixture
def open_memory(open_memory: OpenMemory) -> OpenMemory:
    """Open memories without deduplication."""
    return partial(open_memory, deduplicate=False)
