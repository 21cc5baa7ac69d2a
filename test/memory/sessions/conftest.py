"""Lessons that say the same are kept apart here when they are learned; what they do to episodes is asked elsewhere."""

from __future__ import annotations

from functools import partial

import pytest

from ..conftest import OpenMemory


@pytest.fixture
def open_memory(open_memory: OpenMemory) -> OpenMemory:
    """Opens memories that store each lesson."""
    return partial(open_memory, deduplicate=False)
