"""Why the oracle gives no result."""

from __future__ import annotations


class InvalidQueryError(Exception):
    """The query is invalid."""


class UndecidedError(Exception):
    """The result depends on rounding: two texts equally near in single precision, or a number at a limit."""
