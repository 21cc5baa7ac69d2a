"""Compile the sources of one topic, and check them against its message type at start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..memory.errors import InvalidFieldError
from .message_types import BYTES, NUMBERS, FieldType, TypeDescription, UnknownTypeError
from .sources import DotPath, PathError, Reader, Template, reader
from .topic_config import TopicConfig
from .values import Json, json_converter

_Fits = Callable[[TypeDescription, FieldType], bool]


def _has(*names: str) -> _Fits:
    def fits(types: TypeDescription, found: FieldType) -> bool:
        return found.is_message and set(names) <= set(types.fields(found.name))

    return fits


def _is_image(types: TypeDescription, found: FieldType) -> bool:
    return any(_has(*names)(types, found) for names in (("width", "height", "encoding", "step"), ("format", "data")))


def _is_pose(types: TypeDescription, found: FieldType) -> bool:
    if not _has("center", "size")(types, found):
        return _has("position", "orientation")(types, found)
    return _has("position", "orientation")(types, types.fields(found.name)["center"])


_SCALAR: tuple[str, _Fits] = ("one number or text", lambda _, found: found.is_scalar)
_WANTED: dict[str, tuple[str, _Fits]] = {
    "confidence": ("a number", lambda _, found: found.is_scalar and found.name in NUMBERS),
    "pose": ("a message with position and orientation, or a box with center and size", _is_pose),
    "position": ("a message with x, y, z", _has("x", "y", "z")),
    "orientation": ("a message with x, y, z, w", _has("x", "y", "z", "w")),
    "covariance": ("36 or 9 numbers", lambda _, found: found.is_array and found.name == "float64"),
    "stamp": ("a message with sec and nanosec", _has("sec", "nanosec")),
    "data": ("an array of bytes", lambda _, found: found.is_array and found.name in BYTES),
    "image": ("an Image or a CompressedImage", _is_image),
}


class TopicError(InvalidFieldError):
    """What a topic's configuration reads does not exist in its message type."""

    def __init__(self, key: str, value: object, topic: str, type_name: str, why: str) -> None:
        super().__init__(key, value, f"cannot be read from topic {topic} of type {type_name}: {why}")


class ContextPart(NamedTuple):
    """One name of the context, its reader, and what turns its values into JSON."""

    name: tuple[str, ...]
    reader: Reader
    convert: Json


@dataclass(frozen=True)
class Plan:
    """The compiled sources of one topic; keys that are not configured have no reader."""

    readers: Mapping[str, Reader]
    poses: tuple[Reader, ...]
    """Readers of `pose`, in their order."""
    each: DotPath | None
    only: tuple[tuple[Reader, frozenset[object]], ...]
    """Readers, each with the values that an element may have there."""
    context: tuple[ContextPart, ...]
    message_has_header: bool
    element_has_header: bool


class Planner:
    """Compile and check every source of one topic.

    Raises:
        TopicError: a path, template or type does not fit; it names topic, type and path, and lists the fields that
            exist.
        InvalidFieldError: the type is unknown, or there is no description.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription) -> None:
        self._config = config
        self._types = types
        self._message = FieldType(config.type)
        self._element = self._message

    def plan(self) -> Plan:
        """Return the compiled sources."""
        config = self._config
        try:
            self._types.fields(config.type)
        except UnknownTypeError as cause:
            raise InvalidFieldError(f"{config.name}.type", config.type, cause.why) from None
        if not config.description:
            why = f"is needed, because there is no preset for {config.type}; such as '{{data}}'"
            raise InvalidFieldError(f"{config.name}.description", "", why)
        each = self._each()
        context = {name: self._reader(f"context.{name}", source) for name, source in config.context.items()}
        names: dict[str, Reader] = {name: made for name, (made, _) in context.items()}
        readers: dict[str, Reader] = {}
        for key in _READ:
            source = getattr(config, key)
            if source == "":
                continue
            allowed = names if key == "description" else {}
            readers[key] = self._reader(key, source, allowed)[0]
            if key in {"label", "confidence"}:
                names[key] = readers[key]
        return Plan(
            readers=readers,
            poses=tuple(self._reader("pose", source)[0] for source in config.pose),
            each=each,
            only=tuple(self._selection(path, values) for path, values in config.only.items()),
            context=self._context(context),
            message_has_header=self._has_header(self._message),
            element_has_header=each is not None and self._has_header(self._element),
        )

    def _each(self) -> DotPath | None:
        if not self._config.each:
            return None
        path, found = self._reader("each", self._config.each)
        if not isinstance(path, DotPath) or not found.is_array:
            raise self._error("each", self._config.each, f"it is {found} and no array")
        self._element = found.element
        return path

    def _reader(
        self, key: str, source: str | float, names: Mapping[str, Reader] | None = None
    ) -> tuple[Reader, FieldType]:
        try:
            plain = key == "description" and "{" not in str(source)
            made = self._description(source) if plain else reader(source, names)
            found = made.check(self._types, self._element, self._message)
        except (PathError, UnknownTypeError) as cause:
            why = str(cause) if isinstance(cause, UnknownTypeError) or cause.path != source else cause.why
            raise self._error(key, source, why) from None
        if key in _READ or key == "pose":
            wanted, fits = _WANTED.get(key, _SCALAR)
            if not fits(self._types, found):
                fields = f" with {', '.join(self._types.fields(found.name))}" if found.is_message else ""
                raise self._error(key, source, f"it is {found}{fields}; {wanted} is needed")
        return made, found

    def _description(self, text: str | float) -> Reader:
        """Read a description without braces as plain text, unless it was meant as a path."""
        made = reader(text) if str(text).startswith("'") else Template(str(text))
        try:
            DotPath(str(text)).check(self._types, self._element, self._message)
        except PathError:
            return made
        raise PathError(str(text), f"is a field; write it as '{{{text}}}'")

    def _selection(self, path: str, values: object) -> tuple[Reader, frozenset[object]]:
        made, found = self._reader(f"only.{path}", path)
        if not found.is_scalar:
            raise self._error(f"only.{path}", path, f"it is {found}; {_SCALAR[0]} is needed")
        return made, frozenset(values if isinstance(values, (list, tuple)) else [values])

    def _context(self, made: Mapping[str, tuple[Reader, FieldType]]) -> tuple[ContextPart, ...]:
        for name in made:
            for other in made:
                if other.startswith(f"{name}."):
                    source = self._config.context[name]
                    raise self._error(f"context.{name}", source, f"{other!r} needs {name!r} to be an object")
        return tuple(
            ContextPart(tuple(name.split(".")), part, json_converter(found, self._types))
            for name, (part, found) in made.items()
        )

    def _has_header(self, found: FieldType) -> bool:
        header = self._types.fields(found.name).get("header") if found.is_message else None
        return header is not None and _has("stamp", "frame_id")(self._types, header)

    def _error(self, key: str, value: object, why: str) -> TopicError:
        return TopicError(f"{self._config.name}.{key}", value, self._config.topic, self._config.type, why)


# In this order: a description may use the label and the confidence.
_READ = (
    "label", "confidence", "description", "identity", "perception_type_from", "position", "orientation",
    "covariance", "stamp", "frame", "context_json", "session_id", "collection", "data", "data_format", "image",
    "changes_only",
)  # fmt: skip
