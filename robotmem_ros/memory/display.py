"""Show values: to people as text and HTML, to programs as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape
from typing import Any

from .clocks import FIRST_OF_WALL_CLOCKS, utc

_TIMES = frozenset({"first_seen", "last_seen", "first_absent", "last_accessed"})
"""Fields that are times in nanoseconds, besides those that end with `_at`."""


def is_time(name: str) -> bool:
    """Tell whether a field of this name is a time in nanoseconds since the epoch, if it is a whole number."""
    return name.endswith("_at") or name in _TIMES


def json_values(value: object) -> Any:
    """Turn dataclasses and named tuples into dicts by field; parse fields `<name>_json`; NaN becomes None."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if is_dataclass(value):
        names = [entry.name.removesuffix("_json") for entry in fields(value)]
        value = {name: getattr(value, name) for name in names}
    if isinstance(value, Mapping):
        return {name: json_values(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and math.isnan(value) else value


def position_text(position: Sequence[float]) -> str:
    """Format a position in metres."""
    return f"({', '.join(f'{part:.2f}' for part in position)})"


def place_text(pose: Sequence[float] | None, frame_id: str) -> str:
    """Format the position of a pose with its frame, and a space before it; empty without a pose."""
    return f" at {position_text(pose[:3])} in {frame_id}" if pose else ""


def time_text(time_ns: int) -> str:
    """Format a time of the robot's clock in UTC; a time of a simulation as seconds."""
    return f"{time_ns / 1e9:.3f} s" if time_ns < FIRST_OF_WALL_CLOCKS else f"{utc(time_ns):%Y-%m-%d %H:%M:%S} UTC"


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table as HTML, with what is in its cells escaped."""
    lines = [
        "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row)
        for tag, row in [("th", head), *(("td", row) for row in rows)]
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
