"""What callers send: query parameters and bodies, most of them made of the fields of the requests of the memory."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic_core import PydanticCustomError

from ..memory import RobotMemory
from ..memory.argument import MAX_NAME, MAX_QUERY, Schema, arguments_of, is_time, schema_of
from ..memory.config.parameters import Parameters
from ..memory.models import Kind, MemoryUpdate
from ..memory.search.request import RecallRequest, TimelineRequest
from ..memory.times import MAX_TIME
from ..memory.validation import ALL_COLLECTIONS, MAX_COORDINATE, numbers_in
from ..memory.verbs.requests import AddTagRequest, ForgetRequest, LookRequest, RenameTagRequest
from ..memory.verbs.table import VERBS, Verb

MAX_ENTRIES = 1000
"""Entries of a list."""
M = TypeVar("M", bound=BaseModel)
_LEFT_OUT = frozenset({
    "counts", "data", "density", "events", "get_memories", "maps.approach", "maps.path", "notes.lines",
    "object_history", "objects", "recall", "recalls", "sessions.latest", "tags.all", "timeline",
})  # fmt: skip
"""Verbs that read and have paths of their own, or none."""
_NONE: Mapping[str, Any] = MappingProxyType({})
CONDITION = "x-condition"
"""Marks a parameter of a search that is a condition, with the kind of control by which the page shows it."""
SPELLING = "spelling"
"""The type of an error that says itself how a value is to be written."""
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


def _spelled(pattern: re.Pattern[str], expected: str) -> BeforeValidator:
    # Pydantic reads 1_0 as 10, and 5.0 as a whole number.
    def check(value: object) -> object:
        if isinstance(value, str) and not pattern.fullmatch(value):
            raise PydanticCustomError(SPELLING, "must be {expected}", {"expected": expected})
        return value

    return BeforeValidator(check)


AS_WHOLE = _spelled(_WHOLE, "a whole number, such as 5")
AS_NUMBER = _spelled(_NUMBER, "a number, such as 0.5")
# Nanoseconds are a text as well: JavaScript cannot hold them as a number.
Time = Annotated[
    str,
    Field(
        max_length=MAX_TIME,
        description="ISO 8601, words such as `2 hours ago` or `yesterday 14:00`, or nanoseconds since the epoch.",
        examples=["1790000000000000000"],
    ),
]
Id = Annotated[int, Field(ge=1, le=2**63 - 1), AS_WHOLE]
_PRINTED = r"^[^\x00-\x1f\x7f-\x9f]*$"
Name = Annotated[
    str, Field(max_length=MAX_NAME, pattern=_PRINTED), _spelled(re.compile(_PRINTED), "without control characters")
]
_KINDS = [kind.value for kind in Kind]
_KIND = f"^({'|'.join(_KINDS)})s?$"
KindName = Annotated[str, Field(pattern=_KIND), _spelled(re.compile(_KIND), f"one of {', '.join(_KINDS)}")]
Coordinate = Annotated[float, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Numbers = Annotated[
    list[Finite], BeforeValidator(lambda value: (numbers_in(value) or value) if isinstance(value, str) else value)
]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AS_NUMBER]
Limit = Annotated[int, Query(ge=1, le=MAX_ENTRIES, description="Largest number of entries."), AS_WHOLE]
OfCollection = Annotated[Name | None, Query(description="Only of this collection; by default of all.")]
SYNONYMS = {
    "type": "kinds", "kind": "kinds", "category": "categories", "session": "session_ids",
    "confidence": "min_confidence",
}  # fmt: skip
"""Other names of parameters of a timeline."""


class Strict(BaseModel):
    """Base of all bodies: refuses names that it does not know, and a text or a truth value in place of a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _InQuery(BaseModel):
    # What a query has is text. `parameters.py` refuses names that are unknown.
    pass


def _taking(
    request: type, *, but: Container[str] = (), defaults: Mapping[str, Any] = _NONE
) -> Callable[[type[M]], type[M]]:
    """Give a model the arguments of a request, but for those that the path names, with other defaults for some."""

    def fill(model: type[M]) -> type[M]:
        entries = (entry for entry in arguments_of(request) if entry.name not in but)
        shapes: dict[str, Any] = {
            entry.name: _shape(entry, defaults.get(entry.name, entry.default), in_body=issubclass(model, Strict))
            for entry in entries
        }
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **shapes)

    return fill


def _shape(entry: dataclasses.Field[Any], default: object, *, in_body: bool) -> Any:
    schema = schema_of(entry, partial(getattr, Parameters()))
    about, limit = schema["description"], entry.metadata["limit"]
    length = f" At most `{limit}` characters." if limit and isinstance(limit, str) else ""
    # Described alone: the memory checks these, and its error says what is right.
    bounds = {"maxItems": entry.metadata["entries"], "maxLength": limit}
    told: Any = {name: bound for name, bound in bounds.items() if bound and isinstance(bound, int)}
    if entry.metadata["condition"]:
        told[CONDITION] = _kind_of_control(schema, entry)
    value: dict[str, Any] = {"default": ... if default is dataclasses.MISSING else default}
    return (
        _kind(schema, is_optional=default is None, in_body=in_body),
        Field(
            **({"default_factory": list} if default == () else value),
            description=f"{about[:1].upper()}{about[1:]}.{length}",
            json_schema_extra=told or None,
        ),
    )


def _kind_of_control(schema: Schema, entry: dataclasses.Field[Any]) -> str:
    if is_time(entry):
        return "time"
    if schema["type"] == "array" and schema["items"]["type"] == "string":
        return "names"
    if "target" in schema.get("properties", ()):
        return "place"
    if schema["type"] == "number" and schema.get("maximum") == 1.0:
        return "share"
    return "flag" if schema["type"] == "boolean" else "text"


