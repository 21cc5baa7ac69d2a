"""What a path does not take is refused with its name and a guess, and a number is written in one way only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from robotmem_ros.memory.areas import read_areas

from ..support.web import client_of

TRIANGLE = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]
GETS = [
    "status", "doctor", "recalls", "stats", "recent-failures", "collections", "categories", "tags", "labels", "density",
    "memories", "search?q=mug", "sessions", "sessions/x/memories", "memory/6", "memory/6/image", "areas", "objects",
    "objects/6", "approach?memory_id=6", "map", "map.png", "path", "at?time=5", "events", "fleet/robots",
    "fleet/objects", "fleet/memory/kitchen1/6", "fleet/requests",
]  # fmt: skip


def refused(client: httpx.Client, path: str, **parameters: Any) -> dict[str, Any]:
    response = client.get(f"/api/{path}", params=parameters or None)
    assert response.status_code == 400, response.text
    told: dict[str, Any] = response.json()
    return told


def test_the_list_above_is_that_of_all_paths(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    described = {path for path, operations in paths.items() if "get" in operations}
    names = {"6": "{id}", "x": "{session_id}", "kitchen1": "{robot}"}
    parts = [[names.get(part, part) for part in path.partition("?")[0].split("/")] for path in GETS]
    assert {"/".join(("/api", *path)) for path in parts} == described


@pytest.mark.parametrize("path", GETS)
def test_a_parameter_that_a_path_does_not_have_is_refused(client: httpx.Client, path: str) -> None:
    told = refused(client, f"{path}{'&' if '?' in path else '?'}pagee=2")
    assert (told["field"], told["value"]) == ("pagee", "2")
    assert told["error"].startswith("pagee: '2' is for no parameter of this path")


@pytest.mark.parametrize(
    ("path", "guess"), [("map?mapid=x", "map_id"), ("objects?limits=5", "limit"), ("search?q=a&label=mug", "labels")]
)
def test_a_parameter_with_a_slip_gets_a_guess(client: httpx.Client, path: str, guess: str) -> None:
    assert f"; did you mean '{guess}'?; it takes " in refused(client, path)["error"]


def test_what_changes_something_takes_no_parameters_either(client: httpx.Client) -> None:
    told = client.request("DELETE", "/api/memory/2", params={"reason": "x"}, json={"reason": "x"})
    assert (told.status_code, told.json()["field"]) == (400, "reason")
    assert told.json()["error"].endswith("is for no parameter of this path; it takes none")


@pytest.mark.parametrize("text", ["1_0", "+5", " 5", "5.0", "5e0", "", "five", "٥"])
@pytest.mark.parametrize(
    ("path", "name"),
    [("sessions", "n"), ("search", "n"), ("memories", "n"), ("objects", "limit"), ("density", "bins"), ("path", "n")],
)
def test_a_whole_number_is_digits(client: httpx.Client, path: str, name: str, text: str) -> None:
    told = refused(client, path, **{name: text})
    assert told == {
        "error": f"{name}: {text!r} must be a whole number, such as 5", "field": name, "value": text,
    }  # fmt: skip


def test_an_id_in_a_path_is_digits_too(client: httpx.Client) -> None:
    assert refused(client, "memory/1_0")["field"] == "id"
    assert refused(client, "objects/+6")["field"] == "id"


@pytest.mark.parametrize("text", ["0_5", "+0.5", ".5", "0.5 ", "inf", "nan", "half", ""])
def test_a_number_is_written_as_json_has_it(client: httpx.Client, text: str) -> None:
    told = refused(client, "search", q="mug", min_confidence=text)
    assert told["error"] == f"min_confidence: {text!r} must be a number, such as 0.5"


def test_a_parameter_that_takes_one_value_is_given_once(client: httpx.Client) -> None:
    told = refused(client, "sessions?n=5&n=6")
    assert told == {"error": "n: '6' is given after '5'; the parameter takes one value", "field": "n", "value": "6"}
    assert client.get("/api/memories?tags=a&tags=b").status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"confidence": "0.5"}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"pose": ["1", 2, 3]}, "pose"),
        ({"pose": [1e20, 0, 0]}, "pose[0]"),
        ({"context": {"spatial": {"position": [0, 1e20]}}}, "context.spatial.position[1]"),
    ],
)
def test_a_body_has_numbers_where_numbers_belong(client: httpx.Client, body: object, field: str) -> None:
    told = client.put("/api/memory/6", json=body)
    assert told.status_code == 400, told.text
    assert told.json()["field"].startswith(field)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"reason": "x"} y', "body: is no JSON: Extra data at character 16"),
        (b'{"reason"', "body: is no JSON: Expecting ':' delimiter at character 9"),
        (b'{"reason": "\xff"}', "body: is no JSON in UTF-8"),
    ],
)
def test_a_body_that_is_no_json_is_named_as_such(client: httpx.Client, body: bytes, why: str) -> None:
    response = client.request("DELETE", "/api/memory/2", content=body, headers={"Content-Type": "application/json"})
    told = response.json()
    assert (response.status_code, told["field"]) == (400, "body")
    assert told["error"].startswith(why)


def test_the_reason_of_a_withdrawal_may_be_as_long_as_the_description_says(client: httpx.Client) -> None:
    told = client.request("DELETE", "/api/memory/2", json={"reason": "x" * 2001})
    assert told.json()["error"].endswith("is 2001 characters long; at most 2000 are allowed")
    reason = client.get("/openapi.json").json()["components"]["schemas"]["ForgetIn"]["properties"]["reason"]
    assert "maxLength" not in reason
    assert "`content_limit`" in reason["description"]


def test_an_error_names_what_was_given(client: httpx.Client) -> None:
    # 0 is where the clock of a simulation begins.
    beginning = client.get("/api/at", params={"time": "0"}).json()
    assert (beginning["time"], beginning["memories"], beginning["path_point"]) == ("0", [], None)
    assert refused(client, "memories", days=1, before="1000000000")["field"] == "days"
    assert refused(client, "sessions/x/memories", session_ids="y")["field"] == "session_ids"
    flat = client.put("/api/memory/2", json={"a" * 100_000: 1})
    assert len(flat.text) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "areas: {' sp ': [[0, 0], [1, 0], [1, 1]]}\n",
        "areas:\n  # odd\n  ' sp ':\n  - [0, 0]\n  - [1, 0]\n  - [1, 1]\n",
        "areas: {a: &corners [[0, 0], [1, 0], [1, 1]], sp: *corners}\n",
    ],
)
def test_every_area_that_is_listed_can_be_renamed_and_deleted(db: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text(text)
    with client_of(db, areas_file=str(file)) as client:
        assert "sp" in [one["name"] for one in client.get("/api/areas").json()["areas"]]
        again = client.post("/api/areas", json={"name": "sp", "polygon": TRIANGLE})
        assert (again.status_code, again.json()["field"]) == (409, "name")
        renamed = client.put("/api/areas/sp", json={"name": " hall "})
        assert (renamed.status_code, renamed.json()["name"]) == (200, "hall"), renamed.text
        gone = client.request("DELETE", "/api/areas/hall", json={})
        assert gone.json() == {"removed": "hall"}
        made = client.post("/api/areas", json={"name": " nook ", "polygon": TRIANGLE})
        assert (made.status_code, made.json()["name"]) == (201, "nook")
        far = client.post(
            "/api/areas",
            content=json.dumps({"name": "far", "polygon": [[0, 0], [1e20, 0], [0, 1]]}),
            headers={"Content-Type": "application/json"},
        )
        assert (far.status_code, far.json()["field"]) == (400, "polygon.1.0")
    assert "nook" in [area.name for area in read_areas(file)]
    assert "nook:" in file.read_text()
