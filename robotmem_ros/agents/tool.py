"""The shape of a tool, the JSON Schema of its arguments, and the check of what a caller gives.

Schema and check come from one pydantic model, which is made of the request's dataclass: its fields, defaults and help.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from ..memory.argument import Range, arguments_of
from ..memory.bounds import MAX_NAME
from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError, did_you_mean, shown
from ..memory.models import Kind, PerceptionType
from .desk import Desk

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

_TIME_FORMS = ["3 minutes ago", "yesterday 14:00", "2026-01-31T12:00"]
_SHOWN_ERRORS = 3
_LONGEST_NAME = 40
TIMES = frozenset({"after", "before", "observed_at"})
"""Arguments that are times."""


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool; its arguments are the fields of its request, but for those that are left out."""

    name: str
    title: str
    description: str
    request: type
    run: Callable[[Desk, Mapping[str, Any]], object]
    """Takes the arguments, checked, with times in nanoseconds; returns text, or what JSON can hold."""
    examples: tuple[Mapping[str, Any], ...]
    """Arguments as an agent may give them."""
    left_out: frozenset[str] = frozenset()
    """Fields of the request that are too rare for an agent to read about each time."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Of arguments, instead of those of the request."""
    writes: bool = False
    destructive: bool = False
    """Whether it changes or withdraws what is there."""
    idempotent: bool = True
    """Whether a second call with the same arguments changes nothing more."""
    quotes: bool = False
    """Whether it returns what memories say, which anybody may have written."""
    time_limit: float = 30.0
    """Seconds."""


def hints(tool: Tool) -> dict[str, bool]:
    """Return the hints of a tool, by their names in MCP."""
    return {
        "readOnlyHint": not tool.writes, "destructiveHint": tool.destructive, "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }  # fmt: skip


def as_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools with name, description and input schema, as a message API takes them, and their hints and examples.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input_schema": json_schema(tool),
            "annotations": hints(tool),
            "input_examples": [dict(example) for example in tool.examples],
        }
        for tool in tools
    ]


def as_functions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools as functions of a chat completion.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": json_schema(tool)},
        }
        for tool in tools
    ]


def json_schema(tool: Tool, parameters: Parameters | None = None) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, without references and titles.

    The parameters say how long texts may be; by default those that a memory begins with.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    schema = model_of(tool).model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    shapes = plain.setdefault("properties", {})
    for one in arguments_of(tool.request):
        if (limit := one.metadata.get("limit")) and one.name in shapes:
            length = limit if isinstance(limit, int) else getattr(parameters or Parameters(), limit)
            shapes[one.name]["maxLength"] = length
    return {"type": "object", **{key: value for key, value in plain.items() if key != "type"}}


def checked(tool: Tool, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments that were given, with the types of the schema. An argument that is null was not given.

    What models often write in another way is read all the same: one name for a list of one, a JSON text for an object.

    Raises:
        InvalidFieldError: an argument is unknown, missing or of a wrong type; the error names all such, up to three.
        MissingPackageError: pydantic is not installed.
    """
    taken = model_of(tool)
    from pydantic import ValidationError

    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        model = taken.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        sentences = [_sentence(tool, one) for one in wrong[:_SHOWN_ERRORS]]
        if len(wrong) > _SHOWN_ERRORS:
            sentences.append(f"and {len(wrong) - _SHOWN_ERRORS} more")
        raise ArgumentsError("; ".join(sentences)) from None
    return {**tool.defaults, **model.model_dump(exclude_unset=True)}


class MissingPackageError(RobotMemoryError):
    """A package is missing that agents need."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'robotmem_ros[mcp]' brings what agents need")


class ArgumentsError(RobotMemoryError):
    """Arguments of a tool cannot be used; the message names them."""


