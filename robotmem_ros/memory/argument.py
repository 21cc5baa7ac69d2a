"""Declare the arguments of verbs as fields of a request, with what doors and `help` tell about them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields
from functools import wraps
from textwrap import fill
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from .errors import did_you_mean

Json = Mapping[str, object] | str | None
"""A JSON object, or its text; none is an empty one."""
_TIMES = frozenset({"after", "before", "observed_at", "received_at"})
"""Arguments that are times."""
_SHAPES = {
    "Time | None": "nanoseconds since the epoch, a datetime, a text, or a timedelta before now",
    "Where": "x, y and z in metres, or an object with `target`, `max_distance`, `frame_id` and `field`",
}
"""Forms of values by the type of an argument in Python, where `about` tells every door's."""
_WIDTH = 100


class _Clocked(Protocol):
    """Owner of verbs, which reads times by the robot's clock."""

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch."""


V = TypeVar("V", bound=Callable[..., Any])


class Range(NamedTuple):
    """The least and the greatest value of a number, both included."""

    low: float
    high: float


def argument(
    default: object, about: str, example: str = "", *, within: tuple[float, float] | None = None, limit: str | int = "",
    entries: int = 0, only_python: bool = False, in_repr: bool = True,
) -> Any:  # fmt: skip
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one.

    `example` is a value as Python writes it. `within` are the least and the greatest value of a number, `limit` is the
    largest length of a text or the parameter that has it, `entries` is the largest number of entries of a list. The
    room that checks the argument knows them as well: here they are for the doors to describe. What is `only_python` is
    offered by no door.
    """
    told = {"about": about, "example": example, "only_python": only_python}
    bounds = {"range": within and Range(*within), "limit": limit, "entries": entries}
    return field(default=default, repr=in_repr, metadata={**told, **bounds})


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request that doors offer, those first that a caller may give without their names."""
    offered = (entry for entry in fields(request) if not entry.metadata.get("only_python", True))
    return sorted(offered, key=lambda entry: bool(entry.kw_only))


def arguments_in(names: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a method that has bound no other names yet, of its `locals()`."""
    return {name: value for name, value in names.items() if name != "self"}


def read_times(values: Mapping[str, object], moment: Callable[[str, object], int]) -> dict[str, Any]:
    """Return arguments with each time as `moment` reads it, in nanoseconds since the epoch."""
    times = {name: moment(name, values[name]) for name in _TIMES & values.keys() if values[name] is not None}
    return {**values, **times}


def takes(request: type) -> Callable[[V], V]:
    """Let a method with the arguments of a request read times by the clock, and tell about them.

    The signature is written out, for people, editors and type checkers; a test holds it to the fields of the request.
    Times are read as `moment` does, `help()` tells about each argument, and an unknown one gets a near name.
    """

    def reading_times(method: V) -> V:
        signature = inspect.signature(method)
        in_order = [name for name, entry in signature.parameters.items() if entry.kind is not entry.KEYWORD_ONLY]
        required = {name for name, entry in signature.parameters.items() if entry.default is entry.empty}

        def check(*arguments: Any, **keywords: Any) -> None:
            try:
                signature.bind(*arguments, **keywords)
            except TypeError as error:
                unknown = next((name for name in keywords if name not in signature.parameters), None)
                guess = did_you_mean(unknown, signature.parameters) if unknown else ""
                raise TypeError(f"{method.__name__}(): {error}{guess}") from None

        @wraps(method)
        def call(self: _Clocked, /, *arguments: Any, **keywords: Any) -> Any:
            values = {**dict(zip(in_order, (self, *arguments), strict=False)), **keywords}
            is_bound = len(values) == 1 + len(arguments) + len(keywords)
            if not is_bound or not required <= values.keys() <= signature.parameters.keys():
                check(self, *arguments, **keywords)  # which takes long
            return method(**read_times(values, self.moment))

        text, raises, errors = inspect.cleandoc(method.__doc__ or "").partition("\nRaises:")
        by_name = {entry.name: entry for entry in fields(request)}
        lines = [_line(by_name[name]) for name in signature.parameters if name in by_name]
        call.__doc__ = "\n".join((text.rstrip(), "", "Args:", *lines, "")) + raises + errors
        return cast(V, call)

    return reading_times


def _line(entry: Field[Any]) -> str:
    shape = _SHAPES.get(str(entry.type))
    about = f"{entry.metadata['about']}{f' ({shape})' if shape else ''}"
    text = f"{entry.name}: {about}. Example: {entry.name}={entry.metadata['example']}"
    return fill(text, _WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
