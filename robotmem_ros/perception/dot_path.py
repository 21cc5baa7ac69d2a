"""Compile dot paths into messages: `pose.pose.position`, `results.0.hypothesis.class_id`.

A path starts at the element that is looked at (the message itself where no array is iterated); `/header.stamp` starts
at the message, `.` is the element as a whole. `results.best(hypothesis.score)` is the element of an array with the
highest value, the first of equals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from .errors import NoValueError, PathError
from .message_types import NUMBERS, FieldType, TypeDescription

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
_BEST = re.compile(r"best\(([^()]*)\)")
_DOT_OUTSIDE_PARENTHESES = re.compile(r"\.(?![^()]*\))")

_Get = Callable[[Any], Any]


class DotPath:
    """A path to one value.

    Raises:
        PathError: the text is no path.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._from_message = text.startswith("/")
        relative = text[1:] if self._from_message else text
        whole = relative == "." or (self._from_message and not relative)
        self._steps = [] if whole else _DOT_OUTSIDE_PARENTHESES.split(relative)
        self._getters = _compiled(text, self._steps)

    def __repr__(self) -> str:
        return f"DotPath({self.text!r})"

    def read(self, element: Any, message: Any) -> Any:
        """Return the value in an element of a message.

        Raises:
            NoValueError: an array on the way is too short.
            AttributeError: the message is not of the type the path was checked against.
        """
        value = message if self._from_message else element
        for get in self._getters:
            value = get(value)
        return value

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value that the path leads to.

        Raises:
            PathError: it leads to no field; the message lists the fields that exist.
            UnknownTypeError: a type on the way is not known.
        """
        current = message if self._from_message else element
        for done, step in enumerate(self._steps):
            where = f"{current} (at '{'.'.join(self._steps[:done])}')" if done else str(current)
            if _NAME.fullmatch(step):
                current = self._checked_field(types, current, step, where)
            else:
                current = self._checked_element(types, current, step, where)
        return current

    def _checked_field(self, types: TypeDescription, current: FieldType, step: str, where: str) -> FieldType:
        if current.is_array:
            raise PathError(self.text, f"asks {where} for {step!r}; choose an element, such as '0.{step}'")
        if not current.is_message:
            raise PathError(self.text, f"asks {where} for {step!r}, but that has no fields")
        fields = types.fields(current.name)
        if step not in fields:
            raise PathError(self.text, f"asks {where} for {step!r}; it has {', '.join(fields) or 'no fields'}")
        return fields[step]

    def _checked_element(self, types: TypeDescription, current: FieldType, step: str, where: str) -> FieldType:
        if not current.is_array:
            has = f"; it has {', '.join(types.fields(current.name))}" if current.is_message else ""
            raise PathError(self.text, f"asks {where} for {step!r}, but that is no array{has}")
        if best := _BEST.fullmatch(step):
            value = DotPath(best[1]).check(types, current.element, current.element)
            if value.is_array or value.name not in NUMBERS:
                raise PathError(self.text, f"compares by {best[1]!r}, which is {value} and no number")
        elif current.length is not None and int(step) >= current.length:
            raise PathError(self.text, f"asks {where} for element {step}, but the last one is {current.length - 1}")
        return current.element


def _compiled(text: str, steps: list[str]) -> tuple[_Get, ...]:
    getters: list[_Get] = []
    names: list[str] = []
    for step in steps:
        if _NAME.fullmatch(step):
            names.append(step)
            continue
        if names:
            getters.append(attrgetter(".".join(names)))
            names = []
        if _INDEX.fullmatch(step):
            getters.append(_element(int(step)))
        elif best := _BEST.fullmatch(step):
            getters.append(_best(DotPath(best[1])))
        else:
            raise PathError(text, f"is no path: {step!r} is neither a field, an index, nor best(field)")
    if names:
        getters.append(attrgetter(".".join(names)))
    return tuple(getters)


def _element(index: int) -> _Get:
    def get(array: Any) -> Any:
        try:
            return array[index]
        except IndexError:
            raise NoValueError(f"the array has {len(array)} elements") from None

    return get


def _best(key: DotPath) -> _Get:
    def rank(element: Any) -> float:
        value = float(key.read(element, element))
        return -math.inf if math.isnan(value) else value

    def get(array: Any) -> Any:
        if len(array) == 0:
            raise NoValueError("the array is empty")
        return array[0] if len(array) == 1 else max(array, key=rank)

    return get
