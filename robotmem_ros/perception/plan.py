"""Compile the sources of one topic, and check them against its message type at start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from ..memory.context_path import split
from ..memory.errors import InvalidFieldError
from .label_names import LabelNames, NamedLabel
from .message_types import BYTES, FLOATS, NUMBERS, FieldType, TypeDescription, UnknownTypeError
from .sources import Constant, DotPath, PathError, Reader, Template, reader
from .topic_config import TopicConfig
from .values import Json, json_converter

_Fits = Callable[[TypeDescription, FieldType], bool]


def _has(*names: str) -> _Fits:
    def fits(types: TypeDescription, field_type: FieldType) -> bool:
        return field_type.is_message and set(names) <= set(types.fields(field_type.name))

    return fits


def _is_array(names: Collection[str], *lengths: int) -> _Fits:
    def fits(_: TypeDescription, field_type: FieldType) -> bool:
        return field_type.is_array and field_type.name in names and field_type.length in {None, *lengths}

    return fits


_is_geographic = _has("latitude", "longitude", "altitude")


def _is_position(types: TypeDescription, field_type: FieldType) -> bool:
    tests = _has("x", "y"), _is_array(NUMBERS, 2, 3), _is_geographic
    return any(fits(types, field_type) for fits in tests)


def _is_size(types: TypeDescription, field_type: FieldType) -> bool:
    return _has("x", "y", "z")(types, field_type) or _is_array(NUMBERS, 3)(types, field_type)


def _is_orientation(types: TypeDescription, field_type: FieldType) -> bool:
    return _has("x", "y", "z", "w")(types, field_type) or _is_array(FLOATS, 4)(types, field_type)


def _is_image(types: TypeDescription, field_type: FieldType) -> bool:
    raw, compressed = _has("width", "height", "encoding", "step"), _has("format", "data")
    return raw(types, field_type) or compressed(types, field_type)


def _is_pose(types: TypeDescription, field_type: FieldType) -> bool:
    if not _has("center", "size")(types, field_type):
        return _has("position", "orientation")(types, field_type)
    return _has("position", "orientation")(types, types.fields(field_type.name)["center"])


_SCALAR: tuple[str, _Fits] = ("one number or text", lambda _, field_type: field_type.is_scalar)
_REQUIREMENTS: dict[str, tuple[str, _Fits]] = {
    "confidence": ("a number", lambda _, field_type: field_type.is_scalar and field_type.name in NUMBERS),
    "pose": ("a message with position and orientation, or a box with center and size", _is_pose),
    "position": (
        "a message with x, y, z, an array of 2 or 3 numbers, or a fix with latitude and longitude", _is_position,
    ),
    "orientation": ("a message with x, y, z, w, or an array of 4 numbers", _is_orientation),
    "covariance": ("an array of 36, 9 or 6 numbers", _is_array(FLOATS, 36, 9, 6)),
    "size": ("a message with x, y, z, or an array of 3 numbers", _is_size),
    "stamp": ("a message with sec and nanosec", _has("sec", "nanosec")),
    "data": ("an array of bytes", lambda _, field_type: field_type.is_array and field_type.name in BYTES),
    "image": ("an Image or a CompressedImage", _is_image),
}  # fmt: skip


class TopicError(InvalidFieldError):
    """A source in the configuration of a topic does not exist in its message type."""

    def __init__(self, key: str, value: object, topic: str, type_name: str, problem: str) -> None:
        super().__init__(key, value, f"cannot be read from topic {topic} of type {type_name}: {problem}")


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
    box: tuple[Reader, ...]
    """Readers of the four numbers of `box`; none without `depth`."""
    size: tuple[Reader, ...]
    """Readers of `size`: of a vector, or of its three numbers."""
    array_path: DotPath | None
    only: tuple[tuple[Reader, frozenset[object]], ...]
    """Readers, each with the values that an element may have there."""
    context: tuple[ContextPart, ...]
    label_names: LabelNames | None
    is_geographic: bool
    """Whether `position` is a latitude and a longitude."""
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
            raise InvalidFieldError(f"{config.name}.type", config.type, cause.problem) from None
        if not config.description:
            problem = f"is needed, because there is no preset for {config.type}; such as '{{data}}'"
            raise InvalidFieldError(f"{config.name}.description", "", problem)
        array_path = self._array_path()
        context = {name: self._reader(f"context.{name}", source) for name, source in config.context.items()}
        names: dict[str, Reader] = {name: source_reader for name, (source_reader, _) in context.items()}
        if not self._element.is_message or "topic" not in self._types.fields(self._element.name):
            names["topic"] = Constant(config.topic)
        readers: dict[str, Reader] = {}
        has_names = config.label_names or config.vision_info
        label_names = LabelNames(config.label_names, config.vision_info) if has_names else None
        is_geographic = False
        for key in _KEYS:
            source = getattr(config, key)
            if source == "":
                continue
            template_names = names if key == "description" else {}
            readers[key], field_type = self._reader(key, source, template_names)
            if key == "position":
                is_geographic = _is_geographic(self._types, field_type)
            if key == "label" and label_names is not None:
                readers[key] = NamedLabel(readers[key], label_names, config.topic)
            if key in {"label", "confidence"}:
                names[key] = readers[key]
        return Plan(
            readers=readers,
            poses=tuple(self._reader("pose", source)[0] for source in config.pose),
            box=self._box(),
            size=self._size(),
            array_path=array_path,
            only=tuple(self._selection(path, values) for path, values in config.only.items()),
            context=self._context(context),
            label_names=label_names,
            is_geographic=is_geographic,
            message_has_header=self._has_header(self._message),
            element_has_header=array_path is not None and self._has_header(self._element),
        )

    def _box(self) -> tuple[Reader, ...]:
        config = self._config
        for key, beside in (("depth", "camera_info"), ("camera_info", "depth")):
            if getattr(config, key) and not getattr(config, beside):
                raise self._error(key, getattr(config, key), f"it needs {beside}, too")
        if not config.depth:
            return ()
        if len(config.box) != 4:
            raise self._error("box", list(config.box), "depth needs the four numbers of a box")
        return self._numbers("box", config.box)

    def _size(self) -> tuple[Reader, ...]:
        sources = self._config.size
        if len(sources) not in (0, 1, 3):
            raise self._error("size", list(sources), "it needs one source of a vector, or three of a number")
        if len(sources) == 1:
            return (self._reader("size", sources[0])[0],)
        return self._numbers("size", sources)

    def _numbers(self, key: str, sources: Sequence[str]) -> tuple[Reader, ...]:
        return tuple(self._number(key, source) for source in sources)

    def _number(self, key: str, source: str) -> Reader:
        source_reader, field_type = self._reader(key, source)
        if not field_type.is_scalar or field_type.name not in NUMBERS:
            raise self._error(key, source, f"it is {field_type}; a number is needed")
        return source_reader

    def _array_path(self) -> DotPath | None:
        if not self._config.each:
            return None
        path, field_type = self._reader("each", self._config.each)
        if not isinstance(path, DotPath) or not field_type.is_array:
            raise self._error("each", self._config.each, f"it is {field_type} and no array")
        self._element = field_type.element
        return path

    def _reader(
        self, key: str, source: str | float, names: Mapping[str, Reader] | None = None
    ) -> tuple[Reader, FieldType]:
        try:
            plain = key == "description" and "{" not in str(source)
            source_reader = self._description(source) if plain else reader(source, names)
            field_type = source_reader.check(self._types, self._element, self._message)
        except (PathError, UnknownTypeError) as cause:
            problem = str(cause) if isinstance(cause, UnknownTypeError) or cause.path != source else cause.problem
            if isinstance(cause, PathError) and self._is_of_message(cause.path):
                problem += f"; it starts at an element of {self._config.each!r}, '/{cause.path}' at the message"
            raise self._error(key, source, problem) from None
        if key in _KEYS or key == "pose" or (key == "size" and len(self._config.size) == 1):
            requirement, fits = _REQUIREMENTS.get(key, _SCALAR)
            if not fits(self._types, field_type):
                fields = f" with {', '.join(self._types.fields(field_type.name))}" if field_type.is_message else ""
                beside = self._config.each and field_type.is_array
                nth = f"; such as {source}.[i], if it lies beside {self._config.each!r}" if beside else ""
                raise self._error(key, source, f"it is {field_type}{fields}; {requirement} is needed{nth}")
        return source_reader, field_type

    def _is_of_message(self, path: str) -> bool:
        """Tell whether a path that leads nowhere from an element leads somewhere from the message."""
        if not self._config.each or path.startswith("/"):
            return False
        try:
            DotPath(f"/{path}").check(self._types, self._element, self._message)
        except (PathError, UnknownTypeError):
            return False
        return True

    def _description(self, text: str | float) -> Reader:
        """Read a description without braces as plain text, unless it was meant as a path."""
        text_reader = reader(text) if str(text).startswith("'") else Template(str(text))
        try:
            DotPath(str(text)).check(self._types, self._element, self._message)
        except PathError:
            return text_reader
        raise PathError(str(text), f"is a field; write it as '{{{text}}}'")

    def _selection(self, path: str, values: object) -> tuple[Reader, frozenset[object]]:
        source_reader, field_type = self._reader(f"only.{path}", path)
        if not field_type.is_scalar:
            raise self._error(f"only.{path}", path, f"it is {field_type}; {_SCALAR[0]} is needed")
        return source_reader, frozenset(values if isinstance(values, (list, tuple)) else [values])

    def _context(self, readers: Mapping[str, tuple[Reader, FieldType]]) -> tuple[ContextPart, ...]:
        keys = {name: split(name) for name in readers}
        for name, inner_name in permutations(readers, 2):
            if keys[inner_name][: len(keys[name])] == keys[name]:
                source = self._config.context[name]
                raise self._error(f"context.{name}", source, f"{inner_name!r} needs {name!r} to be an object")
        return tuple(
            ContextPart(keys[name], part, json_converter(field_type, self._types))
            for name, (part, field_type) in readers.items()
        )

    def _has_header(self, field_type: FieldType) -> bool:
        header = self._types.fields(field_type.name).get("header") if field_type.is_message else None
        return header is not None and _has("stamp", "frame_id")(self._types, header)

    def _error(self, key: str, value: object, problem: str) -> TopicError:
        return TopicError(f"{self._config.name}.{key}", value, self._config.topic, self._config.type, problem)


# In this order: a description may use the label and the confidence.
_KEYS = (
    "label", "confidence", "description", "identity", "perception_type_from", "position", "orientation",
    "covariance", "stamp", "frame", "context_json", "session_id", "collection", "data", "data_format", "image",
    "changes_only",
)  # fmt: skip
