"""Declare each argument of a verb once, as a field of its request, with what every door tells and checks about it.

How much may be given at once, at every door, stands here: the checks and the descriptions of the doors read it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from enum import Enum
from functools import wraps
from textwrap import fill
from typing import Any, NamedTuple, get_type_hints

from .errors import did_you_mean

MAX_NAMES = 256
"""Names in a condition."""
MAX_IDS = 1000
"""Ids in a condition."""
MAX_SUMMARY = 200
"""Characters of a summary, which people read at a glance."""
MAX_CONTEXT = 65_536
"""Bytes of a context, of metadata or of a filter as JSON; larger data belongs into `data`."""
MAX_DEPTH = 64
"""Objects and lists of a context within each other."""
MAX_N = 100
"""Memories that a recall returns at most."""
MAX_QUERY = 2000
"""Characters of the text of a query; what is longer is a document, of which the model reads the beginning only."""
MAX_TAGS = 100
"""Tags of a memory, and names in each list that belongs to it."""
MAX_AGE = 1e9
"""Seconds of an age of a condition: 31 years."""
MAX_DETAILS = 100
"""Memories that are read in full at once."""
MAX_HISTORY = 10_000
"""Sightings of an object that are listed."""
MAX_NAME = 256
"""Characters of a name, such as a label, a tag or a frame."""


Json = Mapping[str, object] | str | None
"""A JSON object, or its text; none is an empty one."""
Names = Iterable[str] | str | None
"""Names, any of which will do; a single one does for a list of one, and none is no condition."""
Where = Mapping[str, object] | Iterable[float] | str | None
"""A place as an object with a `target`, the two or three numbers of the target alone, both also as a text, or the name
of a place or of a frame."""
Schema = Mapping[str, Any]
"""JSON Schema of a value."""


def object_schema(properties: Mapping[str, Schema], needs: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    rule = {"required": list(needs)} if needs else {}
    return {"type": "object", "properties": dict(properties), **rule, "additionalProperties": False}


_NUMBER: Schema = {"type": "number"}
_NAME: Schema = {"type": "string", "maxLength": MAX_NAME}
_NAMES: Schema = {"type": "array", "items": _NAME}
ID: Schema = {"type": "integer", "minimum": 1}
IDS: Schema = {"type": "array", "items": ID}
NUMBERS: Schema = {"type": ["array", "string"], "items": _NUMBER, "minItems": 2, "maxItems": 3}
SIZE: Schema = {**NUMBERS, "minItems": 3, "examples": [[0.08, 0.08, 0.1]]}
_POINT: Schema = {**NUMBERS, "description": "x, y and z in metres"}
_IN_FRAME: Mapping[str, Schema] = {
    "frame_id": {**_NAME, "description": "if it is not the memory frame; a named place is one as well"},
    "field": {"type": "string", "description": "a path into the context, if it is not `position`"},
}
_CIRCLE: Mapping[str, Schema] = {
    "target": {**NUMBERS, "description": "x, y and z in metres; without it, the origin of `frame_id`"},
    "max_distance": {"type": "number", "exclusiveMinimum": 0, "description": "metres"},
    **_IN_FRAME,
}
# The memory takes the numbers of a target for a place as well.
_AS_PLACE: Schema = {**NUMBERS, "type": ["object", "array", "string"]}
PLACE: Schema = {**object_schema(_CIRCLE, []), **_AS_PLACE}
NEAR: Schema = {**object_schema(_CIRCLE, ["max_distance"]), **_AS_PLACE}
BOX: Schema = {
    **object_schema({"min_corner": _POINT, "max_corner": _POINT, **_IN_FRAME}, ["min_corner", "max_corner"]),
    "examples": [{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}],
}
FILTER: Schema = {"type": "object", "examples": [{"task.success": True}]}
_SHAPES: Mapping[str, Schema] = {
    "str": {"type": "string"},
    "str | None": _NAME,
    "int": {"type": "integer"},
    "float": _NUMBER,
    "float | None": _NUMBER,
    "bool": {"type": "boolean"},
    "Names": _NAMES,
    "Iterable[str]": _NAMES,
    "Iterable[str] | None": _NAMES,
    "Iterable[float] | None": {**NUMBERS, "minItems": 3, "maxItems": 7, "examples": [[3.0, 1.0, 0.8]]},
    "Iterable[int] | int | None": IDS,
    "Iterable[int] | int": {**ID, "type": ["integer", "array"], "items": ID},
    "Time | None": {
        "type": ["string", "integer"],
        "examples": ["3 minutes ago", "yesterday 14:00", "2026-01-31T12:00"],
    },
    "Json": {"type": ["object", "string"]},
    "Where": PLACE,
}
"""Shapes of values in JSON, by the type of their field."""


class Range(NamedTuple):
    """The least and the greatest value of a number, both included."""

    low: float
    high: float


def argument(
    default: object, about: str, example: str = "", *, within: tuple[float, float] | None = None, limit: str | int = "",
    entries: int = 0, only_python: bool = False, in_repr: bool = True, choices: type[Enum] | None = None,
    shape: Schema | None = None, condition: Callable[[Any, str], object] | None = None,
    more: str = "", see: str = "",
) -> Any:  # fmt: skip
    """Declare an argument with what is told about it; the default `MISSING` makes it a required one.

    `example` is a value as Python writes it. `within` are the least and the greatest value of a number, `limit` is the
    largest length of a text or the parameter that has it, `entries` is the largest number of entries of a list. The
    room that checks the argument knows them as well: here they are for the doors to describe. What is `only_python` is
    offered by no door. `choices` are the values of a text or of a list, `shape` is the JSON Schema of a value if its
    type says too little. `condition` reads a condition of a query from the request and the name of the field. `more`
    are sentences for pages and messages, which have room for them, and `see` is where a page has the rest.
    """
    metadata = {"about": about, "example": example, "only_python": only_python, "condition": condition, "shape": shape}
    pages = {"more": more, "see": see}
    bounds = {"range": within and Range(*within), "limit": limit, "entries": entries, "choices": choices}
    return field(default=default, repr=in_repr, metadata={**metadata, **bounds, **pages})


def names(about: str, example: str = "", **metadata: Any) -> Any:
    """Declare a condition of several names, none by default, as `argument` does."""
    return argument((), about, example, entries=MAX_NAMES, **metadata)


def arguments_of(request: type) -> list[Field[Any]]:
    """Return the fields of a request that doors offer, those first that a caller may give without their names."""
    offered = (entry for entry in fields(request) if not entry.metadata.get("only_python", True))
    return sorted(offered, key=lambda entry: bool(entry.kw_only))


def schema_of(entry: Field[Any], longest: Callable[[str], int], default: object = None) -> dict[str, Any]:
    """Return the JSON Schema of an argument; `longest` gives the length of a text that a parameter limits."""
    metadata = entry.metadata
    schema: dict[str, Any] = dict(metadata["shape"] or _SHAPES[str(entry.type)])
    if metadata["choices"]:
        values = {"type": "string", "enum": [choice.value for choice in metadata["choices"]]}
        schema = {"type": "array", "items": values} if "items" in schema else values
    if limits := metadata["range"]:
        schema |= {"minimum": limits.low, "maximum": limits.high}
    if limit := metadata["limit"]:
        schema["maxLength"] = limit if isinstance(limit, int) else longest(limit)
    if entries := metadata["entries"]:
        schema["maxItems"] = entries
    if default is not MISSING and default not in (None, (), ""):
        schema["default"] = default
    return {**schema, "description": metadata["about"]}


def is_time(entry: Field[Any]) -> bool:
    """Tell whether an argument is a time."""
    return str(entry.type).startswith("Time")


def read_times(request: type, values: Mapping[str, object], moment: Callable[[str, object], int]) -> dict[str, Any]:
    """Return arguments of a request with each time as `moment` reads it, in nanoseconds since the epoch."""
    names = [entry.name for entry in fields(request) if is_time(entry)]
    return {**values, **{name: moment(name, values[name]) for name in names if values.get(name) is not None}}


class Verbs:
    """Base of the classes whose verbs are written out: `recall(...)` makes the request that `_recall` takes."""

    def __init_subclass__(cls) -> None:
        for name, hint in get_type_hints(cls).items():
            if name.startswith("_") and (written := vars(cls).get(name[1:])):
                setattr(cls, written.__name__, _verb(written, hint.__args__[0]))

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch; raises InvalidFieldError."""
        raise NotImplementedError


