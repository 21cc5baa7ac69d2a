"""The physical parameters of a lesson, as its context holds them: `{"grip_force": {"value": 12.5, "unit": "N"}}`."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import Decision
from .quantities import Quantity

_MOST = 32


def physical_parameters(found: Sequence[Quantity]) -> tuple[dict[str, dict[str, object]], list[Decision]]:
    """The parameters by name, and how each got its name. A range has `min` and `max` instead of `value`.

    A number without a unit is a parameter only where a name is written with it, as in `max_retries=3`. A second value
    of one name is called `<name>_2`.
    """
    parameters: dict[str, dict[str, object]] = {}
    decisions = []
    for one in found:
        if not one.name or len(parameters) >= _MOST:
            continue
        name, count = one.name, 1
        while name in parameters:
            count += 1
            name = f"{one.name}_{count}"
        value: dict[str, object] = {"value": _plain(one.value)}
        if one.upper is not None:
            value = {"min": _plain(one.value), "max": _plain(one.upper)}
        parameters[name] = {**value, "unit": one.unit}
        shown = " to ".join(f"{number:g}" for number in (one.value, one.upper) if number is not None)
        decisions.append(Decision(f"params.{name}", f"{shown} {one.unit}".strip(), f"parameter.{one.rule}"))
    return parameters, decisions


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
