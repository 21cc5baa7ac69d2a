"""Describe the arguments of a tool by a JSON Schema, and check each call against that schema.

The schema is made of the request's dataclass: its fields, defaults, bounds and help.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..memory.argument import Schema, arguments_of, object_schema, schema_of
from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError, did_you_mean, shown
from .desk import Desk

if TYPE_CHECKING:
    from jsonschema import ValidationError

_SHOWN_ERRORS = 3
_LONGEST_NAME = 40


Run = Callable[[Desk, Mapping[str, Any]], object]


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool; its arguments are the fields of its request, but for those that are left out."""

    name: str
    title: str
    description: str
    request: type
    run: Run
    """Function of the checked arguments; it returns text, or what JSON can hold."""
    examples: tuple[Mapping[str, Any], ...]
    """Arguments as an agent may give them."""
    left_out: frozenset[str] = frozenset()
    """Fields of the request that are too rare for an agent to read about each time."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Defaults of arguments, instead of those of the request."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """Largest numbers, and numbers of entries, instead of those of the request."""
    writes: bool = False
    destructive: bool = False
    """Whether it changes or withdraws what is there."""
    idempotent: bool = True
    """Whether a second call with the same arguments changes nothing more."""
    quotes: bool = False
    """Whether it returns what memories say, which anybody may have written."""
    time_limit: float = 30.0
    """Seconds that a call may take."""

    @property
    def arguments(self) -> dict[str, Field[Any]]:
        """Return the fields of the request that an agent may give, by their names."""
        return {entry.name: entry for entry in arguments_of(self.request) if entry.name not in self.left_out}


class MissingPackageError(RobotMemoryError):
    """A package is missing that agents need."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'robotmem_ros[mcp]' brings what agents need")


class ArgumentsError(RobotMemoryError):
    """Arguments of a tool cannot be used; the message names them."""


def hints(tool: Tool) -> dict[str, bool]:
    """Return the hints of a tool, by their names in MCP."""
    return {
        "readOnlyHint": not tool.writes, "destructiveHint": tool.destructive, "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }  # fmt: skip


def as_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools as a message API takes them, with their hints and examples."""
    return [
        {
            "name": tool.name, "title": tool.title, "description": tool.description, "input_schema": json_schema(tool),
            "annotations": hints(tool), "input_examples": [dict(example) for example in tool.examples],
        }
        for tool in tools
    ]  # fmt: skip


def as_functions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools as functions of a chat completion."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": json_schema(tool)},
        }
        for tool in tools
    ]


def json_schema(tool: Tool, parameters: Parameters | None = None) -> dict[str, Any]:
    """Return the JSON Schema of the arguments.

    The parameters say how long texts may be; by default those that a memory begins with.
    """
    longest = partial(getattr, parameters or Parameters())
    properties = {
        name: schema_of(entry, longest, tool.defaults.get(name, entry.default))
        for name, entry in tool.arguments.items()
    }
    for name, bound in tool.bounds.items():
        properties[name]["maximum" if "maximum" in properties[name] else "maxItems"] = bound
    needs = [name for name, entry in tool.arguments.items() if entry.default is MISSING]
    return object_schema(properties, needs)


def check_arguments(
    tool: Tool, arguments: Mapping[str, object], parameters: Parameters | None = None
) -> dict[str, Any]:
    """Return the arguments that a call names, as the schema has them. An argument that is null is left out.

    What models often write in another way is read all the same: one name for a list of one, a JSON text for an object.

    Raises:
        ArgumentsError: an argument is unknown, missing or of a wrong type; the error names all such, up to three.
        MissingPackageError: jsonschema is not installed.
    """
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise MissingPackageError("jsonschema") from None
    schema = json_schema(tool, parameters)
    values: Any = _read(dict(arguments), schema)
    try:
        # The memory itself checks the names of kinds and senses, and reads more spellings of them.
        errors = [error for error in Draft202012Validator(schema).iter_errors(values) if error.validator != "enum"]
    except RecursionError:
        raise ArgumentsError("arguments: they are nested too deeply") from None
    problems = list(dict.fromkeys(_sentence(tool, error) for error in errors))
    if len(problems) > _SHOWN_ERRORS:
        problems[_SHOWN_ERRORS:] = [f"and {len(problems) - _SHOWN_ERRORS} more"]
    if problems:
        raise ArgumentsError("; ".join(problems))
    return {**tool.defaults, **values}


def _read(value: object, schema: Schema) -> object:
    """Return a value as its schema has it, if it is the same one in another notation."""
    types = schema.get("type", ())
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return int(value)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and ("object" in types or "array" in types):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, (str, int)) and not isinstance(value, bool) and types == "array":
        value = [value]
    if isinstance(value, list) and "items" in schema:
        return [_read(entry, schema["items"]) for entry in value]
    if isinstance(value, dict) and "properties" in schema:
        inner = schema["properties"]
        return {name: _read(part, inner.get(name, {})) for name, part in value.items() if part is not None}
    return value


def _sentence(tool: Tool, error: ValidationError) -> str:
    rule, bound, value = str(error.validator), error.validator_value, error.instance
    name = _path(*error.path)
    if rule in {"required", "additionalProperties"}:
        parts: Mapping[str, Schema] = error.schema["properties"]
        absent = [part for part in bound if part not in value] if rule == "required" else []
        sentences = [
            f"{_path(*error.path, part)}: is missing; {tool.name} needs it ({parts[part].get('description', part)})"
            for part in absent
        ]
        sentences += [
            f"{_path(*error.path, part)}: is no argument of {tool.name}{did_you_mean(part, parts)}; "
            f"it takes {', '.join(parts) or 'none'}"
            for part in value
            if not absent and part not in parts
        ]
        return "; ".join(sentences)
    example = f", such as {json.dumps(error.schema['examples'][0])}" if "examples" in error.schema else ""
    if rule == "type":
        kinds = " or ".join(_TYPES[kind] for kind in ([bound] if isinstance(bound, str) else bound))
        return f"{name}: {shown(value)} must be {kinds}{example}"
    if rule in {"minimum", "maximum"} and "maximum" in error.schema:
        return f"{name}: {shown(value)} must lie in {error.schema['minimum']:,} to {error.schema['maximum']:,}"
    return f"{name}: {shown(value)} must {_RULES[rule].format(bound)}{example}"


_TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "a JSON object",
}  # fmt: skip
_RULES = {
    "minimum": "be at least {}", "exclusiveMinimum": "be more than {}", "maxLength": "have at most {:,} characters",
    "minItems": "have at least {} entries", "maxItems": "have at most {} entries",
}  # fmt: skip


def _path(*parts: str | int) -> str:
    """Write the way to a part of the arguments, such as `spatial_sort.target[1]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{_quote(part)}" for part in parts)[1:]


def _quote(part: str) -> str:
    return part if part.isidentifier() and len(part) <= _LONGEST_NAME else shown(part)