def _verb(written: Callable[..., Any], request: type) -> Callable[..., Any]:
    """Return a verb that is written out, which makes the request and gives it to the method that takes it."""
    names = inspect.signature(written).parameters.keys()
    times, taker = [entry.name for entry in fields(request) if is_time(entry)], f"_{written.__name__}"

    @wraps(written)
    def verb(self: Verbs, *arguments: Any, **keywords: Any) -> Any:
        # An unknown argument gets the nearest name, as from Python itself since 3.13.
        for name in keywords.keys() - names:
            problem = f"got an unexpected keyword argument {name!r}{did_you_mean(name, names)}"
            raise TypeError(f"{written.__name__}() {problem}")
        try:
            made = request(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(str(error).replace(f"{request.__name__}.__init__", written.__name__)) from None
        for name in times:
            if (value := getattr(made, name)) is not None:
                setattr(made, name, self.moment(name, value))
        return getattr(self, taker)(made)

    verb.__doc__ = with_arguments(written.__doc__ or "", request)
    return verb


_FORMS = {
    "Time | None": "nanoseconds since the epoch, a datetime, a text, or a timedelta before now",
    "Where": "x, y and z in metres, the name of a place or of a frame, or an object with `target`, `max_distance`, "
    "`frame_id` and `field`",
}
"""Forms of values by the type of an argument in Python, where `about` tells every door's."""


def with_arguments(text: str, request: type) -> str:
    """Return the docstring of a verb with what its request tells about each argument."""
    text, raises, errors = inspect.cleandoc(text).partition("\nRaises:")
    entries = sorted(fields(request), key=lambda entry: bool(entry.kw_only))
    return "\n".join((text.rstrip(), "", "Args:", *map(_described, entries), "")) + raises + errors


def _described(entry: Field[Any]) -> str:
    form = _FORMS.get(str(entry.type))
    about = f"{entry.metadata['about']}{f' ({form})' if form else ''}"
    text = f"{entry.name}: {about}. Example: {entry.name}={entry.metadata['example']}"
    return fill(text, 112, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
