"""Declare the arguments of verbs as fields of a request, with what doors tell about them, and let verbs take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, field, fields
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast

from .errors import did_you_mean

_TIMES = frozenset({"after", "before", "observed_at", "received_at"})
"""Arguments that are times."""


class _Clocked(Protocol):
    """Owner of verbs, which reads times by the robot's clock."""

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch."""


P = ParamSpec("P")
S = TypeVar("S", bound=_Clocked)
T = TypeVar("T")
V = TypeVar("V")


class Range(NamedTuple):
    """The least and the greatest value of a number, both included."""

    low: float
    high: float


def argument(
    default: object, about: str, *, within: tuple[float, float] | None = None, limit: str | int = "", entries: int = 0
) -> Any:
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one.

    `within` are the least and the greatest value of a number, `limit` is the largest length of a text or the parameter
    that has it, `entries` is the largest number of entries of a list. The room that checks the argument knows them as
    well: here they are for the doors to describe.
    """
    bounds = {"range": within and Range(*within), "limit": limit, "entries": entries}
    return field(default=default, metadata={"about": about, **bounds})


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request that doors offer, those first that a caller may give without their names."""
    return sorted(
        (entry for entry in fields(request) if "about" in entry.metadata), key=lambda entry: bool(entry.kw_only)
    )


def takes(value: Callable[P, V]) -> Callable[[Callable[[S, V], T]], Callable[Concatenate[S, P], T]]:
    """Let a method that takes a value take the fields of the value as its arguments.

    With `@takes(NewFact) def learn(self, fact)`, `memory.learn(insight="...")` calls it with `NewFact(insight="...")`.
    `help()` and type checkers show the fields. Times are read as `moment` does.
    """
    of_value = inspect.signature(value)

    def taking_fields(method: Callable[[S, V], T]) -> Callable[Concatenate[S, P], T]:
        @wraps(method)
        def call(self: S, /, *arguments: P.args, **keywords: P.kwargs) -> T:
            try:
                fields_of_value: dict[str, Any] = of_value.bind(*arguments, **keywords).arguments
            except TypeError as error:
                unknown = next((name for name in keywords if name not in of_value.parameters), None)
                guess = did_you_mean(unknown, of_value.parameters) if unknown else ""
                raise TypeError(f"{method.__name__}(): {error}{guess}") from None
            for name in _TIMES & fields_of_value.keys():
                if (value_of_time := fields_of_value[name]) is not None:
                    fields_of_value[name] = self.moment(name, value_of_time)
            return method(self, cast(Callable[..., V], value)(**fields_of_value))

        of_method = inspect.signature(method)
        parameters = [next(iter(of_method.parameters.values())), *of_value.parameters.values()]
        call.__signature__ = of_method.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return taking_fields
