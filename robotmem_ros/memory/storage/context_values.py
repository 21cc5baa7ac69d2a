"""What a context holds by dot path: values that conditions look up, and points for the R*Tree.

A name that is empty or contains a dot cannot be addressed by a path and is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

_INT64 = 2**63


def json_values(context: object) -> list[tuple[str, object]]:
    """The values of a context with their dot paths, objects and lists among them."""
    found: list[tuple[str, object]] = []
    if isinstance(context, dict):
        _collect(context, "", found)
    return found


def points(context: object) -> list[tuple[str, list[float]]]:
    """The arrays of two or three numbers under `spatial`, with their dot paths."""
    spatial = context.get("spatial") if isinstance(context, dict) else None
    return list(_arrays(spatial, "spatial")) if isinstance(spatial, dict) else []


def stored(value: object) -> object:
    """A value as the index has it: numbers and texts as such, the rest as a blob, see schema.sql."""
    kind = type(value)
    if kind is str or kind is float:
        return value
    if kind is bool:
        return b"\x01" if value else b"\x00"
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else float(value)
    return b"" if value is None else b"[" if kind is list else b"{"


def _collect(value: dict[str, object], prefix: str, found: list[tuple[str, object]]) -> None:
    for name, item in value.items():
        if name and "." not in name:
            found.append((prefix + name, item))
            if isinstance(item, dict):
                _collect(item, f"{prefix}{name}.", found)


def _arrays(value: dict[str, object], path: str) -> Iterator[tuple[str, list[float]]]:
    for name, item in value.items():
        if not name or "." in name:
            continue
        if isinstance(item, dict):
            yield from _arrays(item, f"{path}.{name}")
        elif isinstance(item, list) and len(item) in (2, 3) and all(_is_number(part) for part in item):
            yield f"{path}.{name}", [float(part) for part in item]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
