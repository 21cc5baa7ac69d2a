"""Compile the sources of values in messages: dot paths, templates and constants.

A dot path such as `pose.pose.position` or `results.0.hypothesis.class_id` starts at the element that is looked at (the
message itself where no array is iterated); `/header.stamp` starts at the message, `.` is the element as a whole.
`results.best(hypothesis.score)` is the element of an array with the highest value, the first of equals; in
`/marker_ids.[i]`, `[i]` has the number that the element has in the array of `each`, for arrays that lie side by side.
`confidence * 0.01` is a number, or each number of an array, times a factor.

A template such as "saw {results.0.hypothesis.class_id} ({score:.2f})" holds dot paths; `{path:spec}` takes Python's
format specs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from string import Formatter
from typing import Any, Protocol

from ..memory.errors import RobotMemoryError, shown
from .message_types import FLOATS, NUMBERS, TEXTS, FieldType, TypeDescription
from .values import format_value, scalar

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
_BEST = re.compile(r"best\(([^()]*)\)")
_NTH = "[i]"
_FACTOR = re.compile(r"(.+?)\s*\*\s*([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,2})?)", re.ASCII)
_DOT_OUTSIDE_PARENTHESES = re.compile(r"\.(?![^()]*\))")

_Get = Callable[[Any, int], Any]
"""Step of a path: from a value, and the number of the element in the array of `each`, to the next value."""


class PathError(RobotMemoryError):
    """A dot path or a template is malformed, or leads to no field of the type."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{shown(path)} {problem}")
        self.path = path
        self.problem = problem


class NoValueError(Exception):
    """The message at hand has nothing at a path: an index beyond the end of an array."""


