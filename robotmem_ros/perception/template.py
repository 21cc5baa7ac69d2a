"""Fill templates with values at dot paths, such as "saw {results.0.hypothesis.class_id} ({score:.2f})".

`{path:spec}` takes Python's format specs.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any, Protocol

from .dot_path import DotPath
from .errors import PathError
from .message_types import FLOATS, TEXTS, FieldType, TypeDescription
from .values import written


class Reader(Protocol):
    """What gives one value of a message: a path, a template or a constant."""

    def read(self, element: Any, message: Any) -> Any:
        """Return the value; NoValueError if the message has none."""
        ...

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value; PathError if the type of the message has none."""
        ...


class Constant:
    """A value that does not depend on the message."""

    def __init__(self, value: str | float) -> None:
        self._value = value

    def read(self, element: Any, message: Any) -> str | float:
        """Return the value."""
        return self._value

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of the value."""
        return FieldType("string" if isinstance(self._value, str) else "float64")


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
            parsed = list(Formatter().parse(text))
        except ValueError as cause:
            raise PathError(text, f"is no template: {cause}") from None
        for literal, path, spec, conversion in parsed:
            if path is None:
                self._parts.append((literal, None, ""))
                continue
            if conversion or "{" in (spec or ""):
                raise PathError(text, f"cannot be used at {{{path}}}: only a format spec such as {{score:.2f}} can")
            if not path:
                raise PathError(text, "has no path between { and }; write {{ and }} for the brackets themselves")
            self._parts.append((literal, (names or {}).get(path) or DotPath(path), spec or ""))

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def read(self, element: Any, message: Any) -> str:
        """Return the text for an element of a message.

        Raises:
            NoValueError: an array on the way to a value is too short.
        """
        out = []
        for literal, reader, spec in self._parts:
            out.append(literal)
            if reader is not None:
                out.append(written(reader.read(element, message), spec))
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
            found = reader.check(types, element, message)
            if not found.element.is_scalar:
                fields = f", which has {', '.join(types.fields(found.name))}" if found.is_message else ""
                raise PathError(self.text, f"would write a whole {found}{fields}; choose one value of it")
            self._check_spec(found, spec)
        return FieldType("string")

    def _check_spec(self, found: FieldType, spec: str) -> None:
        example = "" if found.name in TEXTS else 0.5 if found.name in FLOATS else found.name == "bool" or 0
        try:
            format(example, spec)
        except ValueError as cause:
            raise PathError(self.text, f"formats a {found} with {spec!r}: {cause}") from None


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
    return DotPath(source)
