"""Lessons that say the same are kept apart here when they are learned, so that there is something to consolidate."""

from __future__ import annotations

from functools import partial

import pytest

from ..conftest import OpenMemory


@pytest.fixture
def open_memory(open_memory: OpenMemory) -> OpenMemory:
    """Opens memories that store each lesson."""
    return partial(open_memory, deduplicate=False)
