"""Declare the fields of a request with what the doors tell about them: command line and tools for agents."""

from __future__ import annotations

from dataclasses import Field, field, fields
from typing import Any, NamedTuple


class Range(NamedTuple):
    """The least and the greatest value of a number, both included."""

    low: float
    high: float


def argument(
    default: object, about: str, *, within: tuple[float, float] | None = None, limit: str | int = "", entries: int = 0
) -> Any:
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one.

    `within` are the least and the greatest value of a number, `limit` is the largest length of a text or the parameter
    that has it, `entries` is the largest number of entries of a list. The room that checks the argument knows them as
    well: here they are for the doors to describe.
    """
    bounds = {"range": within and Range(*within), "limit": limit, "entries": entries}
    return field(default=default, metadata={"about": about, **bounds})


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request, those first that a caller may give without their names."""
    return sorted(fields(request), key=lambda one: bool(one.kw_only))
