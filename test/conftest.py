"""How random tests draw, in all folders: the same each time, and however long it takes on a machine that is busy.

And which tests begin: those that take long, since at the end nobody would have work beside them.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

LONG = {"test_docs.py", "test_exit.py", "test_oracle.py"}

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("searching", deadline=None, max_examples=2000, database=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)
