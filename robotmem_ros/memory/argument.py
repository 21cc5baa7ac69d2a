"""Declare the fields of a request with what the doors tell about them: command line and tools for agents."""

from __future__ import annotations

from dataclasses import Field, field, fields
from typing import Any


def argument(default: object, about: str) -> Any:
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one."""
    return field(default=default, metadata={"about": about})


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request, those first that a caller may give without their names."""
    return sorted(fields(request), key=lambda one: bool(one.kw_only))
