"""How many examples a random test draws."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""Examples of a test that names no number of its own."""


def examples(number: int) -> int:
    """Return this number for a run of all tests, else the share of it that the profile of the run draws."""
    return max(number * settings().max_examples // USUAL, 1)