class Reader(Protocol):
    """Source of one value of a message: a path, a template or a constant."""

    def read(self, element: Any, message: Any, index: int = 0) -> Any:
        """Return the value for the element number `index` of the message; NoValueError if the message has none."""
        ...

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value; PathError if the type of the message has none."""
        ...


def reader(source: str | float, names: Mapping[str, Reader] | None = None) -> Reader:
    """Return the reader of a source: a number or quoted text is a constant, text with { a template, else a dot path.

    Raises:
        PathError: it is none of them.
    """
    if not isinstance(source, str):
        return Constant(float(source))
    if len(source) >= 2 and source[0] == source[-1] == "'":
        return Constant(source[1:-1])
    if "{" in source or "}" in source:
        return Template(source, names)
    return _value_reader(source, {})


def _value_reader(text: str, names: Mapping[str, Reader]) -> Reader:
    """Return the reader of a name or a path, maybe with a factor."""
    if scaled := _FACTOR.fullmatch(text):
        return Scaled(_value_reader(scaled[1], names), float(scaled[2]))
    return names.get(text) or DotPath(text)


class Constant:
    """A value that does not depend on the message."""

    def __init__(self, value: str | float) -> None:
        self._value = value

    def read(self, element: Any, message: Any, index: int = 0) -> str | float:
        """Return the value."""
        return self._value

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value."""
        return FieldType("string" if isinstance(self._value, str) else "float64")


class Scaled:
    """A number, or an array of numbers, times a factor: a confidence in percent, a position in millimetres."""

    def __init__(self, source: Reader, factor: float) -> None:
        self._source = source
        self._factor = factor

    def read(self, element: Any, message: Any, index: int = 0) -> float | list[float]:
        """Return the product; NoValueError if the message has no value."""
        value = self._source.read(element, message, index)
        if hasattr(value, "__len__") and not isinstance(value, bytes):
            return [float(scalar(item)) * self._factor for item in value]
        return float(scalar(value)) * self._factor

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the product.

        Raises:
            PathError: the source leads to no field, or to none with numbers.
            UnknownTypeError: a type on the way is not known.
        """
        field_type = self._source.check(types, element, message)
        if field_type.name not in NUMBERS:
            problem = f"is {field_type}; only a number, or an array of numbers, can be multiplied"
            raise PathError(getattr(self._source, "text", ""), problem)
        return field_type._replace(name="float64")


class Template:
    """A text with values of the message in it.

    `names` are other readers that the template may use by name; they come before fields of the same name.

    Raises:
        PathError: the braces do not match, or there is no path between them.
    """

    def __init__(self, text: str, names: Mapping[str, Reader] | None = None) -> None:
        self.text = text
        self._parts: list[tuple[str, Reader | None, str]] = []
        try:
            pieces = list(Formatter().parse(text))
        except ValueError as cause:
            raise PathError(text, f"is no template: {cause}") from None
        for literal, path, spec, conversion in pieces:
            if path is None:
                self._parts.append((literal, None, ""))
                continue
            if conversion or "{" in (spec or ""):
                raise PathError(text, f"cannot be used at {{{path}}}: only a format spec such as {{score:.2f}} can")
            if not path:
                raise PathError(text, "has no path between { and }; write {{ and }} for the brackets themselves")
            self._parts.append((literal, _value_reader(path, names or {}), spec or ""))

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def read(self, element: Any, message: Any, index: int = 0) -> str:
        """Return the text for the element number `index` of a message.

        Raises:
            NoValueError: an array on the way to a value is too short.
        """
        out = []
        for literal, reader, spec in self._parts:
            out.append(literal)
            if reader is not None:
                value = reader.read(element, message, index)
                out.append(value if isinstance(value, str) and not spec else format_value(value, spec))
        return "".join(out)

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of a text, whatever the message.

        Raises:
            PathError: a path leads to no number or text, or the format spec does not fit it.
            UnknownTypeError: a type on the way is not known.
        """
        for _, reader, spec in self._parts:
            if reader is None:
                continue
            field_type = reader.check(types, element, message)
            if not field_type.element.is_scalar:
                fields = f", which has {', '.join(types.fields(field_type.name))}" if field_type.is_message else ""
                raise PathError(self.text, f"would write a whole {field_type}{fields}; choose one value of it")
            self._check_spec(field_type, spec)
        return FieldType("string")

    def _check_spec(self, field_type: FieldType, spec: str) -> None:
        name = field_type.name
        example = "" if name in TEXTS else 0.5 if name in FLOATS else name == "bool" or 0
        try:
            format(example, spec)
        except ValueError as cause:
            raise PathError(self.text, f"formats a {field_type} with {spec!r}: {cause}") from None


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
        self._getters = _compile_getters(text, self._steps)

    def __repr__(self) -> str:
        return f"DotPath({self.text!r})"

    def read(self, element: Any, message: Any, index: int = 0) -> Any:
        """Return the value in the element number `index` of a message.

        Raises:
            NoValueError: an array on the way is too short.
            AttributeError: the message is not of the type the path was checked against.
        """
        value = message if self._from_message else element
        for get in self._getters:
            value = get(value, index)
        return value

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value that the path leads to.

        Raises:
            PathError: it leads to no field; the message lists the fields that exist.
            UnknownTypeError: a type on the way is not known.
        """
        current = message if self._from_message else element
        for depth, step in enumerate(self._steps):
            place = f"{current} (at '{'.'.join(self._steps[:depth])}')" if depth else str(current)
            if _NAME.fullmatch(step):
                current = self._checked_field(types, current, step, place)
            else:
                if step == _NTH and element == message:
                    raise PathError(self.text, f"counts elements by {_NTH}, but no array is named by `each`")
                current = self._checked_element(types, current, step, place)
        return current

    def _checked_field(self, types: TypeDescription, current: FieldType, step: str, place: str) -> FieldType:
        if current.is_array:
            raise PathError(self.text, f"asks {place} for {step!r}; choose an element, such as '0.{step}'")
        if not current.is_message:
            raise PathError(self.text, f"asks {place} for {step!r}, but that has no fields")
        fields = types.fields(current.name)
        if step not in fields:
            raise PathError(self.text, f"asks {place} for {step!r}; it has {', '.join(fields) or 'no fields'}")
        return fields[step]

    def _checked_element(self, types: TypeDescription, current: FieldType, step: str, place: str) -> FieldType:
        if not current.is_array:
            has = f"; it has {', '.join(types.fields(current.name))}" if current.is_message else ""
            raise PathError(self.text, f"asks {place} for {step!r}, but that is no array{has}")
        if best := _BEST.fullmatch(step):
            value = DotPath(best[1]).check(types, current.element, current.element)
            if value.is_array or value.name not in NUMBERS:
                raise PathError(self.text, f"compares by {best[1]!r}, which is {value} and no number")
        elif step != _NTH and current.length is not None and int(step) >= current.length:
            raise PathError(self.text, f"asks {place} for element {step}, but the last one is {current.length - 1}")
        return current.element


def _compile_getters(text: str, steps: list[str]) -> tuple[_Get, ...]:
    getters: list[_Get] = []
    names: list[str] = []
    for step in steps:
        if _NAME.fullmatch(step):
            names.append(step)
            continue
        if names:
            getters.append(_fields(names))
            names = []
        if step == _NTH:
            getters.append(_element)
        elif _INDEX.fullmatch(step):
            getters.append(_fixed(int(step)))
        elif best := _BEST.fullmatch(step):
            getters.append(_best(DotPath(best[1])))
        else:
            raise PathError(text, f"is no path: {step!r} is neither a field, an index, [i], nor best(field)")
    if names:
        getters.append(_fields(names))
    return tuple(getters)


def _fields(names: list[str]) -> _Get:
    get = attrgetter(".".join(names))
    return lambda value, index: get(value)


def _fixed(index: int) -> _Get:
    return lambda array, _: _element(array, index)


def _element(array: Any, index: int) -> Any:
    try:
        return array[index]
    except IndexError:
        raise NoValueError(f"the array has {len(array)} elements") from None


def _best(key: DotPath) -> _Get:
    def rank(element: Any) -> float:
        value = float(key.read(element, element))
        return -math.inf if math.isnan(value) else value

    def get(array: Any, index: int) -> Any:
        if len(array) == 0:
            raise NoValueError("the array is empty")
        return array[0] if len(array) == 1 else max(array, key=rank)

    return get
