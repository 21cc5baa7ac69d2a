"""One key of a topic's configuration: how the table declares it, and how a value for it is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, field
from typing import Any, TypeVar

from ..memory.errors import InvalidFieldError

Value = str | float | int | bool | tuple[str, ...] | Mapping[str, object]
_T = TypeVar("_T", bound=Value)


def key(
    default: _T,
    description: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    source: bool = False,
) -> Any:
    """A row of the table: a field of a dataclass with its unit, its range (both ends included) or its choices."""
    metadata = {
        "description": description, "unit": unit, "low": low, "high": high, "choices": choices, "source": source,
    }  # fmt: skip
    # A mapping is no hashable default.
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def source(description: str) -> Any:
    """A row whose value says where in a message something is; empty for nowhere."""
    return key("", description, source=True)


def sources(description: str) -> Any:
    """A row whose value is one source or a list of them."""
    return key((), description, source=True)


def checked(key: str, row: Field[Any], value: object) -> Value:
    """The value of a key in its declared type; a whole number is welcome where a float is wanted.

    Raises:
        InvalidFieldError: the type is wrong or the value lies outside the range; named as `key`.
    """
    if row.name in {"context", "only"}:
        return _checked_mapping(key, row.name, value)
    if row.name == "confidence" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _checked_number(key, float(value), 0.0, 1.0, "")
    default = row.default
    if isinstance(default, tuple):
        if row.metadata["source"] and isinstance(value, str):
            value = (value,)
        return _checked_list(key, value)
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise InvalidFieldError(key, value, f"must be of type {type(default).__name__}")
    limits = row.metadata
    if limits["choices"] and value not in limits["choices"]:
        raise InvalidFieldError(key, value, f"must be one of {', '.join(limits['choices'])}")
    if isinstance(value, (int, float)) and limits["low"] is not None:
        return _checked_number(key, value, limits["low"], limits["high"], limits["unit"])
    if isinstance(value, str) and "\0" in value:
        raise InvalidFieldError(key, value, "contains a NUL character")
    return value  # type: ignore[return-value]


def _checked_number(key: str, value: float, low: float, high: float, unit: str) -> float:
    if not (math.isfinite(value) and low <= value <= high):
        raise InvalidFieldError(key, value, f"must lie in {low:g} to {high:g} {unit}".rstrip())
    return value


def _checked_list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise InvalidFieldError(key, value, "must be a list of texts")
    return tuple(item for item in value if item)


def _checked_mapping(key: str, name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidFieldError(key, value, "must be a mapping")
    for inner, item in value.items():
        if not isinstance(inner, str) or not all(inner.split(".")):
            raise InvalidFieldError(key, inner, "is no dotted name")
        parts = item if name == "only" and isinstance(item, (list, tuple)) else [item]
        allowed = (str, int, float) if name == "only" else (str,)
        if not all(isinstance(part, allowed) for part in parts):
            raise InvalidFieldError(
                f"{key}.{inner}", item, f"must be {'text or numbers' if name == 'only' else 'text'}"
            )
    return {inner: item for inner, item in value.items() if item not in {"", ()}} if name == "context" else dict(value)
