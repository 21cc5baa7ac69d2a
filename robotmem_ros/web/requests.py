"""What callers send: query parameters and bodies, most of them made of the fields of the requests of the memory."""

from __future__ import annotations

import re
from dataclasses import MISSING
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic_core import PydanticCustomError

from ..memory.argument import MAX_NAME, MAX_QUERY, Schema, arguments_of, schema_of
from ..memory.config.parameters import Parameters
from ..memory.models import Kind, MemoryUpdate
from ..memory.search.request import CountsRequest, RecallRequest, TimelineRequest
from ..memory.times import MAX_TIME
from ..memory.validation import ALL_COLLECTIONS, MAX_COORDINATE, numbers_in

MAX_ENTRIES = 1000
"""Entries of a list."""
CONDITION = "x-condition"
"""Marks a parameter of a search that is a condition, for the page, which shows those that it does not know."""
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


def _model(request: type, name: str, *, base: type[BaseModel] = _InQuery, **extra: Any) -> type[BaseModel]:
    # Of the fields of a request, but for what the path names, and of extra ones.
    shapes: dict[str, Any] = {}
    for entry in arguments_of(request):
        if entry.default is MISSING:
            continue
        schema = schema_of(entry, partial(getattr, Parameters()))
        about = schema["description"]
        # Described alone: the memory checks these, and its error says what is right.
        bounds = {"maxItems": entry.metadata["entries"], "maxLength": entry.metadata["limit"]}
        told: Any = {name: bound for name, bound in bounds.items() if bound and isinstance(bound, int)}
        if entry.metadata["condition"]:
            told[CONDITION] = True
        default = {"default_factory": list} if entry.default == () else {"default": entry.default}
        shapes[entry.name] = (
            _kind(schema, is_optional=entry.default is None, in_body=base is Strict),
            Field(**default, description=f"{about[:1].upper()}{about[1:]}.", json_schema_extra=told or None),
        )
    model: type[BaseModel] = create_model(name, __base__=base, **(shapes | extra))
    return model


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


def _synonym(name: str, full: str) -> tuple[Any, Any]:
    about = f"The same as `{full}`."
    if name == "confidence":
        return Share | None, Field(default=None, description=about)
    return list[KindName] if full == "kinds" else list[Name], Field(default_factory=list, description=about)


if TYPE_CHECKING:
    SearchParameters = BaseModel
    TimelineParameters = BaseModel
    CountParameters = BaseModel
    UpdateIn = BaseModel
else:
    SearchParameters = _model(
        RecallRequest,
        "SearchParameters",
        q=(
            str,
            Field(
                default="",
                description="Words to search for, the same as `query`.",
                json_schema_extra={"maxLength": MAX_QUERY},
            ),
        ),
        brief=(bool, Field(default=False, description="Short entries with the matches marked, instead of memories.")),
    )
    TimelineParameters = _model(
        TimelineRequest,
        "TimelineParameters",
        days=(
            Annotated[float, Field(gt=0.0, le=100_000.0), AS_NUMBER] | None,
            Field(default=None, description="Memories observed in the last days."),
        ),
        **{name: _synonym(name, full) for name, full in SYNONYMS.items()},
    )
    CountParameters = _model(CountsRequest, "CountParameters")
    UpdateIn = _model(MemoryUpdate, "UpdateIn", base=Strict)


def as_arguments(parameters: BaseModel) -> dict[str, Any]:
    """Return the parameters that a caller gave; memories of all collections are meant if no collection is named."""
    arguments = {name: getattr(parameters, name) for name in parameters.model_fields_set}
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


class ReasonIn(Strict):
    """Why a memory is withdrawn."""

    reason: str = Field(min_length=1, description="At most `content_limit` characters, by default 2000.")
