"""Read and write dot paths into a context.

A key stands in a path as it is, or in double quotes as a JSON string, as in `params."max.speed"`. So it must if it is
empty, contains a dot, or begins with a double quote. Each path has one form in which it is stored and compared, that of
`join`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from .argument import MAX_DEPTH
from .errors import InvalidFieldError
from .validation import MAX_COORDINATE, position_numbers

_Values = Sequence[tuple[str, object]]
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"(?=\.|\Z)|[^".][^.]*', re.DOTALL)
_PLAIN = re.compile(r'[^".$\x00-\x1f][^.\x00-\x1f]*')
_RULE = (
    "is no dot path such as task.success; a key that is empty, has a dot or begins with a quote stands in double "
    'quotes, such as params."max.speed"'
)


@lru_cache(maxsize=256)
def split(path: str) -> tuple[str, ...]:
    """Return the keys on a path, the outermost first.

    Raises:
        ValueError: it is no path, or no context can have it; says why in words that follow the path.
    """
    keys, at = [], 0
    while at <= len(path):
        match = _KEY.match(path, at)
        if match is None:
            raise ValueError(_RULE)
        keys.append(_unquoted(match[0]))
        at = match.end() + 1  # behind the dot
    if len(keys) > MAX_DEPTH:
        raise ValueError(f"has {len(keys)} keys, and a context at most {MAX_DEPTH} within each other")
    return tuple(keys)


def check(field: str, path: object) -> None:
    """Check that a field holds a path.

    Raises:
        InvalidFieldError: it does not.
    """
    try:
        split(path if isinstance(path, str) else "")
    except ValueError as problem:
        raise InvalidFieldError(field, path, str(problem)) from None


def join(keys: Iterable[str]) -> str:
    """Return the path of some keys, with quotes where they are needed."""
    return ".".join(map(quote, keys))


def quote(key: str) -> str:
    """Return a key as a path has it."""
    # What begins with $ would be an operator at the beginning of a path; space around a path may be left out.
    return key if _PLAIN.fullmatch(key) and key == key.strip() else json.dumps(key, ensure_ascii=False)


def in_context(name: str) -> str:
    """Return the path into the context that a name means, which may begin with `context.`; as `join` writes it.

    Raises:
        ValueError: it is no path.
    """
    return join(split(name.removeprefix("context.")))


def _unquoted(text: str) -> str:
    try:
        key: str = json.loads(text, strict=False) if text.startswith('"') else text
        key.encode()
    except UnicodeEncodeError:
        raise ValueError("has half of a character (a lone surrogate)") from None
    except ValueError:
        raise ValueError(_RULE) from None
    if "\0" in key:
        raise ValueError("has a NUL character")
    return key


@lru_cache(maxsize=64)
def values_of(context: str) -> _Values:
    """Return the values of a context with their dot paths, objects and lists among them."""
    values: list[tuple[str, object]] = []
    root = {} if context == "{}" else json.loads(context)
    if isinstance(root, dict):
        _collect(root, "", values)
    return values


def points(values: _Values) -> Iterator[tuple[str, list[float]]]:
    """Return the arrays of two or three numbers among the values of a context, with their dot paths.

    Arrays with numbers too large for a position, such as a window of times, are left out.
    """
    for path, value in values:
        if (numbers := position_numbers(value)) is not None and all(abs(part) <= MAX_COORDINATE for part in numbers):
            yield path, numbers


def _collect(value: dict[str, object], prefix: str, values: list[tuple[str, object]]) -> None:
    for name, item in value.items():
        path = prefix + quote(name)
        values.append((path, item))
        if isinstance(item, dict):
            _collect(item, f"{path}.", values)