@cache
def model_of(tool: Tool) -> type[BaseModel]:
    """Return the pydantic model of the arguments.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    try:
        from pydantic import ConfigDict, create_model
    except ImportError:
        raise MissingPackageError("pydantic") from None
    offered = [one for one in arguments_of(tool.request) if one.name not in tool.left_out]
    declared: dict[str, Any] = {one.name: _declared(one, tool) for one in offered}
    return create_model(tool.name, __config__=ConfigDict(extra="forbid", strict=True), **declared)


def _declared(one: Field[Any], tool: Tool) -> tuple[Any, Any]:
    from pydantic import Field as Declared

    about = one.metadata.get("about") or None
    default = ... if one.default is MISSING else tool.defaults.get(one.name, one.default)
    bounds: Range | None = one.metadata.get("range")
    limits: dict[str, Any] = {"ge": bounds.low, "le": bounds.high} if bounds else {}
    if entries := one.metadata.get("entries"):
        limits["max_length"] = entries
    return _type_of(one), Declared(default=default, description=about, **limits)


def _type_of(one: Field[Any]) -> Any:
    types = _types()
    kind = "text" if one.metadata.get("limit") else str(one.type)
    found = types.get(one.name) or types.get(kind)
    if found is None:
        raise TypeError(f"{one.name}: there is no type for agents for {one.type!r}")
    return found


@cache
def _types() -> Mapping[str, Any]:
    """Return the types of arguments, by their name or else by the annotation of the field."""
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

    def listed(value: object) -> object:
        return [value] if isinstance(value, (str, int)) and not isinstance(value, bool) else value

    def whole(value: object) -> object:
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def parsed(value: object) -> object:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(value)
            except (ValueError, RecursionError):
                return value
        return value

    number = Annotated[float, Field(allow_inf_nan=False)]
    point = Annotated[list[number], Field(min_length=2, max_length=3, description="x, y and z in metres")]

    name = Annotated[str, Field(max_length=MAX_NAME)]
    path = Annotated[str, Field(description="a path into the context, if it is not `position`")]
    frame = Annotated[str, Field(max_length=MAX_NAME, description="if it is not the memory frame")]

    class Place(Strict):
        target: point
        max_distance: Annotated[float, Field(gt=0, description="metres")] | None = None
        frame_id: frame | None = None
        field: path | None = None

    class Near(Strict):
        target: point
        max_distance: Annotated[float, Field(gt=0, description="metres")]
        frame_id: frame | None = None
        field: path | None = None

    class Box(Strict):
        min_corner: point
        max_corner: point
        frame_id: frame | None = None
        field: path | None = None

    integer = Annotated[int, BeforeValidator(whole)]
    memory_id = Annotated[int, Field(ge=1), BeforeValidator(whole)]
    names = Annotated[list[name], BeforeValidator(listed)]
    json_object = Annotated[dict[str, Any], BeforeValidator(parsed)]
    time = Annotated[
        str | int, WithJsonSchema({"type": ["string", "integer"], "examples": _TIME_FORMS}), BeforeValidator(whole)
    ]
    kind = {"type": "string", "enum": [kind.value for kind in Kind]}
    senses = {"type": "string", "enum": [one.value for one in PerceptionType]}
    return {
        "after": time,
        "before": time,
        "observed_at": time,
        "memory_id": memory_id,
        "kinds": Annotated[list[Annotated[str, WithJsonSchema(kind)]], BeforeValidator(listed)],
        "spatial_sort": Annotated[Place, BeforeValidator(parsed)],
        "nearest_to": Annotated[Place, BeforeValidator(parsed)],
        "near": Annotated[Near, BeforeValidator(parsed)],
        "since_last_visit": Annotated[Near, BeforeValidator(parsed)],
        "within": Annotated[Box, BeforeValidator(parsed)],
        "pose": Annotated[list[number], BeforeValidator(parsed), Field(min_length=3, max_length=7)],
        "place": Annotated[point | str, BeforeValidator(parsed)],
        "context": Annotated[dict[str, Any] | str, BeforeValidator(parsed)],
        "context_filter": json_object,
        "perception_type": Annotated[str, WithJsonSchema(senses)],
        "text": str,  # how long it may be, a parameter says
        "str": str,
        "str | None": name,
        "int": integer,
        "float": number,
        "float | None": number,
        "bool": bool,
        "Names": names,
        "Iterable[str]": names,
        "Iterable[str] | None": names,
        "Iterable[int]": Annotated[list[memory_id], BeforeValidator(listed)],
        "Iterable[int] | int | None": Annotated[list[memory_id], BeforeValidator(listed)],
    }


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Put definitions where they are used, and leave out what says nothing to a model."""
    if isinstance(schema, list):
        return [_plain(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    nullable = schema.get("anyOf")
    if isinstance(nullable, list) and {"type": "null"} in nullable and len(nullable) == 2:
        (only,) = [one for one in nullable if one != {"type": "null"}]
        schema = {**only, **{key: value for key, value in schema.items() if key != "anyOf"}}
    return {
        key: {name: _plain(one, definitions) for name, one in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value in (None, [], (), ""))
    }


_WANTED = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
}
_LIMITS = (("least", "min_length"), ("most", "max_length"))
_BOUNDS = {"ge": "at least", "le": "at most", "gt": "more than"}


def _sentence(tool: Tool, error: ErrorDetails) -> str:
    offered = [one.name for one in arguments_of(tool.request) if one.name not in tool.left_out]
    parts = [part for part in error["loc"] if isinstance(part, int) or not _is_choice(str(part))]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{_named(part)}" for part in parts).lstrip(".")
    kind = error["type"]
    if kind == "missing":
        takes = json_schema(tool)["properties"].get(str(error["loc"][0]), {}).get("description", "")
        return f"{name}: is missing; {tool.name} needs it{f' ({takes})' if takes else ''}"
    if kind == "extra_forbidden":
        if len(error["loc"]) == 1:
            others = f"it takes {', '.join(offered) or 'none'}"
            return f"{name}: is no argument of {tool.name}{did_you_mean(name, offered)}; {others}"
        return f"{name}: {shown(error['input'])} is unknown there"
    wanted = _WANTED.get(kind)
    if kind in {"too_short", "too_long"}:
        limits = [f"at {word} {error['ctx'][key]}" for word, key in _LIMITS if key in error.get("ctx", {})]
        wanted = f"must have {' and '.join(limits)} entries"
    if kind == "string_too_long":
        wanted = f"is {len(error['input'])} characters long; at most {error['ctx']['max_length']} are allowed"
    if bounds := next((key for key in ("ge", "le", "gt") if key in error.get("ctx", {})), ""):
        wanted = _range(tool, error["loc"]) or f"must be {_BOUNDS[bounds]} {error['ctx'][bounds]:g}"
    if wanted is None:
        message = error["msg"]
        wanted = f"cannot be used: {message[:1].lower()}{message[1:]}"
    return f"{name}: {shown(error['input'])} {wanted}"


def _range(tool: Tool, location: tuple[int | str, ...]) -> str:
    found: list[Range | None] = [
        one.metadata.get("range") for one in arguments_of(tool.request) if location == (one.name,)
    ]
    return "".join(f"must lie in {one.low:,} to {one.high:,}" for one in found if one)


def _named(part: str) -> str:
    return part if part.isidentifier() and len(part) <= _LONGEST_NAME else shown(part)


def _is_choice(part: str) -> bool:
    # In a union pydantic names the choice that failed, such as `list[float]`.
    return part in {"str", "int", "float", "dict[str,any]"} or "[" in part
