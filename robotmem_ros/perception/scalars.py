"""One number or text out of a message, the same whether rclpy or rosbags deserialised it."""

from __future__ import annotations

import math
from typing import Any

_MOST_LISTED = 20


def scalar(value: Any) -> Any:
    """A plain bool, int, float or str.

    Raises:
        TypeError: it is a message, or an array.
    """
    kind = type(value)
    if kind is str or kind is float or kind is int or kind is bool:
        return value
    if isinstance(value, bytes) and len(value) == 1:
        # rclpy's octet.
        return value[0]
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        # An element of a numpy array.
        return value.item()
    raise TypeError(f"{kind.__name__} is neither a number nor text")


def plain_text(value: Any) -> str:
    """A number or text as text without surrounding white space."""
    return value.strip() if isinstance(value, str) else str(scalar(value))


def written(value: Any, spec: str) -> str:
    """A number or text in words, formatted by `spec`; of an array its first 20 elements, with commas."""
    if isinstance(value, (str, float, int)):
        return _written_scalar(value, spec)
    if hasattr(value, "__len__") and not isinstance(value, bytes):
        parts = [_written_scalar(scalar(item), spec) for item in value[:_MOST_LISTED]]
        return ", ".join(parts) + (", …" if len(value) > _MOST_LISTED else "")
    return _written_scalar(scalar(value), spec)


def _written_scalar(value: str | float, spec: str) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "unknown"
        if not spec:
            # What a float32 of 0.3 holds is 0.30000001192.
            return str(round(value, 6))
    return format(value, spec)
