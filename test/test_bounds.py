"""The bounds of lists and of queries are the same in the checks, the schemas of the doors and their comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the web server is optional: `make test` brings it")

from robotmem_ros.agents.tool import json_schema
from robotmem_ros.agents.tools import TOOLS
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.argument import MAX_DETAILS, MAX_IDS, MAX_NAMES, MAX_QUERY, MAX_TAGS, arguments_of
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.models import MemoryUpdate, NewFact
from robotmem_ros.memory.search.request import RecallRequest, TimelineRequest
from robotmem_ros.web.app import create_console

SRV = Path(__file__).resolve().parents[1] / "srv"
CALLS: dict[type, Callable[..., Any]] = {
    RecallRequest: RobotMemory.recall,
    TimelineRequest: RobotMemory.timeline,
    NewFact: lambda memory, **lists: memory.learn("a cup is red", **lists),
    MemoryUpdate: lambda memory, **lists: memory.update(memory.learn("a cup is red").memory_id, **lists),
}
NOT_BOUNDED_BY_NUMBER = {"pose", "size", "place", "clear"}
"""A pose has 3 or 7 numbers, a size 3, a place 2 or 3, and only fields of a memory can be cleared."""
NOT_AS_MANY = {"kinds", "areas", "add_tags"}
"""There are three kinds, areas must exist, and tags are added to those that rules have found."""


def lists_of(request: type) -> Iterator[tuple[str, int]]:
    for field in arguments_of(request):
        if str(field.type).startswith(("Names", "Iterable")) and field.name not in NOT_BOUNDED_BY_NUMBER:
            yield field.name, field.metadata["entries"]


LISTS = [(request, name, bound) for request in CALLS for name, bound in lists_of(request)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[RobotMemory]:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as opened:
        yield opened


@pytest.mark.parametrize(
    ("request_type", "name", "bound"), LISTS, ids=lambda part: getattr(part, "__name__", str(part))
)
def test_the_memory_takes_as_many_entries_as_a_request_declares(
    memory: RobotMemory, request_type: type, name: str, bound: int
) -> None:
    entries: Any = range(1, bound + 1) if name == "ids" else [f"n{number}" for number in range(bound)]
    one_more = range(1, bound + 2) if name == "ids" else [*entries, "more"]
    with pytest.raises(InvalidFieldError, match=f"^{name}: .* at most {bound}$"):
        CALLS[request_type](memory, **{name: one_more})
    if name not in NOT_AS_MANY:
        CALLS[request_type](memory, **{name: entries})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schemas_of_tools_have_the_bounds(tool: Any) -> None:
    shapes = json_schema(tool)["properties"]
    for name, bound in lists_of(tool.request):
        assert name not in shapes or shapes[name]["maxItems"] == tool.bounds.get(name, bound), name


def test_the_description_of_the_rest_interface_has_the_bounds(memory: RobotMemory) -> None:
    description = create_console(memory).api.openapi()
    for path, request in (("/api/search", RecallRequest), ("/api/memories", TimelineRequest)):
        shapes = {one["name"]: one["schema"] for one in description["paths"][path]["get"]["parameters"]}
        assert {name: shapes[name]["maxItems"] for name, _ in lists_of(request)} == dict(lists_of(request))
        lengths = {shapes[name]["maxLength"] for name in ("q", "query") if name in shapes}
        assert lengths == ({MAX_QUERY} if request is RecallRequest else set())
    body = description["components"]["schemas"]["UpdateIn"]["properties"]
    assert {name: body[name]["maxItems"] for name, _ in lists_of(MemoryUpdate)} == dict(lists_of(MemoryUpdate))


@pytest.mark.parametrize(
    ("service", "sentence"),
    [
        ("Recall", f"At most {MAX_QUERY:,} characters."),
        ("Recall", f"A list has at most {MAX_NAMES} names or {MAX_IDS:,} ids."),
        ("Timeline", f"A list has at most {MAX_NAMES} names."),
        ("GetMemories", f"At most {MAX_DETAILS} ids."),
        ("Learn", f"At most {MAX_TAGS} entries."),
        ("Update", f"next two. At most {MAX_TAGS} entries."),
        ("Update", f"Tags to add. The others stay; one may be there. At most {MAX_TAGS} entries."),
    ],
)
def test_the_comments_of_services_have_the_bounds(service: str, sentence: str) -> None:
    assert sentence in (SRV / f"{service}.srv").read_text()
