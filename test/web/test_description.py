"""The OpenAPI description and docs/web.md tell what the console does."""

from __future__ import annotations

import dataclasses
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from robotmem_ros.cli import serving
from robotmem_ros.memory.argument import arguments_of
from robotmem_ros.memory.models import MemoryUpdate
from robotmem_ros.memory.search.request import RecallRequest, TimelineRequest

from ..support.web import console

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "web.md").read_text()


@pytest.fixture
def description(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_the_table_of_endpoints_is_that_of_the_description(description: dict[str, Any]) -> None:
    served = [
        f"| `{method.upper()} {path}` | {operation['description'].partition('.')[0].partition(';')[0]} |"
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    table = re.findall(r"^\| `[A-Z]+ /.*$", PAGE.replace("\n|", "\n|"), re.MULTILINE)
    assert table == served, "\n".join(served)


def test_the_table_of_options_is_that_of_the_command() -> None:
    (command,) = (one for one in serving.COMMANDS if one.name == "web")
    options = [names for entry in command.options for names, _ in [entry]]
    told = re.findall(r"`(--[\w-]+)`", PAGE.partition("| option |")[2].partition("\n\n")[0])
    assert set(told) - {"--config"} | {"--config"} == {name for names in options for name in names}


@pytest.mark.parametrize(("path", "request_type"), [("/api/search", RecallRequest), ("/api/memories", TimelineRequest)])
def test_every_field_of_a_request_is_a_parameter(description: dict[str, Any], path: str, request_type: type) -> None:
    parameters = {one["name"]: one for one in description["paths"][path]["get"]["parameters"]}
    assert {argument.name for argument in arguments_of(request_type)} <= set(parameters)
    assert all(one.get("description") for one in parameters.values())


def test_bounds_are_told_in_the_words_of_json_schema(description: dict[str, Any]) -> None:
    keywords = {
        keyword
        for operations in description["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
        for schema in (parameter["schema"], *parameter["schema"].get("anyOf", ()), parameter["schema"].get("items", {}))
        for keyword in schema
    }
    assert {"minimum", "maximum"} <= keywords
    assert not {"ge", "le", "gt", "lt"} & keywords


def test_every_field_of_a_correction_is_in_the_body_of_one(description: dict[str, Any]) -> None:
    body = description["components"]["schemas"]["UpdateIn"]
    assert set(body["properties"]) == {entry.name for entry in dataclasses.fields(MemoryUpdate)} - {"memory_id"}
    assert body["additionalProperties"] is False


def test_every_endpoint_has_a_typed_result_and_its_errors(description: dict[str, Any]) -> None:
    for path, operations in description["paths"].items():
        for operation in operations.values():
            responses = operation["responses"]
            assert {"400", "401", "403", "429"} <= set(responses)
            assert "422" not in responses
            content = responses.get("200", responses.get("201"))["content"]
            for kind, told in content.items():
                assert kind != "application/json" or told["schema"], path


def test_no_page_of_documentation_loads_scripts_from_elsewhere(client: httpx.Client) -> None:
    assert [client.get(path).status_code for path in ("/docs", "/redoc")] == [404, 404]


def test_first_requests_that_come_at_once_are_all_answered(db: Path) -> None:
    with console(db) as server, ThreadPoolExecutor(12) as clients:

        def ask(number: int) -> int:
            return httpx.get(f"{server.url}/api/memories?n=5", timeout=180).status_code

        assert set(clients.map(ask, range(24))) == {200}
