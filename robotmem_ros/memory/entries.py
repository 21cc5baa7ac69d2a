"""Read the entries of a verb that stores many memories: each has the arguments of the verb that stores a single one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TypeVar

from .argument import read_times
from .errors import InvalidFieldError, did_you_mean
from .models import NewMemory

R = TypeVar("R")
Entries = Iterable[Mapping[str, object] | str]
"""Mappings with the arguments of one memory each; a text stands for a memory with nothing but that text."""
Progress = Callable[[int, int], object]
"""Is told how many of the entries are done, and how many there are."""
_SHAPE = "must be a mapping with the arguments of a memory, or its text alone"


def read_entries(
    field: str,
    entries: Entries,
    request: type[R],
    check: Callable[[R], NewMemory],
    moment: Callable[[str, object], int],
) -> list[NewMemory]:
    """Check all entries; `request` has their arguments, and `moment` reads a time.

    Raises:
        InvalidFieldError: an entry cannot be used; the field is named with its index, such as `facts[3].confidence`.
    """
    if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Iterable):
        raise InvalidFieldError(field, entries, f"must be a list; each entry {_SHAPE}")
    return [_read(f"{field}[{index}]", entry, request, check, moment) for index, entry in enumerate(entries)]


def _read(
    place: str, entry: object, request: type[R], check: Callable[[R], NewMemory], moment: Callable[[str, object], int]
) -> NewMemory:
    text, *others = (argument.name for argument in fields(request))  # type: ignore[arg-type]
    values = {text: entry} if isinstance(entry, str) else entry
    if not isinstance(values, Mapping):
        raise InvalidFieldError(place, entry, _SHAPE)
    for name in values:
        if name not in {text, *others}:
            near = did_you_mean(str(name), [text, *others])
            raise InvalidFieldError(f"{place}.{name}", values[name], f"is no argument of a memory{near}")
    try:
        return check(request(**{text: None, **read_times(values, moment)}))
    except InvalidFieldError as error:
        raise InvalidFieldError(f"{place}.{error.field}", error.value, error.expected) from error
