"""What is changed in the console is changed in the memory, with a way back."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.areas import read_areas

from ..support.web import client_of, console

SQUARE = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]


def test_a_memory_is_corrected_with_a_reason(db: Path) -> None:
    with client_of(db) as client:
        body = {"content": "a grip force of 9 N holds glass 1", "tags": ["glass"], "reason": "measured again"}
        assert client.put("/api/memory/2", json=body).json() == {"id": 2, "done": "updated"}
        told = client.get("/api/memory/2").json()
        assert (told["memory"]["content"], told["memory"]["tags"]) == (body["content"], ["glass"])
        assert told["history"][0]["reason"] == "measured again"
        assert told["history"][0]["before"]["content"] == "a grip force of 1.5 N holds glass 1"
        cleared = client.put("/api/memory/6", json={"clear": ["human_summary"], "confidence": 0.5})
        assert cleared.status_code == 200, cleared.text


def test_a_pose_may_be_a_text_of_its_numbers(db: Path) -> None:
    with client_of(db) as client:
        path = f"/api/memory/{client.get('/api/objects').json()['objects'][0]['id']}"
        response = client.put(path, json={"pose": "1, 2.5, 0"})
        assert response.status_code == 200, response.text
        assert client.get(path).json()["memory"]["position"] == [1.0, 2.5, 0.0]


def test_a_forgotten_memory_is_found_no_more_until_it_is_restored(db: Path) -> None:
    def ids(client: httpx.Client) -> list[int]:
        return [one["id"] for one in client.get("/api/search", params={"q": "glass 3"}).json()["memories"]]

    with client_of(db) as client:
        assert 4 in ids(client)
        done = client.request("DELETE", "/api/memory/4", json={"reason": "not true"})
        assert done.json() == {"id": 4, "done": "forgotten"}
        assert 4 not in ids(client)
        told = client.get("/api/memory/4").json()
        assert (told["status"], told["status_reason"]) == ("invalidated", "not true")
        assert client.request("DELETE", "/api/memory/4", json={"reason": "again"}).status_code == 404
        restored = client.post("/api/memory/4/restore", json={})
        assert restored.json() == {"id": 4, "done": "restored"}
        assert 4 in ids(client)


@pytest.mark.parametrize(
    ("request_line", "body", "status", "field"),
    [
        ("PUT memory/2", {}, 400, "memory_id"),
        ("PUT memory/2", {"contents": "x"}, 400, "contents"),
        ("PUT memory/2", {"content": "  "}, 400, "content"),
        ("PUT memory/2", {"content": "\ud800"}, 400, "content"),
        ("PUT memory/2", {"confidence": 2}, 400, "confidence"),
        ("PUT memory/2", {"content": "x" * 400_000}, 400, "content"),
        ("PUT memory/2", {"pose": "here"}, 400, "pose"),
        ("PUT memory/2", {"pose": "1, 2"}, 400, "pose"),
        ("PUT memory/2", {"pose": [1, "x", 2]}, 400, "pose.1"),
        ("PUT memory/2", {"tags": "a"}, 400, "tags"),
        ("PUT memory/99", {"content": "x"}, 404, "id"),
        ("PUT memory/2", [], 400, "body"),
        ("DELETE memory/2", {}, 400, "reason"),
        ("DELETE memory/2", {"reason": " "}, 400, "reason"),
        ("DELETE memory/2", {"reason": "nul\0"}, 400, "reason"),
        ("POST memory/2/restore", None, 404, "id"),
        ("POST areas", {"name": "a", "polygon": SQUARE}, 409, "areas_file"),
        ("POST areas", {"name": "a", "polygon": SQUARE, "frame_id": "odom"}, 400, "frame_id"),
        ("POST areas", {"name": "a", "polygon": SQUARE[:2]}, 400, "polygon"),
    ],
)
def test_a_bad_change_is_refused_with_field_and_value(
    client: httpx.Client, request_line: str, body: object, status: int, field: str
) -> None:
    method, path = request_line.split()
    # As a browser writes it: half a character as its escape.
    content = json.dumps(body)
    headers = {"Content-Type": "application/json"}
    response = client.request(method, f"/api/{path}", content=content, headers=headers)
    told = response.json()
    assert (response.status_code, told["field"]) == (status, field), told
    assert " should " not in told["error"]


@pytest.mark.parametrize("body", ["{", "[" * 100_000, '{"content": 1e999}', b"\xff", '{"confidence": NaN}', "9" * 5000])
def test_what_is_no_json_is_refused(client: httpx.Client, body: str | bytes) -> None:
    response = client.put("/api/memory/2", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400, response.text
    assert response.json()["error"]


def test_a_console_that_only_reads_changes_nothing(db: Path) -> None:
    before = db.read_bytes()
    with console(db, "--read-only") as server, server.client() as client:
        assert client.get("/api/status").json()["read_only"] is True
        assert len(client.get("/api/search", params={"q": "mug"}).json()["memories"]) == 5
        for method, path, body in (
            ("PUT", "memory/2", {"content": "x"}),
            ("DELETE", "memory/2", {"reason": "x"}),
            ("POST", "memory/2/restore", {}),
            ("POST", "areas", {"name": "a", "polygon": SQUARE}),
            ("PUT", "areas/a", {"name": "b"}),
            ("DELETE", "areas/a", {}),
        ):
            refused = client.request(method, f"/api/{path}", json=body)
            assert (refused.status_code, "--read-only" in refused.json()["error"]) == (403, True)
    assert db.read_bytes() == before


def test_an_area_is_named_and_found_and_what_stands_in_the_file_stays(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text("# of the ground floor\nareas:\n  hall: [[5, 5], [9, 5], [9, 9]]  # no door\n")
    with client_of(db, areas_file=str(file)) as client:
        made = client.post("/api/areas", json={"name": "the shelf: 'A' 架", "polygon": SQUARE})
        assert made.status_code == 201, made.text
        assert made.json()["polygon"] == SQUARE
        again = client.post("/api/areas", json={"name": "hall", "polygon": SQUARE})
        assert (again.status_code, again.json()["field"]) == (409, "name")
        flat = client.post("/api/areas", json={"name": "flat", "polygon": [[0, 0], [1, 1], [2, 2]]})
        assert (flat.status_code, "has no inside" in flat.json()["error"]) == (400, True)
        listed = {one["name"]: one for one in client.get("/api/areas").json()["areas"]}
        assert set(listed) == {"hall", "the shelf: 'A' 架"}
    assert {area.name for area in read_areas(file)} == set(listed)
    assert file.read_text().startswith("# of the ground floor\nareas:\n  hall: [[5, 5], [9, 5], [9, 9]]  # no door\n")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".areas")] == []
    with RobotMemory(db, embedding_model="", areas_file=str(file)) as memory:
        assert [one.id for one in memory.recall(areas="the shelf: 'A' 架")] == [6]


@pytest.mark.parametrize(
    "before",
    [
        "areas: {}\n",
        "areas: {hall: [[5, 5], [9, 5], [9, 9]]}\n",
        "areas:\n    hall:\n    - [5, 5]\n    - [9, 5]\n    - [9, 9]",
    ],
)
def test_an_area_is_added_to_a_file_of_any_form(db: Path, tmp_path: Path, before: str) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text(before)
    with client_of(db, areas_file=str(file)) as client:
        assert client.post("/api/areas", json={"name": "shelf", "polygon": SQUARE}).status_code == 201
    assert {area.name for area in read_areas(file)} == {"shelf", *(["hall"] if "hall" in before else [])}


FILES = (
    (
        "# ground floor\nareas:\n  hall: [[5, 5], [9, 5], [9, 9]]  # no door\n  # upstairs\n"
        "  attic: [[0, 0], [1, 0], [1, 1]]\n"
    ),
    "areas: {hall: [[5, 5], [9, 5], [9, 9]], attic: [[0, 0], [1, 0], [1, 1]]}\n",
    (
        "areas:\n    hall:\n    - [5, 5]\n    - [9, 5]\n    - [9, 9]\n    # upstairs\n    'attic':\n"
        "    - [0, 0]\n    - [1, 0]\n    - [1, 1]"
    ),
)


@pytest.mark.parametrize("before", FILES)
def test_an_area_is_renamed_and_deleted_and_what_else_stands_in_the_file_stays(
    db: Path, tmp_path: Path, before: str
) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text(before)
    with client_of(db, areas_file=str(file)) as client:
        odd = "a/b: #'楼'?%"
        renamed = client.put("/api/areas/hall", json={"name": odd})
        assert (renamed.status_code, renamed.json()["name"]) == (200, odd), renamed.text
        assert file.read_text().count("#") == before.count("#") + 1
        for name, body, status in (
            (odd, {"name": "attic"}, 409),
            ("cellar", {"name": "x"}, 404),
            (odd, {"name": " "}, 400),
        ):
            refused = client.put(f"/api/areas/{quote(name, safe='')}", json=body)
            assert (refused.status_code, refused.json()["field"][:4]) in {(status, "name"), (status, "area")}
        assert {one["name"] for one in client.get("/api/areas").json()["areas"]} == {odd, "attic"}
        gone = client.request("DELETE", f"/api/areas/{quote(odd, safe='')}", json={})
        assert gone.json() == {"removed": odd}
        assert client.request("DELETE", "/api/areas/hall", json={}).status_code == 404
        assert [area.name for area in read_areas(file)] == ["attic"]
        assert ("# upstairs" in file.read_text()) == ("# upstairs" in before)
        assert client.request("DELETE", "/api/areas/attic", json={}).status_code == 200
    assert read_areas(file) == ()


def test_a_file_of_areas_that_is_not_there_is_made(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    with console(db, "--areas-file", str(file)) as server, server.client() as client:
        assert client.get("/api/areas").json() == {"areas": []}
        assert client.post("/api/areas", json={"name": "shelf", "polygon": SQUARE}).status_code == 201
        assert client.get("/api/areas").json()["areas"][0]["name"] == "shelf"
    assert [area.name for area in read_areas(file)] == ["shelf"]
