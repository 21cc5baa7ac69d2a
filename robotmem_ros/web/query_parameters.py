"""The query parameters of a search and of a timeline: the fields of their requests, so that none is forgotten."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from ..memory.models import Kind
from ..memory.search.request import RecallRequest, TimelineRequest

TIME_PATTERN = "^([0-9]{1,18}|[1-8][0-9]{18})$"
"""Of a time in nanoseconds since the epoch; JavaScript cannot hold it as a number, so it is a text."""
EVERYWHERE = "*"
MOST = 1000
"""Entries of a list."""
_LONGEST_NAME = 256

Time = Annotated[
    str,
    Field(pattern=TIME_PATTERN, description="Nanoseconds since the epoch.", examples=["1790000000000000000"]),
    AfterValidator(int),
]
Id = Annotated[int, Field(ge=1, le=2**63 - 1)]
Name = Annotated[str, Field(max_length=_LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
KindName = Annotated[str, Field(pattern=f"^({'|'.join(kind.value for kind in Kind)})s?$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Largest number of entries.")]
Named = Annotated[Name | None, Query(description="Only of this collection; by default of all.")]
_TYPES: Mapping[str, Any] = {
    "str": str,
    "str | None": Name | None,
    "int": Annotated[int, Field(ge=1, le=100)],
    "int | None": Time | None,
    "float": Share,
    "float | None": Share | None,
    "bool": bool,
    "Names": list[Name],
    "Iterable[int] | int | None": list[Id],
    "Mapping[str, object] | str | None": str | None,
}
"""By the type of a field of a request: that of the query parameter."""


def query_model(request: type, name: str, **more: Any) -> type[BaseModel]:
    """Make the model of query parameters of the fields of a request, and more of them."""
    made: dict[str, Any] = {}
    for entry in fields(request):
        kind = list[KindName] if entry.name == "kinds" else _TYPES[str(entry.type)]
        default = None if entry.default in {MISSING, ()} else entry.default
        about = sentence(entry)
        if str(entry.type) in {"Names", "Iterable[int] | int | None"}:
            made[entry.name] = (kind, Field(default_factory=list, description=about))
        else:
            made[entry.name] = (kind, Field(default=default, description=about))
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **(made | more))
    return model


def given(parameters: BaseModel) -> dict[str, Any]:
    """Return the parameters that a caller gave; memories of all collections are meant if no collection is named."""
    named = {name: getattr(parameters, name) for name in parameters.model_fields_set}
    if "collection" not in named and "collections" not in named:
        named["collection"] = EVERYWHERE
    return named


def sentence(entry: dataclasses.Field[Any]) -> str:
    """Return what a field is about as a sentence."""
    about: str = entry.metadata.get("about", "words to search for")
    return f"{about[:1].upper()}{about[1:]}."


SYNONYMS = {
    "type": "kinds", "kind": "kinds", "category": "categories", "session": "session_ids",
    "confidence": "min_confidence",
}  # fmt: skip
"""Other names of parameters of a timeline."""
SEARCH_PARAMETERS = query_model(
    RecallRequest,
    "SearchParameters",
    q=(str, Field(default="", description="Words to search for, the same as `query`.")),
    brief=(bool, Field(default=False, description="Short entries with the matches marked, instead of memories.")),
)
TIMELINE_PARAMETERS = query_model(
    TimelineRequest,
    "TimelineParameters",
    n=(Annotated[int, Field(ge=1, le=1000)], Field(default=50, description="Largest number of memories.")),
    days=(
        Annotated[float, Field(gt=0.0, le=100_000.0)] | None,
        Field(default=None, description="Memories observed in the last days."),
    ),
    confidence=(Share | None, Field(default=None, description="The same as `min_confidence`.")),
    **{
        name: (
            list[KindName] if full == "kinds" else list[Name],
            Field(default_factory=list, description=f"The same as `{full}`."),
        )
        for name, full in SYNONYMS.items()
        if name != "confidence"
    },
)
