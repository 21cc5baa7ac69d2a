"""Declare each argument of a verb once, as a field of its request, with what every door tells and checks about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from functools import wraps
from typing import Any, NamedTuple

from .bounds import MAX_NAMES
from .errors import did_you_mean
from .times import Time

Json = Mapping[str, object] | str | None
"""A JSON object, or its text; none is an empty one."""
Names = Iterable[str] | str | None
"""Names, any of which will do; a single one does for a list of one, and none is no condition."""
Where = Mapping[str, object] | Iterable[float] | str | None
"""A place as an object with a `target`, or the two or three numbers of the target alone; both also as a text."""


class Range(NamedTuple):
    """The least and the greatest value of a number, both included."""

    low: float
    high: float


def argument(
    default: object, about: str, example: str = "", *, within: tuple[float, float] | None = None, limit: str | int = "",
    entries: int = 0, only_python: bool = False, in_repr: bool = True,
    condition: Callable[[Any, str], object] | None = None,
) -> Any:  # fmt: skip
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one.

    `example` is a value as Python writes it. `within` are the least and the greatest value of a number, `limit` is the
    largest length of a text or the parameter that has it, `entries` is the largest number of entries of a list. The
    room that checks the argument knows them as well: here they are for the doors to describe. What is `only_python` is
    offered by no door. `condition` reads a condition of a query from the request and the name of the field.
    """
    told = {"about": about, "example": example, "only_python": only_python, "condition": condition}
    bounds = {"range": within and Range(*within), "limit": limit, "entries": entries}
    return field(default=default, repr=in_repr, metadata={**told, **bounds})


def names(about: str, example: str, *, condition: Callable[[Any, str], object]) -> Any:
    """Declare a condition of several names, none by default."""
    return argument((), about, example, entries=MAX_NAMES, condition=condition)


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request that doors offer, those first that a caller may give without their names."""
    offered = (entry for entry in fields(request) if not entry.metadata.get("only_python", True))
    return sorted(offered, key=lambda entry: bool(entry.kw_only))


def is_time(entry: Field[Any]) -> bool:
    """Tell whether an argument is a time."""
    return str(entry.type).startswith("Time")


def read_times(
    request: type, values: Mapping[str, object], moment: Callable[[str, object], int]
) -> dict[str, Any]:  # fmt: skip
    """Return arguments of a request with each time as `moment` reads it, in nanoseconds since the epoch."""
    names = [entry.name for entry in fields(request) if is_time(entry)]
    return {**values, **{name: moment(name, values[name]) for name in names if values.get(name) is not None}}


class Verbs:
    """Base of the classes whose verbs are written out: `recall(...)` makes the request that `_recall` takes."""

    def __init_subclass__(cls) -> None:
        for name, verb in list(vars(cls).items()) if Verbs in cls.__bases__ else ():
            if f"_{name}" in vars(cls):
                setattr(cls, name, _guessing(verb))

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch; raises InvalidFieldError."""
        raise NotImplementedError

    def _time(self, field: str, value: Time | None) -> int | None:
        return None if value is None else self.moment(field, value)


def _guessing(verb: Callable[..., Any]) -> Callable[..., Any]:
    # An unknown argument gets the nearest name, as from Python itself since 3.13.
    names = inspect.signature(verb).parameters.keys()

    @wraps(verb)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for name in keywords.keys() - names:
            problem = f"got an unexpected keyword argument {name!r}{did_you_mean(name, names)}"
            raise TypeError(f"{verb.__name__}() {problem}")
        return verb(*arguments, **keywords)

    return call