def _kind(schema: Schema, *, is_optional: bool, in_body: bool) -> Any:
    # The type that reads what a JSON Schema describes; in a query, what has objects is its text.
    types = schema["type"]
    if types == "array":
        item = _item(schema["items"], in_body=in_body)
        return list[item] | None if in_body and is_optional else list[item]  # type: ignore[valid-type]
    kind: Any = str
    if types == "boolean":
        kind = bool
    elif types == "integer":
        kind = Annotated[int, _bounds(schema), AS_WHOLE]
    elif types == "number":
        kind = Annotated[float, _bounds(schema, allow_inf_nan=False), AS_NUMBER]
    elif types == "string":
        kind = Name if schema.get("maxLength") == MAX_NAME and not in_body else str
    elif "integer" in types:
        kind = Time
    elif in_body:
        kind = Numbers if "array" in types else dict[str, Any] | str
    return kind | None if is_optional else kind


def _item(schema: Schema, *, in_body: bool) -> Any:
    if schema["type"] == "integer":
        return Id
    return str if in_body else KindName if "enum" in schema else Name


def _bounds(schema: Schema, **rules: Any) -> Any:
    # Before what is spelled: bounds behind that are described wrongly.
    return Field(ge=schema.get("minimum"), le=schema.get("maximum"), **rules)


def _synonym(full: str) -> str:
    return f"The same as `{full}`."


@_taking(RecallRequest)
class SearchParameters(_InQuery):
    """Parameters of a search."""

    q: str = Field(
        "", description="Words to search for, the same as `query`.", json_schema_extra={"maxLength": MAX_QUERY}
    )
    brief: bool = Field(False, description="Short entries with the matches marked, instead of memories.")


@_taking(TimelineRequest)
class TimelineParameters(_InQuery):
    """Parameters of a list of memories by time."""

    days: Annotated[float, Field(gt=0.0, le=100_000.0), AS_NUMBER] | None = Field(
        None, description="Memories observed in the last days."
    )
    type: list[KindName] = Field(default_factory=list, description=_synonym("kinds"))
    kind: list[KindName] = Field(default_factory=list, description=_synonym("kinds"))
    category: list[Name] = Field(default_factory=list, description=_synonym("categories"))
    session: list[Name] = Field(default_factory=list, description=_synonym("session_ids"))
    confidence: Share | None = Field(None, description=_synonym("min_confidence"))


@_taking(MemoryUpdate, but={"memory_id"})
class UpdateIn(Strict):
    """A correction."""


@_taking(LookRequest)
class LookIn(Strict):
    """What was looked for, and is not there."""


@_taking(ForgetRequest, but={"memory_id"})
class ForgetIn(Strict):
    """Why a memory is withdrawn."""


@_taking(AddTagRequest)
class AddTagIn(Strict):
    """A tag, and where it stands."""


@_taking(RenameTagRequest, but={"tag"})
class RenameTagIn(Strict):
    """The new name of a tag."""


def add_reading(
    router: APIRouter, path: str, verb: str, call: Callable[..., Any], result: Any,
    *, about: str = "", but: Container[str] = (), defaults: Mapping[str, Any] = _NONE,
    statuses: Mapping[Any, dict[str, Any]] = _NONE,
) -> None:  # fmt: skip
    """Add a path that answers as a verb does, whose parameters are the arguments of its request, but for some."""
    taking = _taking(VERBS[verb].request, but=but, defaults=defaults)
    model: Any = taking(type("Parameters", (_InQuery,), {"__module__": __name__}))

    def endpoint(parameters: Any) -> Any:
        return call(**{**defaults, **given(parameters)})

    endpoint.__name__, endpoint.__doc__ = path.strip("/").replace("/", "_"), about or VERBS[verb].about
    endpoint.__annotations__ = {"parameters": Annotated[model, Query()]}
    router.add_api_route(path, endpoint, response_model=result, responses=dict(statuses))


def add_others(router: APIRouter, memory: RobotMemory, result_of: Callable[[str], Any]) -> None:
    """Add a path for each verb that reads and has no path of its own, or none at all."""
    for path, verb in VERBS.items():
        if not verb.changes and path not in _LEFT_OUT:
            add_reading(
                router, f"/{path.replace('.', '-').replace('_', '-')}", path, _answering(memory, verb), result_of(path)
            )


def _answering(memory: RobotMemory, verb: Verb) -> Callable[..., Any]:
    return lambda **arguments: verb.to_json(verb.call(memory, arguments), arguments)


def given(values: BaseModel) -> dict[str, Any]:
    """Return the parameters, or the fields of a body, that a caller gave, as arguments of a verb."""
    return {name: getattr(values, name) for name in values.model_fields_set}


def as_arguments(parameters: BaseModel) -> dict[str, Any]:
    """Return the parameters that a caller gave; memories of all collections are meant if no collection is named."""
    arguments = given(parameters)
    if "collection" not in arguments and "collections" not in arguments:
        arguments["collection"] = ALL_COLLECTIONS
    return arguments


class LoginIn(Strict):
    """The token, as it was typed in."""

    token: str = Field(min_length=1, max_length=1024)


class AreaNameIn(Strict):
    """The new name of an area."""

    name: str = Field(min_length=1, max_length=MAX_NAME)


class AreaIn(AreaNameIn):
    """A polygon to name."""

    polygon: list[Annotated[list[Coordinate], Field(min_length=2, max_length=2)]] = Field(
        min_length=3, max_length=1000, description="Corners [x, y] in metres, in order around it."
    )
    frame_id: str = Field(default="", max_length=MAX_NAME, description="Of the corners; empty for the memory frame.")
