"""Declare a parameter in a table, and check a value for it."""

from __future__ import annotations

from dataclasses import Field, field
from numbers import Integral, Real
from typing import TypeVar

from .. import validation
from ..errors import InvalidFieldError

Value = bool | int | float | str | tuple[str, ...]
_T = TypeVar("_T", bound=Value)


def parameter(
    default: _T,
    description: str,
    *,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = False,
) -> _T:
    """Declare a row of the table: a dataclass field with its unit, its range (both ends included) or its choices.

    A `read_only` parameter cannot be changed while the memory is open.
    """
    metadata = {
        "description": description,
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "read_only": read_only,
    }
    value: _T = field(default=default, metadata=metadata)
    return value


def check_value(entry: Field[Value], value: object, name: str = "") -> Value:
    """Return the value of a parameter in its declared type, a number as Python's own; a float may be given as an int.

    Raises:
        InvalidFieldError: the type is wrong or the value lies outside the range; named as `name`, else as the field.
    """
    name = name or entry.name
    kind = type(entry.default)
    if kind is float and isinstance(value, Real) and not isinstance(value, bool):
        value = validation.number(name, value)
    elif kind is int and isinstance(value, Integral) and not isinstance(value, bool):
        value = validation.whole(name, value)
    if isinstance(entry.default, tuple):
        return _checked_list(name, value)
    if type(value) is not kind:
        raise InvalidFieldError(name, value, f"must be of type {kind.__name__}")
    limits = entry.metadata
    if limits["choices"] and value not in limits["choices"]:
        raise InvalidFieldError(name, value, f"must be one of {', '.join(limits['choices'])}")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and limits["minimum"] is not None:
        low, high = limits["minimum"], limits["maximum"]
        if not low <= value <= high:
            raise InvalidFieldError(name, value, f"must lie in {low} to {high} {limits['unit']}".rstrip())
    if isinstance(value, str) and ("\0" in value or not value.isprintable()):
        raise InvalidFieldError(name, value, "must be printable text")
    return value  # type: ignore[return-value]


def _checked_list(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise InvalidFieldError(name, value, "must be a list of texts")
    # ROS has no empty list of texts: [""] stands for it.
    texts = tuple(item for item in value if item)
    for item in texts:
        if not item.isprintable():
            raise InvalidFieldError(name, item, "must be printable text")
    return texts
