"""How random tests draw, in all folders: the same each time, and however long it takes on a machine that is busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("searching", deadline=None, max_examples=2000, database=None)
settings.load_profile("repeatable")
